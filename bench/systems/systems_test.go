package systems

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/bench/handoff"
	"github.com/signalbox-dev/signalbox/bench/process"
)

// TestSystems measures each system at the smallest size: it hands each item over once, and leaves
// nothing behind.
func TestSystems(t *testing.T) {
	temp := t.TempDir()
	if err := os.Chmod(temp, 0o755); err != nil { // PostgreSQL may run as another user
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(temp), 0o755); err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	o := Options{Signalbox: filepath.Join(programs, "signalbox"), NATS: filepath.Join(programs, "nats-server"), Temporal: TemporalDir(), Connections: 4, Pollers: 4, Lost: time.Minute}
	if err := Build(t.Context(), o.Signalbox, "./cmd/signalbox", "../.."); err != nil {
		t.Fatal(err)
	}
	if err := Build(t.Context(), o.NATS, "github.com/nats-io/nats-server/v2", ".."); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	for i, s := range All(o) {
		t.Run(Names[i], func(t *testing.T) {
			inst, err := s.Start(t.Context())
			if m := (handoff.Missing{}); errors.As(err, &m) {
				t.Skip(m)
			}
			if err != nil {
				t.Fatal(err)
			}
			if inst.Version() == "" || inst.Version() == "unknown" || inst.Settings() == "" {
				t.Errorf("version %q, settings %q", inst.Version(), inst.Settings())
			}
			sample, err := handoff.Measure(t.Context(), inst, handoff.Load{Items: 6, Workers: 3, Rate: 10, Seconds: 1}, process.CPU)
			processes := inst.Processes()
			if err := errors.Join(err, inst.Stop()); err != nil {
				t.Fatal(err)
			}
			if !sample.Verdict.Once() {
				t.Errorf("each once: %s", sample.Verdict)
			}
			for _, pid := range processes {
				if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
					t.Errorf("process %d is still there: %v", pid, err)
				}
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, s := range All(Options{Signalbox: "/nowhere/signalbox", NATS: "/nowhere/nats-server", Temporal: "/nowhere"}) {
		switch s.(type) {
		case plainSystem, riverSystem: // Debian's PostgreSQL is found without PATH
			continue
		}
		_, err := s.Start(t.Context())
		if m := (handoff.Missing{}); !errors.As(err, &m) {
			t.Errorf("%s is not there, and that is: %v", s.Name(), err)
		}
	}
}

func TestVersionIn(t *testing.T) {
	for _, c := range []struct{ text, built, want string }{
		{"temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)", "(devel)", "CLI 1.5.1, server 1.29.1"},
		{"temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)", "v1.5.1", "CLI 1.5.1, server 1.29.1"},
		{"temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)", "", "CLI 0.0.0-DEV, server 1.29.1"},
		{"temporal version 2.0.0", "", "2.0.0"},
	} {
		if got := versionIn(c.text, c.built); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestNewestPostgres(t *testing.T) {
	if a, b := majorOf("/usr/lib/postgresql/9/bin/initdb"), majorOf("/usr/lib/postgresql/15/bin/initdb"); a != 9 || b != 15 {
		t.Errorf("versions %d and %d", a, b)
	}
}
