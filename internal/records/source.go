package records

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// Change says how a copy is changed: it is cut at an offset, and goes on with data.
type Change struct {
	Name order.SaidName
	At   int64
	Data []byte
}

// Source is a record that is copied.
type Source struct {
	dir    string // of a session, if it is a transcript
	path   string
	name   order.SaidName
	redact func(string) string

	from   int64 // up to where the record was copied for good
	text   part  // the copy
	voices part
	file   fs.FileInfo // when it was read last
	size   int64
	over   bool // it was read to its end then
}

// part is a copy as its machine knows it: so much for good, and what follows.
type part struct {
	at   int64
	tail []byte
}

// NewTranscript copies what the agent of a session says, and who says what.
func NewTranscript(dir string, redact func(string) string) *Source {
	return &Source{dir: dir, path: filepath.Join(dir, string(order.SaidTranscript)), name: order.SaidTranscript, redact: redact, size: -1}
}

// NewText copies a file of text.
func NewText(name order.SaidName, path string, redact func(string) string) *Source {
	return &Source{path: path, name: name, redact: redact, size: -1}
}

const (
	window = 1 << 20  // how much of a record is looked at at once, in bytes
	behind = 64 << 10 // of which so much may be looked at again: what follows it can make it a secret
	near   = 16 << 10 // and so much before the end always is
	piece  = 1 << 20  // the most data of one change
)

// Anew begins with a copy that has nothing.
func (s *Source) Anew() {
	s.from, s.text, s.voices, s.file, s.size, s.over = 0, part{}, part{}, nil, -1, false
}

// Next returns how the copy has to be changed next, if it has to be. Over says that nobody writes to the record any more; else a line
// that has not ended is left out.
func (s *Source) Next(over bool) (changes []Change, err error) {
	f, err := regular.OpenItself(s.path) // agents may have put anything there
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	switch {
	case size < s.from, s.file != nil && !os.SameFile(s.file, info): // it was begun anew
		s.Anew()
	case s.file != nil && size == s.size && over == s.over && info.ModTime().Equal(s.file.ModTime()):
		return nil, nil
	}
	s.file = info
	text, err := io.ReadAll(io.NewSectionReader(f, s.from, min(size-s.from, window)))
	if err != nil {
		return nil, err
	}
	whole := s.from+int64(len(text)) >= size
	if ended := over && whole; !ended {
		if cut := bytes.LastIndexByte(text, '\n') + 1; cut > 0 || len(text) < near {
			text = text[:cut]
		}
	}
	var all []session.Voice
	if s.dir != "" {
		if all, err = session.Voices(s.dir); err != nil {
			return nil, err
		}
	}
	said, who := s.copied(string(text), s.from, s.text.at, all)
	changes = append(s.text.change(s.name, said), s.voices.change(order.SaidVoices, who)...)
	if whole {
		s.size, s.over = size, over
	}
	s.settle(string(text), said, who, all, whole)
	return changes, nil
}

// change returns how the copy becomes another one, in which what is for good is the same.
func (p *part) change(name order.SaidName, tail []byte) []Change {
	same := 0
	for same < min(len(p.tail), len(tail)) && p.tail[same] == tail[same] {
		same++
	}
	if same == len(tail) && same == len(p.tail) {
		return nil
	}
	p.tail = tail
	changes := []Change{{Name: name, At: p.at + int64(same), Data: tail[same:]}}
	for last := &changes[0]; len(last.Data) > piece; last = &changes[len(changes)-1] {
		next := Change{name, last.At + piece, last.Data[piece:]}
		last.Data = last.Data[:piece]
		changes = append(changes, next)
	}
	return changes
}

// settle has what is far behind be for good, where that makes no difference to what follows.
func (s *Source) settle(text string, said, who []byte, voices []session.Voice, whole bool) {
	if whole && len(text) <= behind {
		return
	}
	at := len(text)                                     // if it makes a difference everywhere
	for end := len(text) - near; end > 0; end -= near { // of two such places one is in no secret, unless that is longer
		cut := strings.LastIndexByte(text[:end], '\n') + 1
		if cut == 0 {
			break
		}
		firstSaid, firstWho := s.copied(text[:cut], s.from, s.text.at, voices)
		restSaid, restWho := s.copied(text[cut:], s.from+int64(cut), s.text.at+int64(len(firstSaid)), voices)
		if bytes.Equal(slices.Concat(firstSaid, restSaid), said) && bytes.Equal(slices.Concat(firstWho, restWho), who) {
			at, said, who = cut, firstSaid, firstWho
			break
		}
	}
	s.from += int64(at)
	s.text.settle(len(said))
	s.voices.settle(len(who))
}

func (p *part) settle(n int) {
	p.at += int64(n)
	p.tail = slices.Clone(p.tail[n:])
}

// copied returns a piece of a record as it is copied to an offset of the copy, and who says what there. What one says is a whole: a secret may
// be in several pieces.
func (s *Source) copied(text string, from, at int64, voices []session.Voice) (said, who []byte) {
	var group []session.Voice // that speak from the beginning of what is looked at
	begins := 0
	give := func(end int) {
		out := s.redact(text[begins:end])
		for _, v := range group {
			if v.Offset > from+int64(begins) && out != text[begins:end] {
				break // where it begins in the copy is not known
			}
			v.Offset += at + int64(len(said)) - from - int64(begins)
			who = append(who, v.Line()...)
		}
		said = append(said, out...)
		group, begins = nil, end
	}
	var last session.Voice // who speaks, at the offset that was reached
	for i, v := range voices {
		offset := v.Offset - from
		if offset >= int64(len(text)) {
			break
		}
		if i > 0 && v.From != last.From && offset > int64(begins) {
			give(int(offset))
		}
		if last = v; offset >= 0 {
			group = append(group, v)
		}
	}
	give(len(text))
	return said, who
}
