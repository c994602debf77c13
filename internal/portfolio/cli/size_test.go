package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/listing"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
)

// A large portfolio is answered in few bytes; all of it is in a file.
func TestSizes(t *testing.T) {
	size := 100_000
	if testing.Short() {
		size = 30_000
	}
	made, dir, ctx := makeUp(size), t.TempDir(), t.Context()
	s, err := store.Open(ctx, filepath.Join(dir, "portfolio.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	file, err := broker.Read(bytes.NewReader(made.csv), broker.Options{})
	if err != nil || len(file.Transactions) != size {
		t.Fatalf("%d transactions, %v", len(file.Transactions), err)
	}
	if _, err := s.ImportTransactions(ctx, store.Import{Name: "t", Hash: [32]byte{1}}, file.Transactions, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ImportPrices(ctx, store.Import{Name: "p", Hash: [32]byte{2}}, made.quotes); err != nil {
		t.Fatal(err)
	}
	service := &answer.Service{Store: s, Logs: filepath.Join(dir, "logs"), AsOf: made.end, Now: time.Now}
	state, err := service.Load(ctx, made.end)
	if err != nil || len(state.Book.Positions) != 500 || len(state.Book.Lots) < 5000 || len(state.Book.Problems) > 0 {
		t.Fatalf("%d positions, %d lots, %v, %v", len(state.Book.Positions), len(state.Book.Lots), state.Book.Problems, err)
	}
	losses := service.SuggestTaxLossHarvest(ctx, harvest.Params{Format: reply.FormatAgent, Output: reply.OutputFile})
	exit := service.CheckExitSignals(ctx, exitsignal.Params{Ticker: "S001", Format: reply.FormatAgent, Output: reply.OutputFile})
	agent := listing.Params{Format: reply.FormatAgent, Output: reply.OutputFile}
	for _, c := range []struct {
		reply reply.Reply
		most  int
	}{
		{losses, 3 << 10},
		{exit, 2 << 10},
		{service.CheckExitSignals(ctx, exitsignal.Params{Format: reply.FormatAgent, Output: reply.OutputFile}), 2 << 10},
		{service.ListPositions(ctx, agent), 3 << 10},
		{service.ListGains(ctx, agent), 3 << 10},
	} {
		data, err := json.Marshal(c.reply.Body)
		if err != nil || len(data) > c.most || c.reply.Failed {
			t.Errorf("%d bytes, want at most %d; %v\n%s", len(data), c.most, err, data)
		}
		if _, err := os.Stat(c.reply.FilePath); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(losses.FilePath); err != nil || info.Size() < 1<<20 {
		t.Errorf("the full result: %v, %v", info, err)
	}
}
