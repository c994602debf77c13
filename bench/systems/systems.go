// Package systems has what is measured: each system is started in processes of its own, on
// loopback, in a directory of its own below the one for temporary files, and is ended and removed.
package systems

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/bench/handoff"
	"github.com/signalbox-dev/signalbox/bench/process"
)

// Options say where programs are, and set what there is no obvious value for.
type Options struct {
	Signalbox string // the program
	Commit    string // that it was built from, if it was just built: a program of no release does not know
	NATS      string // nats-server
	Temporal  string // the directory that bench/temporal/install made; where PATH leads if it is empty

	Connections int // that clients of the plain queue and of River hold
	Pollers     int // of workflow tasks, and of activities, that a worker of Temporal has: each has a request open

	// Lost is after how long Temporal takes a task for lost that a worker does not end. It does not know whether the
	// worker ever got it, so this is what it takes to find one that was lost on the way: longer than tasks are held.
	Lost time.Duration
}

// Names are those of all systems, in the order of the table. The others are compared with the first.
var Names = []string{"signalbox", "postgres", "river", "jetstream", "temporal-dev", "temporal-postgres"}

// All returns all systems, in the order of [Names].
func All(o Options) []handoff.System {
	return []handoff.System{
		signalboxSystem{o.Signalbox, o.Commit}, plainSystem{o.Connections}, riverSystem{o.Connections}, jetstreamSystem{o.NATS},
		temporalDev{o.Temporal, temporalWorkers{o.Pollers, o.Lost}}, temporalPostgres{o.Temporal, temporalWorkers{o.Pollers, o.Lost}},
	}
}

// Build builds a program of a package that the module in a directory knows.
func Build(ctx context.Context, program, pkg, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, pkg)
	cmd.Dir = dir
	_, err := process.Run(cmd)
	return err
}

// moduleVersion returns the version of a module that this program was built with.
func moduleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}

// freePort returns a port on loopback that nobody listens on now. It is below those that the system
// gives to connections, and below 32768: Temporal's tables hold no larger one.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	for {
		port := 20_000 + rand.IntN(12_000)
		l, err := config.Listen(ctx, "tcp", loopback(port))
		switch {
		case err == nil:
			return port, l.Close()
		case !errors.Is(err, syscall.EADDRINUSE):
			return 0, err
		}
	}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// tempDir makes a directory for what a system stores.
func tempDir(system string) (string, error) {
	return os.MkdirTemp("", "handoff-"+system+"-")
}

// find returns the path of a program in a directory, or where PATH leads if there is none.
func find(dir, program, missing string) (string, error) {
	if dir != "" {
		program = dir + "/" + program
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", handoff.Missing{What: fmt.Sprintf("no %s (%s)", program, missing)}
	}
	return path, nil
}
