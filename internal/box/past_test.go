package box

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/conversation"
)

// letGo lets all that is over leave memory, as if it were over for long.
func letGo(t *testing.T, b *Box) {
	t.Helper()
	if _, err := b.archive.Seal(); err != nil {
		t.Fatal(err)
	}
	if err := b.evict(uint64(b.archive.Sealed()), b.now().Add(2*overFor)); err != nil {
		t.Fatal(err)
	}
}

var (
	ulids    = regexp.MustCompile(`[0-7][0-9A-HJKMNP-TV-Z]{25}`)
	expiries = regexp.MustCompile(`"expires_at":"[^"]*"`)
)

// heard is what somebody who asks a box gets to hear, with names in the place of subjects, which
// differ from box to box.
func heard(b *Box, v any, err error) string {
	data, _ := json.Marshal(v)
	text := string(data)
	if err != nil {
		text = codeOf(err) + ": " + err.Error()
	}
	return ulids.ReplaceAllStringFunc(expiries.ReplaceAllString(text, ""), b.state.nameOf)
}

// Two boxes are asked the same. From one of them all that is over leaves memory again and again, and
// it is started anew now and then; nobody can tell which.
func TestWhatLeftIsFound(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { compareWithPast(t, seed) })
	}
}

// pastPlay asks two boxes the same.
type pastPlay struct {
	t                         *testing.T
	r                         *rand.Rand
	all, leaving              *Box // nothing leaves the first
	clock                     atomic.Int64
	items, keys, talks, holds []string
}

func compareWithPast(t *testing.T, seed uint64) {
	dir := Dir(t.TempDir())
	p := &pastPlay{t: t, r: rand.New(rand.NewPCG(seed, 7))}
	begun := time.Now().UnixMilli()
	p.clock.Store(begun)
	open := func(dir Dir) *Box {
		return onClock(t, dir, archive.Dir(dir.Archive("")), nil, func() time.Time { return time.UnixMilli(p.clock.Load()) })
	}
	p.all, p.leaving = open(Dir(t.TempDir())), open(dir)
	defer func() { closeBox(t, p.all); closeBox(t, p.leaving) }()
	left := 0
	for n := range 400 {
		p.clock.Store(begun + int64(n)) // so that subjects have an order
		p.step(n)
		if n%7 == 0 {
			before := len(p.leaving.state.trails)
			letGo(t, p.leaving)
			left += before - len(p.leaving.state.trails)
		}
		if n%90 == 89 {
			closeBox(t, p.leaving)
			p.leaving = open(dir)
		}
	}
	for _, phase := range append(agentsig.Phases(), "") {
		p.pages(phase)
	}
	t.Logf("subjects left %d times; %d of %d are in memory", left, len(p.leaving.state.trails), len(p.all.state.trails))
	if left < 40 {
		t.Errorf("only %d subjects left memory", left)
	}
}

// same makes a request of both boxes and compares what they say.
func (p *pastPlay) same(what string, ask func(*Box) (any, error)) {
	p.t.Helper()
	v, err := ask(p.all)
	want := heard(p.all, v, err)
	v, err = ask(p.leaving)
	if got := heard(p.leaving, v, err); got != want {
		p.t.Fatalf("%s:\n%s\nand from the box that lets go:\n%s", what, want, got)
	}
}

func (p *pastPlay) pick(from []string) string {
	if len(from) == 0 {
		return "none"
	}
	return from[p.r.IntN(len(from))]
}

// step makes one request. Some name what is there, some what is long over.
func (p *pastPlay) step(n int) {
	ctx, id, key := p.t.Context(), p.pick(p.items), fmt.Sprint("key ", n)
	switch p.r.IntN(10) {
	case 0, 1: // at times a name or a key comes again
		a := api.AddWork{Title: "a title", Phase: agentsig.PhaseImplementation}
		switch p.r.IntN(4) {
		case 0:
			a.ID = id
		case 1:
			a.ID = fmt.Sprint("T-", n)
		case 2:
			key = p.pick(p.keys)
		}
		p.same("add", func(b *Box) (any, error) {
			w, err := b.Add(ctx, a, key)
			if err == nil && b == p.all {
				p.items, p.keys = append(p.items, w.ID), append(p.keys, key)
			}
			return w, err
		})
	case 2, 3:
		p.same("claim "+id, func(b *Box) (any, error) {
			g, err := b.Claim(ctx, api.Claim{Work: id, Actor: "ann"}, key)
			if err == nil && b == p.all {
				p.holds = append(p.holds, id+" "+strconv.FormatUint(g.Token.Counter, 10))
			}
			return g, err
		})
	case 4, 5: // perhaps late
		item, counter, _ := strings.Cut(p.pick(p.holds), " ")
		output, err := agentsig.NewExitSignal(agentsig.PhaseImplementation, agentsig.ExitCompleted).JSON()
		if err != nil {
			p.t.Fatal(err)
		}
		p.same("emit", func(b *Box) (any, error) {
			i, err := b.state.exact(item)
			if err != nil {
				return nil, err
			}
			e, err := b.Emit(ctx, i.Subject+"-1."+counter, append(output, '\n'))
			return e, err
		})
	case 6, 7:
		to := []agentsig.Phase{agentsig.PhaseCompleted, agentsig.PhaseCompleted, agentsig.PhaseCompleted, agentsig.PhaseImplementation}[p.r.IntN(4)]
		p.same("override "+id, func(b *Box) (any, error) {
			return b.Override(id, api.Override{Phase: to, Reason: "so be it"}, key)
		})
	case 8:
		p.converse(key)
	default:
		p.same("show "+id, func(b *Box) (any, error) {
			return b.Work(id)
		})
	}
}

// converse asks a model, or goes on with a conversation.
func (p *pastPlay) converse(key string) {
	id := p.pick(p.talks)
	switch p.r.IntN(3) {
	case 0:
		p.same("ask", func(b *Box) (any, error) {
			c, err := b.Ask(p.t.Context(), api.Ask{Question: "why?"}, key)
			if err == nil && b == p.all {
				p.talks = append(p.talks, c.ID)
			}
			return c, err
		})
	case 1:
		p.same("signal", func(b *Box) (any, error) {
			return b.Signalled(p.t.Context(), id, api.Signalled{Turn: 1, Type: agentsig.KindNeedTurn, At: time.Unix(0, 0)}, key)
		})
	default:
		p.same("answer", func(b *Box) (any, error) {
			return b.Answered(id, api.Answered{Outcome: conversation.OutcomeAnswered}, key)
		})
	}
}

// pages compares lists, page by page.
func (p *pastPlay) pages(phase agentsig.Phase) {
	seen := 0
	for after, more := "", true; more; {
		var next string
		p.same("list after "+after, func(b *Box) (any, error) {
			page, err := b.List(p.t.Context(), phase, api.From{After: after, Limit: 7})
			seen += len(page.Items)
			next = page.Next
			return page, err
		})
		after, more = next, next != ""
	}
	if phase == "" && seen != 2*p.all.state.total {
		p.t.Errorf("%d items are listed twice, and there are %d", seen, p.all.state.total)
	}
}
