//go:build linux

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/service"
)

// program is the signalbox program, and later the same with level 2, built once for all tests.
var program, later string

// clocked is the environment variable in which this program, started again as a box with a clock that is wrong, finds what it is to be.
const clocked = "SIGNALBOX_TEST_CLOCKED_BOX"

// wrong says how a box is that has a clock which is wrong.
type wrong struct {
	Dir, Listen string
	Offset      time.Duration
	Rate        float64 // how fast its clock is
}

func TestMain(m *testing.M) {
	if said := os.Getenv(clocked); said != "" {
		if err := serveWrong(said); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "signalbox-chaos-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		program, later = filepath.Join(dir, "signalbox"), filepath.Join(dir, "signalbox-later")
		return m.Run()
	}())
}

var building sync.Mutex

// build builds a program unless that was done, with linker's flags. go run keeps what it has linked, go build does not.
func build(t *testing.T, to, ldflags string) {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	if _, err := os.Stat(to); err == nil {
		return
	}
	if out, err := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "-ldflags", ldflags, "../../cmd/signalbox", to).CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v", out, err)
	}
}

// serveWrong is a box whose clock is wrong, until it is told to stop.
func serveWrong(said string) (err error) {
	var w wrong
	if err := json.Unmarshal([]byte(said), &w); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	here, beyond := httpapi.Addresses(w.Listen, config.DefaultListen, false)
	listener, err := httpapi.ListenAgain(ctx, here, box.Dir(w.Dir).LastPort())
	if err != nil {
		return err
	}
	secure, err := httpapi.ListenSecure(ctx, beyond)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	settings, err := config.Parse(filepath.Join(filepath.Dir(w.Dir), config.File), []byte(settingsText))
	if err != nil {
		return err
	}
	begun := time.Now()
	now := func() time.Time {
		return begun.Add(w.Offset + time.Duration(w.Rate*float64(time.Since(begun))))
	}
	o := service.Options{
		Config: settings, Secure: secure, Tick: time.Duration(float64(box.ClusterTick) / w.Rate),
		Box: box.Options{Dir: box.Dir(w.Dir), ExitEnabled: true, Now: now, Patience: 30 * time.Second, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))},
	}
	s, _, err := service.Open(ctx, o)
	if err != nil {
		return errors.Join(err, listener.Close(), secure.Close())
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"address": listener.Addr().String()}); err != nil {
		return errors.Join(err, s.Close())
	}
	served := s.Serve(ctx, listener)
	return errors.Join(s.Close(), served)
}
