package box

import (
	"os"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Whoever asks a box whose seal failed is told that it stops, and why.
func TestSealFails(t *testing.T) {
	t.Parallel()
	o := Options{Dir: Dir(t.TempDir())}
	b, _ := run(t, o)
	if err := os.WriteFile(o.Dir.path("archive/tile"), nil, 0o600); err != nil { // where a directory has to be
		t.Fatal(err)
	}
	if err := tryAdd(t, b, "A"); err != nil {
		t.Fatal(err)
	}
	<-b.Done()
	err := tryAdd(t, b, "B")
	if err == nil || Problem(err).Code != api.CodeStopping || !strings.Contains(err.Error(), "seal the archive") || strings.Contains(err.Error(), "canceled") {
		t.Error(err)
	}
	if err := b.Close(); err == nil || !strings.Contains(err.Error(), "seal the archive") {
		t.Errorf("it does not say why it stopped: %v", err)
	}
}

// Status says how much of the ledger was verified: all of it, if the start was told to.
func TestScrubbed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for events := range 3 {
		b, _, err := Open(t.Context(), Options{Dir: Dir(dir), Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "a title"}, ""); err != nil {
			t.Error(err)
		}
		if l := b.Status().Ledger; l.Events != uint64(events)+1 || l.Scrubbed != uint64(events) || l.ScrubbedSince.IsZero() {
			t.Errorf("%+v", l)
		}
		closeBox(t, b)
	}
}
