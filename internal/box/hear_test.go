package box

import (
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// A session passes an exit record on as it was said, with the line before it or without: the
// session has checked the nonce, and the box hears the record.
func TestHearExitRecord(t *testing.T) {
	dir := Dir(t.TempDir())
	b := inDir(t, dir)
	defer closeBox(t, b)
	record := agentsig.NewExitSignal(agentsig.PhaseReview, agentsig.ExitCompleted)
	for _, run := range []string{"", "n0nce"} {
		signal := record.Signal()
		signal.Run = run
		wire, err := signal.Wire()
		if err != nil {
			t.Fatal(err)
		}
		heard, about, err := b.Ledger().Hear(api.SaidSignal{Wire: wire})
		if x, ok := heard.Exit(); err != nil || !ok || x != record || about.Signal != agentsig.KindExit {
			t.Errorf("with %q: heard %+v, %+v, %v", wire, heard, about, err)
		}
	}
}
