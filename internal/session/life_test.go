//go:build unix

package session_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// The box is told of every sign of life, also of one without a word, and that an agent waits for a tool; a box that was
// away is told the latter again.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		s := d.spec(t, prints(d.begin)+"while [ ! -e tool ]; do sleep 0.1; done\n"+prints(d.opened("make"))+
			"while [ ! -e done ]; do sleep 0.1; done\n"+prints(d.result("made"), d.says("READY_FOR_REVIEW: T-1"), d.over))
		r := start(t, s)
		r.until("a sign of life", func(b *box) bool { return b.signs > 0 && !b.busy })
		touch(t, s, "tool")
		r.until("a tool", func(b *box) bool { return b.busy })
		r.box.change(func() { r.box.away, r.box.busy = true, false })
		r.until("it is not in touch", func(b *box) bool { return b.turnedAway > 0 })
		r.box.change(func() { r.box.away = false })
		r.until("the tool again", func(b *box) bool { return b.busy })
		touch(t, s, "done")
		r.until("no tool", func(b *box) bool { return !b.busy && len(b.lines) > 0 })
		r.next(api.ReportTurn)
		r.end()
	})
}
