package service

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/web"
)

// secretMargin is how far from a place it is looked for secrets that stand there, in bytes: of a secret that is cut in two neither part looks
// like one.
const secretMargin = 64 << 10

// speakers are who speaks in a transcript.
var speakers = map[agentsig.Source]string{agentsig.Voice: "agent", agentsig.Tool: "tool", agentsig.Prompt: "box"}

// maxSkip is how many lines are skipped at most from one place to the next when one is looked for at which no secret is cut: each look takes time, and keys
// have some dozens of lines. Within a line it is as many bytes, squared.
const maxSkip = 16

var errNoCut = errors.New("what was said there is one secret, or looks like one: `signalbox logs` has all of it")

// Transcript implements [web.TaskBox].
func (p pageBox) Transcript(name string, s web.Stretch) (web.Printed, error) {
	dir := runner.SessionFiles(p.service.dir, name)
	text, from, before, err := around(filepath.Join(dir, "transcript"), s)
	if err != nil {
		return web.Printed{}, err
	}
	voices, err := session.Voices(dir)
	if err != nil {
		return web.Printed{}, err
	}
	t := transcript{text: text, from: from, spans: spansOf(voices, from, len(text)), redact: p.Ledger().Redact}
	return t.before(int(before-from), s)
}

// around reads what a stretch can be of, and a margin on both sides, and says where in the file that begins, and before which place in the file the
// stretch is.
func around(path string, s web.Stretch) (text string, from, before int64, err error) {
	f, info, err := opened(path)
	if err != nil {
		return "", 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if before = info.Size(); s.Before > 0 {
		before = min(before, s.Before)
	}
	from = max(0, before-int64(s.Bytes)-2*secretMargin) // the stretch may end by one margin earlier
	data, err := io.ReadAll(io.NewSectionReader(f, from, before-from+secretMargin))
	return string(data), from, min(before, from+int64(len(data))), err
}

// opened opens a file of a session's. Agents may have put anything there.
func opened(path string) (*os.File, os.FileInfo, error) {
	f, err := regular.OpenItself(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// transcript is a piece of one.
type transcript struct {
	text   string
	from   int64  // where in the transcript it begins
	spans  []span // all of it
	redact func(string) string
}

// span is what one says at a stretch: it is redacted as a whole, as a secret may be in several pieces.
type span struct {
	session.Voice
	from, to int // in the text
}

// spansOf says who says which part of a text that begins at a place of the transcript.
func spansOf(voices []session.Voice, from int64, length int) (all []span) {
	last := span{Voice: session.Voice{From: agentsig.Voice}}
	end := func(at int) {
		if last.to = min(at, length); last.to > last.from {
			all = append(all, last)
			last.from = last.to
		}
	}
	for i, v := range voices {
		if i > 0 && v.From == last.From {
			continue
		}
		if i > 0 { // what stands before the first one is its too
			end(int(max(0, min(v.Offset-from, int64(length)))))
		}
		last.Voice = v
	}
	end(length)
	return all
}

// before returns the stretch before a place of the text: whole lines, if there are any, between places at which no secret is cut.
func (t transcript) before(at int, s web.Stretch) (web.Printed, error) {
	end, ok := t.cutBefore(at)
	if s.Before == 0 {
		end, ok = at, true // more may come, which may make what is there a secret
	}
	for room := s.Bytes; ; room /= 2 {
		begin := 0
		if end > 0 && ok {
			begin, ok = t.begin(end, s.Lines, room)
		}
		if !ok {
			return web.Printed{}, errNoCut
		}
		out := web.Printed{Begin: t.from + int64(begin)}
		size := 0
		for _, one := range t.spans {
			if from, to := max(one.from, begin), min(one.to, end); from < to {
				text := t.redact(t.text[from:to])
				size += len(text)
				out.Parts = append(out.Parts, web.Said{Who: speakers[one.From], At: one.At, Text: text})
			}
		}
		if size <= s.Bytes || room <= 1 { // what stands for a secret can be longer than it
			return out, nil
		}
	}
}

// begin returns where a stretch begins that ends at a place; false if it would cut a secret anywhere.
func (t transcript) begin(end, lines, room int) (int, bool) {
	starts := t.starts(end)
	first := max(0, len(starts)-lines)
	for first < len(starts) && end-starts[first] > room {
		first++
	}
	for step := 1; first < len(starts); first, step = first+step, min(2*step, maxSkip) {
		if !t.cuts(starts[first]) {
			return starts[first], true
		}
	}
	at := end - room // a line that is longer than there is room for, or secrets all over
	for step := 1; at < end; at, step = at+step, min(2*step, maxSkip*maxSkip) {
		for at > 0 && at < end && !utf8.RuneStart(t.text[at]) {
			at++
		}
		if at >= 0 && !t.cuts(at) {
			return at, true
		}
	}
	return 0, false
}

// starts are where lines begin before a place of the text. A part of what somebody says begins with one, and so does what would be written over the
// line in a terminal.
func (t transcript) starts(end int) (all []int) {
	for _, one := range t.spans {
		for at := one.from; at < min(one.to, end); {
			if t.from > 0 && at == 0 {
				at = 1 // it is in the middle of a line
			} else {
				all = append(all, at)
			}
			next := strings.IndexAny(t.text[at:one.to], "\r\n")
			if next < 0 {
				break
			}
			at += next + 1
			if t.text[at-1] == '\r' && at < one.to && t.text[at] == '\n' {
				at++
			}
		}
	}
	return all
}

// cutBefore returns the last place up to this one at which no secret is cut: this one, or the beginning of a line.
func (t transcript) cutBefore(at int) (int, bool) {
	starts := t.starts(at)
	for step, farthest := 1, at-secretMargin; t.cuts(at); step = min(2*step, maxSkip) {
		i, _ := slices.BinarySearch(starts, at)
		if i < step {
			return 0, t.from == 0
		}
		if at = starts[i-step]; at < farthest {
			return 0, false
		}
	}
	return at, true
}

// cuts reports whether a secret would be cut at a place, so that a part of it were seen.
func (t transcript) cuts(at int) bool {
	for _, one := range t.spans {
		if one.from < at && at < one.to {
			before, after := t.text[max(one.from, at-secretMargin):at], t.text[at:min(one.to, at+secretMargin)]
			return t.redact(before+after) != t.redact(before)+t.redact(after)
		}
	}
	return false
}
