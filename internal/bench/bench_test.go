package bench_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/bench"
	"github.com/signalbox-dev/signalbox/internal/cli"
	"github.com/signalbox-dev/signalbox/internal/command"
)

// asProgram makes the tests' program the signalbox program.
const asProgram = "SIGNALBOX_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], command.Terminal())
	stop()
	os.Exit(code)
}

// A small run measures everything, and ends what it started.
func TestRun(t *testing.T) {
	t.Setenv(asProgram, "true")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rounds := 0
	r, err := bench.Run(t.Context(), bench.Options{
		Program: program, Dir: t.TempDir(), Items: 20, Clients: 4, Rounds: 2, Rate: 1000,
		Progress: func(string) { rounds++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, measured := range []float64{r.Handoffs, r.Log, r.HTTP, r.Ratio, r.P50, r.P99} {
		if measured <= 0 {
			t.Errorf("something was not measured: %+v", r)
			break
		}
	}
	if r.Items != 20 || r.Clients != 4 || r.Signals != 30 || r.P50 > r.P99 || rounds != 3 {
		t.Errorf("%+v after %d announcements", r, rounds)
	}
}
