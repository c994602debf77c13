//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// A run in a sandbox says that its tasks are held. If a box goes on with it without one,
// that is recorded, and what was not completed by then is held no longer.
func TestProtection(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		settings := func(kind sandbox.Kind) {
			w.settings("sandbox: {kind: %s, write: [%s/starts]}\nchecks: [{name: any, command: 'true'}]\n", kind, w.scripts)
		}
		settings(kind)
		w.git("commit", "-qam", "settings")
		w.tasks("T-1", "T-2: T-1")
		w.script("T-2.developer.1", "sleep 300\n")
		run := w.start("run", "plan.md")
		w.until("the second developer is at work", func() bool { return w.has("T-2.developer.1") })
		run.interrupt()
		settings(sandbox.None)
		r := w.goOn()
		w.completed(r)
		if r.Tasks[0].Protection != delivery.Held || r.Tasks[1].Protection != delivery.Unheld {
			t.Errorf("the tasks are %s and %s", r.Tasks[0].Protection, r.Tasks[1].Protection)
		}
		p := payload[delivery.Exposure](w, delivery.ProtectionLost)
		if len(r.Unprotected) != 1 || len(p.Unprotected) != 1 || !strings.Contains(r.Unprotected[0], "without a sandbox") {
			t.Errorf("not protected: %q, recorded %q", r.Unprotected, p.Unprotected)
		}
	})
}
