package box

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/engine/enginetest"
)

// onFiles starts a box whose archive is in files of the test's own, and whose log may fail. The
// test closes it.
func onFiles(t *testing.T, dir Dir, files archive.FS, faults func(n int, subject string) enginetest.Fault) *Box {
	t.Helper()
	return onClock(t, dir, files, faults, nil)
}

// onClock is the same with a clock of the test's own.
func onClock(t *testing.T, dir Dir, files archive.FS, faults func(n int, subject string) enginetest.Fault, now func() time.Time) *Box {
	t.Helper()
	return onLog(t, dir, files, now, func(a *archive.Archive, f archive.Follower) engine.Log {
		log := archive.NewLog(a, f)
		if faults == nil {
			return log
		}
		return &enginetest.Faulty{Log: log, Faults: faults}
	})
}

// onLog is the same with a log of the test's own.
func onLog(t *testing.T, dir Dir, files archive.FS, now func() time.Time, open func(*archive.Archive, archive.Follower) engine.Log) *Box {
	t.Helper()
	if err := dir.create(); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir, Files: files, ExitEnabled: true, Now: now}
	if err := o.hold(t.Context(), func() error { return nil }); err != nil {
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
	b, _, err := start(t.Context(), o, a, keys, func(_ *Box, f archive.Follower) (engine.Log, error) { return open(a, f), nil })
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// inDir starts a box in a directory.
func inDir(t *testing.T, dir Dir) *Box {
	t.Helper()
	return onFiles(t, dir, archive.Dir(dir.Archive("")), nil)
}
