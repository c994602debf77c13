package web_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
)

var (
	versionOf = regexp.MustCompile(` data-version="([0-9a-f]*)"`)
	articleOf = regexp.MustCompile(`(?s)<article [^>]*id="([^"]*)"[^>]*>.*?</article>`)
	gapOf     = regexp.MustCompile(`<article data-same="([^"]*)" data-to="([^"]*)"></article>`)
)

// shown is a part as a browser has it: its text, and which article stands beside which.
type shown struct{ text, version string }

// sent is what a browser makes of what it was sent: the page's script, told in other words.
func (s shown) sent(t *testing.T, text string) shown {
	t.Helper()
	next := map[string]string{}
	articles := articleOf.FindAllStringSubmatchIndex(s.text, -1)
	has := map[string]string{}
	for i, at := range articles {
		has[s.text[at[2]:at[3]]] = s.text[at[0]:at[1]]
		if i+1 < len(articles) && strings.TrimSpace(s.text[at[1]:articles[i+1][0]]) == "" {
			next[s.text[at[2]:at[3]]] = s.text[articles[i+1][2]:articles[i+1][3]]
		}
	}
	text = gapOf.ReplaceAllStringFunc(text, func(gap string) string {
		ids := gapOf.FindStringSubmatch(gap)
		all := has[ids[1]]
		for id := ids[1]; id != ids[2]; {
			if id = next[id]; id == "" {
				t.Fatalf("%s: %s does not stand behind", gap, ids[2])
			}
			all += has[id]
		}
		return all
	})
	return shown{text, versionOf.FindStringSubmatch(text)[1]}
}

// plainly is a part without what a browser does not show.
func plainly(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "</article><article", "</article> <article")), " ")
}

// Who has a version of a part is sent what differs, and has all of it then: for any change of a board.
func TestChangesAreAll(t *testing.T) {
	p, page := play("x", textDiff)
	r := rand.New(rand.NewPCG(1, 2))
	phases := agentsig.Phases()
	p.run = aRun("words")
	add := func() {
		id := fmt.Sprintf("N-%d", r.Uint64())
		p.run.Tasks = slices.Insert(p.run.Tasks, r.IntN(len(p.run.Tasks)+1), api.Task{ID: id, Work: "R1." + id, Title: "new", Phase: phases[r.IntN(len(phases))]})
	}
	for range 30 {
		add()
	}
	_, text := p.look(page, "GET", "run?id=R1&part=run", access.Operate)
	have := shown{"", ""}.sent(t, text)
	for i := range 200 {
		for range r.IntN(4) {
			at := r.IntN(len(p.run.Tasks))
			switch r.IntN(5) {
			case 0:
				p.run.Tasks[at].Phase = phases[r.IntN(len(phases))]
			case 1:
				p.run.Tasks[at].Title = fmt.Sprint(r.Uint64())
			case 2:
				p.run.Tasks = slices.Delete(p.run.Tasks, at, at+1)
				add()
			case 3:
				other := r.IntN(len(p.run.Tasks))
				p.run.Tasks[at], p.run.Tasks[other] = p.run.Tasks[other], p.run.Tasks[at]
			case 4:
				p.run.Questions[0].Task = p.run.Tasks[at].ID
			}
		}
		_, whole := p.look(page, "GET", "run?id=R1&part=run", access.Operate)
		status, text := p.look(page, "GET", "run?id=R1&part=run&have="+have.version, access.Operate)
		if status == http.StatusNoContent && text == "" {
			if plainly(whole) != plainly(have.text) {
				t.Fatalf("change %d is not sent:\n%s", i, whole)
			}
			continue
		}
		if have = have.sent(t, text); plainly(have.text) != plainly(whole) {
			t.Fatalf("change %d: of\n%s\ncomes\n%s\nand it is\n%s", i, text, have.text, whole)
		}
	}
}

// A change of one task of a thousand is sent alone, also to who has the page as it was loaded. Who has a version that nobody knows
// is sent all of it.
func TestChangesAreSmall(t *testing.T) {
	p, page := play("x", textDiff)
	p.run = huge()
	_, text := p.look(page, "GET", "run?id=R1", access.Operate)
	have := versionOf.FindStringSubmatch(text)[1]
	p.run.Tasks[405].Agent.Says = "something else"
	p.run.Tasks[700].Phase = agentsig.PhaseImplementation
	status, text := p.look(page, "GET", "run?id=R1&part=run&have="+have, access.Operate)
	if status != http.StatusOK || len(text) > 5000 || !strings.Contains(text, "something else") {
		t.Errorf("%d, %d bytes", status, len(text))
	}
	again := versionOf.FindStringSubmatch(text)[1]
	if status, text := p.look(page, "GET", "run?id=R1&part=run&have="+again, access.Operate); status != http.StatusNoContent || text != "" {
		t.Errorf("nothing has changed: %d, %d bytes", status, len(text))
	}
	if _, text := p.look(page, "GET", "run?id=R1&part=run&have=x", access.Operate); strings.Count(text, "One of many") != 1000 {
		t.Errorf("who has nothing is sent %d bytes", len(text))
	}
	p.run = aRun("words")
	for i := range 100 {
		p.run.Branch = fmt.Sprint(i)
		p.look(page, "GET", "run?id=R1&part=run", access.Operate)
	}
	p.run = huge()
	if _, text := p.look(page, "GET", "run?id=R1&part=run&have="+again, access.Operate); strings.Count(text, "One of many") != 1000 {
		t.Errorf("a version of long ago is remembered")
	}
}

// A page of a thousand tasks: the whole of it, and what a change of one of them takes.
func BenchmarkHugeRun(b *testing.B) {
	p, page := play("x", textDiff)
	p.run = huge()
	_, text := p.look(page, "GET", "run?id=R1", access.Operate)
	have := versionOf.FindStringSubmatch(text)[1]
	for _, path := range []string{"run?id=R1", "run?id=R1&part=run&have=" + have} {
		b.Run(strings.ReplaceAll(strings.TrimSuffix(path, have), "&", "_"), func(b *testing.B) {
			var sent int
			for b.Loop() {
				p.run.Tasks[405].Agent.Says += "x"
				_, text := p.look(page, "GET", path, access.Operate)
				sent = len(text)
			}
			b.ReportMetric(float64(sent), "bytes/page")
		})
	}
}
