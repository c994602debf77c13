package runner

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// The test's program is also what sessions are started with. They find no box: what they have to report stays where
// a runner finds it.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "session":
		spec, err := session.Read(os.Args[2])
		switch {
		case err != nil:
		case spec.Box == "":
			err = session.RunAlone(context.Background(), os.Args[2], slog.New(slog.DiscardHandler))
		default:
			err = session.Run(context.Background(), os.Args[2], api.NewClient("127.0.0.1:1", "token"), slog.New(slog.DiscardHandler))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) > 4 && os.Args[3] == "--": // a check, which is ended with all that it left
		grace, err := time.ParseDuration(os.Args[2])
		exit := 1
		if err == nil {
			exit, err = process.Tend(context.Background(), os.Args[4:], grace)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(exit)
	default:
		flag.Parse()
		if err := flag.Set("test.parallel", "8"); err != nil { // what is side by side waits
			panic(err)
		}
		goleak.VerifyTestMain(m)
	}
}
