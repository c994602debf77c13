package web_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/web"
)

func (p *played) Transcript(string, web.Stretch) (web.Printed, error) {
	return web.Printed{}, fs.ErrNotExist
}
func (p *played) Checks(string, int64) (web.Printed, error) { return web.Printed{}, fs.ErrNotExist }

// spoken is a box whose sessions have said something.
type spoken struct {
	*historied
	said, checks map[string]web.Printed
	stretch      web.Stretch // that was asked for last
}

func (p *spoken) Transcript(session string, s web.Stretch) (web.Printed, error) {
	if p.stretch = s; s.Before > 0 {
		session += fmt.Sprint("<", s.Before)
	}
	return p.of(p.said, session, int64(s.Bytes))
}

func (p *spoken) Checks(session string, most int64) (web.Printed, error) {
	return p.of(p.checks, session, most)
}

func (p *spoken) of(all map[string]web.Printed, session string, most int64) (web.Printed, error) {
	if most < 100<<10 || most > 1<<20 {
		return web.Printed{}, fmt.Errorf("%d bytes are asked for", most)
	}
	printed, ok := all[session]
	if !ok {
		return web.Printed{}, fs.ErrNotExist
	}
	return printed, nil
}

func speak(text string) (*spoken, *web.Page) {
	h := tell(text, theTale...)
	p := &spoken{historied: h, said: map[string]web.Printed{
		"ITEM-1.1":     {Parts: []web.Said{{Who: "box", Text: "Do it. " + text}, {Who: "agent", At: time.Now(), Text: "I \x1b[1;31mthink\x1b[0m first " + text + "\n"}, {Who: "tool", Text: "ls\n"}}},
		"ITEM-1.2":     {Parts: []web.Said{{Who: "agent", Text: "second\n"}}, Begin: 700},
		"ITEM-1.2<700": {Parts: []web.Said{{Who: "agent", Text: "middle\n"}}, Begin: 300},
		"ITEM-1.2<300": {Parts: []web.Said{{Who: "box", Text: "beginning\n"}}},
		"ITEM-1.3":     {Parts: []web.Said{{Who: "agent", Text: "critic's words\n"}}},
		"OTHER":        {Parts: []web.Said{{Who: "agent", Text: "of another task"}}},
	}, checks: map[string]web.Printed{
		"ITEM-1.1": {Parts: []web.Said{{Text: "$ make test\n\x1b[31mFAIL\x1b[0m " + text + "\n"}}},
		"ITEM-1.2": {Parts: []web.Said{{Text: "$ make test\n\x1b[32mok\x1b[0m\n"}}},
	}}
	return p, h.pageOf(p, p)
}

// A task has what was said in its last session, or in the one that is asked for, with its colours; and what the checks printed on that,
// which is open if they failed.
func TestTranscript(t *testing.T) {
	p, page := speak("words")
	_, text := p.look(page, "GET", "task?id=R1.T-1", access.Read)
	has(t, http.StatusOK, text, "Who worked on it", "What was said", "3 sessions", "ITEM-1.1", "ITEM-1.2", "ITEM-1.3, which is shown", "The transcript: critic (codex)", "critic's words")
	if strings.Contains(text, `class="note`) {
		t.Errorf("there is a note that nobody needs:\n%s", text)
	}
	if strings.Contains(text, "What the checks printed") || !strings.Contains(text, `id="said" data-live="R1"`) {
		t.Errorf("a critic's session has checks, or what is said is not live:\n%s", text)
	}
	_, text = p.look(page, "GET", "task?id=R1.T-1&session=ITEM-1.1", access.Read)
	has(t, http.StatusOK, text, "ITEM-1.1, which is shown", "The transcript: developer (claude words)", "box", "Do it. words", "agent", "think", "tool", "ls", "What the checks printed on its work: failed", "FAIL", "words")
	for _, want := range []string{`I <span class="bo f1">think</span> first`, `<details class="checks" open>`, `<span class="f1">FAIL</span>`, `<article class="voice tool" id="v-`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, `id="said" data-live`) {
		t.Error("a session that has ended is live")
	}
	_, text = p.look(page, "GET", "task?id=R1.T-1&session=ITEM-1.2&part=said", access.Read)
	has(t, http.StatusOK, text, "ITEM-1.2, which is shown", "This is the end of it", "second", "passed bbbbbbb")
	if !strings.HasPrefix(text, `<section class="card" id="said"`) || !strings.Contains(text, `<details class="checks"><summary>`) {
		t.Errorf("a part:\n%s", text)
	}
	for _, session := range []string{"OTHER", "../../box", "ITEM-1.9"} {
		if _, text := p.look(page, "GET", "task?id=R1.T-1&session="+session, access.Read); strings.Contains(text, "of another task") || strings.Contains(text, "The transcript:") {
			t.Errorf("%s is shown:\n%s", session, text)
		}
	}
}

// What was said before what is shown is shown on request, part by part, by links that need no script. An earlier part is not live.
func TestEarlier(t *testing.T) {
	p, page := speak("words")
	link := regexp.MustCompile(`<a class="button" href="(task\?id=R1.T-1&amp;session=ITEM-1.2&amp;before=\d+)#said">What was said before that</a>`)
	end := `<a class="button" href="task?id=R1.T-1&amp;session=ITEM-1.2#said">The end of it</a>`
	at := "task?id=R1.T-1&session=ITEM-1.2"
	for _, c := range []struct{ said, what, next string }{{"second", "This is the end of it", "700"}, {"middle", "This is an earlier part of it", "300"}, {"beginning", "This is an earlier part of it", ""}} {
		_, text := p.look(page, "GET", at, access.Read)
		has(t, http.StatusOK, text, c.what, c.said)
		if p.stretch.Lines != 2000 || p.stretch.Bytes != 512<<10 {
			t.Errorf("%+v is asked for", p.stretch)
		}
		if earlier := c.said != "second"; strings.Contains(text, end) != earlier || strings.Contains(text, `<details class="checks"`) == earlier || strings.Contains(text, `id="said" data-live`) {
			t.Errorf("%s:\n%s", c.said, text)
		}
		found := link.FindStringSubmatch(text)
		if (found == nil) != (c.next == "") || found != nil && !strings.HasSuffix(found[1], "before="+c.next) {
			t.Fatalf("before what has %s is %v\n%s", c.said, found, text)
		}
		if found != nil {
			at = strings.ReplaceAll(found[1], "&amp;", "&")
		}
	}
	p.happens(`ITEM ReviewStarted box ITEM-1.4 {"phase":"REVIEW","role":"critic","agent":"codex"}`)
	for before, live := range map[string]bool{"": true, "&before=300": false} {
		if _, text := p.look(page, "GET", "task?id=R1.T-1&session=ITEM-1.4"+before, access.Read); strings.Contains(text, `id="said" data-live`) != live {
			t.Errorf("of a session that goes on, %q is live, or not:\n%s", before, text)
		}
	}
	for _, before := range []string{"-1", "x", "0", "99999999999999999999", ""} {
		if _, text := p.look(page, "GET", "task?id=R1.T-1&session=ITEM-1.2&before="+before, access.Read); !strings.Contains(text, "second") || !strings.Contains(text, "This is the end of it") {
			t.Errorf("before %q:\n%s", before, text)
		}
	}
}

// A person who has worked on a task last has said nothing that is kept: what a program said is shown, unless there is none.
func TestTranscriptOfPrograms(t *testing.T) {
	p, page := speak("words")
	p.happens(`ITEM ReviewStarted box ITEM-1.4 {"phase":"REVIEW","role":"critic","agent":"person"}`, `ITEM LeaseReleased operator ITEM-1.4 {}`, `ITEM ReviewStarted ann ITEM-1.5 {"phase":"REVIEW","role":"critic","ttl_ms":1000}`)
	_, text := p.look(page, "GET", "task?id=R1.T-1", access.Read)
	has(t, http.StatusOK, text, "5 sessions", "ITEM-1.3, which is shown", "ITEM-1.4", "ITEM-1.5", "critic's words")
	_, text = p.look(page, "GET", "task?id=R1.T-1&session=ITEM-1.4", access.Read)
	has(t, http.StatusOK, text, "ITEM-1.4, which is shown", "nothing was said, or it is not kept any more")
	p, page = speak("words")
	p.events = p.events[:1]
	p.happens(`ITEM ReviewStarted box ITEM-1.3 {"phase":"REVIEW","role":"critic","agent":"person"}`)
	_, text = p.look(page, "GET", "task?id=R1.T-1", access.Read)
	has(t, http.StatusOK, text, "critic's words")
}

// The last 2,000 lines are shown, and no more than there is room for, however long they are.
func TestLongTranscript(t *testing.T) {
	p, page := speak("words")
	var lines []web.Said
	for i := range 3000 {
		lines = append(lines, web.Said{Who: []string{"agent", "tool"}[i%2], Text: fmt.Sprintf("line %d.\n", i)})
	}
	for name, c := range map[string]struct {
		printed     web.Printed
		first, gone string
	}{
		"parts":     {web.Printed{Parts: lines}, "line 1000.", "line 999."},
		"one part":  {web.Printed{Parts: []web.Said{{Who: "agent", Text: strings.Repeat("early\n", 5) + strings.Repeat("line\n", 1999) + "line 2."}}}, "line 2.", "early"},
		"long line": {web.Printed{Parts: []web.Said{{Who: "agent", Text: "early\n" + strings.Repeat("x", 2<<20) + "end"}}}, "xend", "early"},
		"long ones": {web.Printed{Parts: []web.Said{{Who: "agent", Text: "early\n"}, {Who: "agent", Text: strings.Repeat(strings.Repeat("y", 999)+"\n", 600)}}}, "yyy", "early"},
		"rewritten": {web.Printed{Parts: []web.Said{{Who: "agent", Text: "early" + strings.Repeat("\r50%", 2000)}}}, "50%", "early"},
	} {
		p.said["ITEM-1.3"] = c.printed
		_, text := p.look(page, "GET", "task?id=R1.T-1&part=said", access.Read)
		if !strings.Contains(text, c.first) || strings.Contains(text, c.gone) || !strings.Contains(text, "This is the end of it") || len(text) > 800<<10 {
			t.Errorf("%s: %d bytes, %v, %v", name, len(text), strings.Contains(text, c.first), strings.Contains(text, c.gone))
		}
	}
}

// When more is said, an update has what is new and not what the browser has, also if what comes first is not shown any more.
func TestTranscriptGrows(t *testing.T) {
	p, page := speak("words")
	var text strings.Builder
	grow := func(from, to int) {
		for i := range to - from {
			fmt.Fprintf(&text, "line %d of many\n", from+i)
		}
		p.said["ITEM-1.3"] = web.Printed{Parts: []web.Said{{Who: "agent", Text: text.String()}}}
	}
	grow(0, 3000)
	_, whole := p.look(page, "GET", "task?id=R1.T-1&part=said", access.Read)
	version := regexp.MustCompile(`data-version="([0-9a-f]+)"`).FindStringSubmatch(whole)
	if len(version) != 2 || len(whole) < 30_000 {
		t.Fatalf("%d bytes:\n%.1000s", len(whole), whole)
	}
	grow(3000, 3100)
	_, update := p.look(page, "GET", "task?id=R1.T-1&part=said&have="+version[1], access.Read)
	if !strings.Contains(update, "line 3099 of many") || strings.Contains(update, "line 2000 of many") || len(update) > len(whole)/3 {
		t.Errorf("%d bytes of %d:\n%.1000s", len(update), len(whole), update)
	}
	if status, text := p.look(page, "GET", "task?id=R1.T-1&part=said&have="+regexp.MustCompile(`data-version="([0-9a-f]+)"`).FindStringSubmatch(update)[1], access.Read); status != http.StatusNoContent {
		t.Errorf("when nothing is new: %d\n%.1000s", status, text)
	}
}

// Whatever agents and checks print is text.
func TestHostileTranscript(t *testing.T) {
	p, page := speak(hostile)
	p.prove = func(c evidence.Card) (evidence.Proof, error) { return all(c, 0), nil }
	for _, path := range []string{"task?id=R1.T-1", "task?id=R1.T-1&session=ITEM-1.1", "task?id=R1.T-1&session=ITEM-1.1&part=said"} {
		_, text := p.look(page, "GET", path, access.Operate)
		inert(t, text)
		if strings.Count(text, "alert(1)") < 3 {
			t.Errorf("%s:\n%s", path, text)
		}
	}
}
