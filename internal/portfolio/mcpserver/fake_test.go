package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/listing"
	"github.com/signalbox-dev/signalbox/internal/portfolio/mcpserver"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// TestMain is also the server of the tests over stdio: they start their own binary again.
func TestMain(m *testing.M) {
	if dir := os.Getenv("MCPSERVER_TEST_DIR"); dir != "" {
		logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
		err := mcpserver.New(&fake{dir: dir}, "1.2.3", mcpserver.Options{Files: true, Logger: logger}).ServeStdio(context.Background(), os.Stdin, os.Stdout)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// fake answers with what it was asked. Some tickers make it misbehave.
type fake struct {
	dir     string
	waiting chan struct{} // a call for WAIT has begun
	ended   chan error    // and why it ended
	finish  chan struct{} // lets a call for FINISH go on
	calls   []string      // formats and outputs of harvests
}

func (f *fake) CheckExitSignals(ctx context.Context, p exitsignal.Params) reply.Reply {
	body := map[string]any{
		"status": "success", "ticker": p.Ticker, "account_id": p.AccountID, "as_of": p.AsOf, "shares": p.Shares,
		"asked": p.Format, "text": `<a href="x">&</a>`,
	}
	switch p.Ticker {
	case "PANIC":
		panic("secret \x1b[31m of the tool")
	case "NAN":
		body["severity"] = math.NaN()
	case "LIST":
		return reply.Reply{Body: []int{1}}
	case "BARE":
		return reply.Reply{Body: map[string]string{"ticker": "BARE"}}
	case "FAIL":
		return failed(p.Format, errors.New("no prices for FAIL"))
	case "GONE":
		return reply.Reply{Body: body, FilePath: filepath.Join(f.dir, "gone.json")}
	case "WAIT":
		close(f.waiting)
		select {
		case <-ctx.Done():
			f.ended <- ctx.Err()
		case <-time.After(time.Minute):
			f.ended <- errors.New("nobody ended the call")
		}
		return failed(p.Format, ctx.Err())
	case "FINISH":
		close(f.waiting)
		<-f.finish
	}
	if p.Format == reply.FormatAgent {
		body["format"] = "agent"
	}
	return f.reply(p.Output, "exit_signals_"+p.Ticker, body)
}

func (f *fake) SuggestTaxLossHarvest(_ context.Context, p harvest.Params) reply.Reply {
	f.calls = append(f.calls, p.Format+" "+p.Output)
	body := map[string]any{
		"status": "success", "sort_by": p.SortBy, "account_id": p.AccountID, "as_of": p.AsOf, "min_loss": p.MinLoss, "asked": p.Format,
	}
	if strings.HasPrefix(p.AccountID, "big") && p.Format == reply.FormatFull {
		body["candidates"] = strings.Repeat("x", 41<<10)
	}
	if p.AccountID == "big on a full disk" && p.Output == reply.OutputFile {
		body["file_error"] = "no space left"
		return reply.Reply{Body: body}
	}
	return f.reply(p.Output, "tax_harvest", body)
}

func (f *fake) ListPositions(_ context.Context, p listing.Params) reply.Reply {
	return f.list("positions", p)
}

func (f *fake) ListGains(_ context.Context, p listing.Params) reply.Reply { return f.list("gains", p) }

func (f *fake) list(what string, p listing.Params) reply.Reply {
	return f.reply(p.Output, what, map[string]any{
		"status": "success", "what": what, "symbol": p.Symbol, "account_id": p.AccountID, "as_of": p.AsOf, "year": p.Year, "asked": p.Format,
	})
}

func (f *fake) reply(output, name string, body map[string]any) reply.Reply {
	if output != reply.OutputFile {
		return reply.Reply{Body: body}
	}
	path := filepath.Join(f.dir, name+" ä#%2e.json")
	if err := os.WriteFile(path, []byte(`{"full":"result"}`), 0o600); err != nil {
		return reply.Reply{Failed: true, Body: map[string]string{"status": "error", "error": err.Error()}}
	}
	body["file_path"] = path
	return reply.Reply{Body: body, FilePath: path}
}

func failed(format string, err error) reply.Reply {
	return exitsignal.Reply(exitsignal.Failed("", err), exitsignal.Params{Format: format}, agentformat.File{})
}
