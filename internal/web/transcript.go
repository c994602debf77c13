package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Printed is what an agent said, or what checks printed, or a stretch of it, without the secrets that are recognised.
type Printed struct {
	Parts []Said
	Begin int64 // where in what was said it begins; 0 if there was nothing before
	Cut   bool  // there was more before, which is not shown
}

// Stretch is which part of what was said is asked for: the last of what stands before a place.
type Stretch struct {
	Before int64 // the place, which is the Begin of what is shown; 0 for the end
	Lines  int   // at most
	Bytes  int   // at most
}

// Said is what one said at a stretch.
type Said struct {
	Who  string    // agent, tool or box; empty if it is the checks
	At   time.Time // when it was begun; zero if nobody knows
	Text string
}

// How much of a transcript, or of what checks printed, is shown: the last of it.
const (
	maxPrinted = 512 << 10 // bytes
	maxLines   = 2000
)

// saidView is what was said in a session on a task, and what the checks printed on its work.
type saidView struct {
	Work     string
	Topic    string // that tells of more; empty if no more comes
	Sessions []saidSession
	Of       string // the session; empty if there is none
	Words    string // who worked in it, and how that went
	Parts    []saidPart
	Before   int64 // an earlier part is shown, before that place; 0 for the end
	Begin    int64 // where what is shown begins; 0 if there was nothing before
	Cut      bool  // there was more before
	Problem  string
	Gate     *evidence.Gate // what the gate said of the session's work; nil if it has not
	Checks   []shade
	ChecksOf bool // checks have printed something
	Shorter  bool // and more before that
	Failed   string
}

// saidSession is a session that can be looked at.
type saidSession struct {
	ID, Words string
	Chosen    bool
}

// saidPart is a piece of what was said. An update sends those that the browser does not have.
type saidPart struct {
	ID     string    // the same for the same text
	Who    string    // empty if it goes on with the one before
	Voice  string    // who it is in any case
	At     time.Time // zero if nobody knows
	Shades []shade
}

// said finds what was said in one of a task's sessions: the one that is named, or the last one of a program, as nothing is kept of what
// people say by themselves. Of an earlier part no more comes, and what the checks printed is beside the end.
func (p *Page) said(c evidence.Card, task, topic, name string, before int64, over bool) saidView {
	v := saidView{Work: task, Before: before}
	chosen := -1
	for i, a := range c.Attempts {
		if a.Session != "" && (a.Session == name || name == "" && (chosen < 0 || ofProgram(a) || !ofProgram(c.Attempts[chosen]))) {
			chosen = i
		}
	}
	for i, a := range c.Attempts {
		if a.Session != "" {
			v.Sessions = append(v.Sessions, saidSession{a.Session, a.Words(), i == chosen})
		}
	}
	if before == 0 && (name == "" && !over || chosen >= 0 && c.Attempts[chosen].How == "") {
		v.Topic = topic
	}
	if chosen < 0 {
		return v
	}
	v.Of, v.Words = c.Attempts[chosen].Session, c.Attempts[chosen].Words()
	printed, err := p.o.Box.Transcript(v.Of, Stretch{before, maxLines, maxPrinted})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.Problem = err.Error()
	}
	v.Parts, v.Cut = lastLines(printed)
	v.Begin, v.Cut = printed.Begin, v.Cut || printed.Begin > 0
	if v.Gate = gateOf(c, chosen); before > 0 || v.Gate == nil && c.Attempts[chosen].Role != "developer" {
		return v
	}
	printed, err = p.o.Box.Checks(v.Of, maxPrinted)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.Failed = err.Error()
	}
	parts, cut := lastLines(printed)
	for _, part := range parts {
		v.Checks = append(v.Checks, part.Shades...)
	}
	v.ChecksOf, v.Shorter = err == nil, cut
	return v
}

// ofProgram reports whether the box started a program for it.
func ofProgram(a evidence.Attempt) bool { return a.Program != "" && a.Program != work.PersonAgent }

// gateOf returns what the gate said last of the work of an attempt, before the next one of a developer; nil if it has not.
func gateOf(c evidence.Card, attempt int) (found *evidence.Gate) {
	if c.Attempts[attempt].Role != "developer" {
		return nil
	}
	until := ^uint64(0)
	for _, a := range c.Attempts[attempt+1:] {
		if a.Role == "developer" {
			until = a.Sequence
			break
		}
	}
	for i, g := range c.Gates {
		if g.Sequence > c.Attempts[attempt].Sequence && g.Sequence < until {
			found = &c.Gates[i]
		}
	}
	return found
}

// lastLines makes the last lines of what was printed ready to be shown.
func lastLines(printed Printed) (parts []saidPart, cut bool) {
	lines, bytes := 0, 0
	cut = printed.Cut
	var last []Said
	for _, said := range slices.Backward(printed.Parts) {
		if lines >= maxLines || bytes >= maxPrinted {
			cut = true
			break
		}
		text := strings.ReplaceAll(strings.ReplaceAll(said.Text, "\r\n", "\n"), "\r", "\n") // a terminal would write over the line
		from := len(text)
		for from > 0 && lines < maxLines && bytes < maxPrinted {
			begin := strings.LastIndexByte(text[:from-1], '\n') + 1
			bytes += from - begin
			if bytes > maxPrinted && from < len(text) {
				break
			}
			lines, from = lines+1, begin
		}
		from = max(from, len(text)-maxPrinted)
		cut = cut || from > 0
		last = append(last, Said{said.Who, said.At, text[from:]})
	}
	seen := map[string]int{}
	for _, said := range slices.Backward(last) {
		var l look
		who := said.Who
		for _, text := range pieces(said.Text) {
			sum := sha256.Sum256([]byte(said.Who + "\n" + text))
			id := hex.EncodeToString(sum[:9])
			seen[id]++
			parts = append(parts, saidPart{fmt.Sprintf("v-%s-%d", id, seen[id]), who, said.Who, said.At, l.colour(text)})
			who = ""
		}
	}
	return parts, cut
}

// pieces takes a text apart into some lines each. Where a piece ends depends on its last line and not on where the text begins, which is
// later each time that more is printed: so the same pieces are found again.
func pieces(text string) (all []string) {
	const usual, most = 32, 256 // lines
	from, at, lines := 0, 0, 0
	for line := range strings.Lines(text) {
		at, lines = at+len(line), lines+1
		if sum := crc32.ChecksumIEEE([]byte(line)); sum%usual == 0 || lines == most {
			all = append(all, text[from:at])
			from, lines = at, 0
		}
	}
	if from < len(text) {
		all = append(all, text[from:])
	}
	return all
}
