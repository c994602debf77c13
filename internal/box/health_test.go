package box

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// Status says how much of the ledger was verified: all of it, if the start was told to.
func TestScrubbed(t *testing.T) {
	dir := t.TempDir()
	for events := range 3 {
		b, _, err := Open(t.Context(), Options{Dir: Dir(dir), Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Add(t.Context(), api.AddWork{Title: "a title"}, ""); err != nil {
			t.Error(err)
		}
		if l := b.Status().Ledger; l.Events != uint64(events)+1 || l.Scrubbed != uint64(events) || l.ScrubbedSince.IsZero() {
			t.Errorf("%+v", l)
		}
		closeBox(t, b)
	}
}
