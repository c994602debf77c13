package box

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
)

// onLog starts a box on a log of the test's own. It is closed with the test,
// unless the test does that.
func onLog(t *testing.T, dir Dir, log engine.Log, files archive.FS) *Box {
	t.Helper()
	if err := dir.create(); err != nil {
		t.Fatal(err)
	}
	keys, err := dir.secrets(dir.Archive(""))
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(files, keys)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := start(t.Context(), Options{Dir: dir, ExitEnabled: true}, log, a, keys)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
