package cli_test

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"portfolio": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			os.Exit(cli.Run(ctx, os.Args[1:], command.Terminal()))
		},
	})
}

// TestScripts runs the command line as a user would; the scripts are the manual.
func TestScripts(t *testing.T) {
	samples, err := filepath.Abs("../../../examples/portfolio")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PORTFOLIO_DB", filepath.Join(env.WorkDir, "home", "portfolio.db"))
			env.Setenv("SAMPLES", samples)
			return nil
		},
	})
}
