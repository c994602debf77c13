//go:build unix

package session_test

import (
	"slices"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// The box is told of every sign of life, also of one without a word, what an agent said last, and that it waits for a tool;
// a box that was away is told these again.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		s := d.spec(t, prints(d.begin, d.says("I read"))+"while [ ! -e tool ]; do sleep 0.1; done\n"+prints(d.opened("make"))+
			"while [ ! -e done ]; do sleep 0.1; done\n"+prints(d.result("made"), d.says("READY_FOR_REVIEW: T-1"), d.over))
		r := start(t, s)
		restarts := func() {
			r.box.change(func() { r.box.away, r.box.busy, r.box.lines, r.box.turnedAway = true, false, nil, 0 })
			r.until("it is not in touch", func(b *box) bool { return b.turnedAway > 0 })
			r.box.change(func() { r.box.away = false })
		}
		r.until("a sign of life", func(b *box) bool { return b.signs > 0 && !b.busy })
		r.until("what it said", func(b *box) bool { return slices.Contains(b.lines, "I read") })
		restarts()
		r.until("what it said again", func(b *box) bool { return slices.Contains(b.lines, "I read") })
		touch(t, s, "tool")
		r.until("a tool", func(b *box) bool { return b.busy })
		restarts()
		r.until("the tool again", func(b *box) bool { return b.busy })
		touch(t, s, "done")
		r.until("no tool", func(b *box) bool { return !b.busy && len(b.lines) > 0 })
		r.next(api.ReportTurn)
		r.end()
	})
}
