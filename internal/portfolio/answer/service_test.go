package answer

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
)

// service has a portfolio of one position at a loss, with a price.
func service(t *testing.T) *Service {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), filepath.Join(dir, "portfolio.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	day := portfolio.NewDate(2026, 11, 13)
	ten := portfolio.NewDecimal(10, 0)
	rows := []portfolio.Transaction{{Date: day.Add(-400), Account: "home", Action: portfolio.Buy, Symbol: "SLV", Quantity: ten, Price: ten}}
	if _, err := s.ImportTransactions(t.Context(), store.Import{Name: "t", Hash: [32]byte{1}}, rows, nil); err != nil {
		t.Fatal(err)
	}
	last := portfolio.NewDecimal(8, 0)
	quote := price.Quote{Symbol: "SLV", Bar: price.Bar{Date: day, Open: last, High: last, Low: last, Close: last, Adj: last}}
	if _, err := s.ImportPrices(t.Context(), store.Import{Name: "p", Hash: [32]byte{2}}, []price.Quote{quote}); err != nil {
		t.Fatal(err)
	}
	return &Service{Store: s, Logs: filepath.Join(dir, "logs"), AsOf: day, Now: func() time.Time { return time.Date(2026, 11, 13, 9, 8, 7, 0, time.UTC) }}
}

func body(t *testing.T, r reply.Reply) (object map[string]any) {
	t.Helper()
	data, err := json.Marshal(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// Every format has the path of the file that was asked for, whose content is the full result; what
// fails is written too. Inline writes nothing.
func TestOutput(t *testing.T) {
	s := service(t)
	ctx := t.Context()
	exit := func(ticker string) func(format, output string) reply.Reply {
		return func(format, output string) reply.Reply {
			return s.CheckExitSignals(ctx, exitsignal.Params{Ticker: ticker, Format: format, Output: output})
		}
	}
	losses := func(account string) func(format, output string) reply.Reply {
		return func(format, output string) reply.Reply {
			return s.SuggestTaxLossHarvest(ctx, harvest.Params{AccountID: account, Format: format, Output: output})
		}
	}
	for _, c := range []struct {
		name    string
		ask     func(format, output string) reply.Reply
		formats []string
		file    string
		failed  bool
	}{
		{"exit", exit("slv"), []string{"summary", "full", "agent"}, "exit_signals/exit_signals_SLV_20261113_090807", false},
		{"exit fails", exit("NOPE"), []string{"summary", "full", "agent"}, "exit_signals/exit_signals_NOPE_20261113_090807", true},
		{"harvest", losses(""), []string{"full", "summary", "report", "agent"}, "tax_harvest/tax_harvest_20261113_090807", false},
		{"harvest fails", losses("none"), []string{"full", "summary", "report", "agent"}, "tax_harvest/tax_harvest_20261113_090807", true},
	} {
		for _, format := range append(c.formats, "") {
			if err := os.RemoveAll(s.Logs); err != nil {
				t.Fatal(err)
			}
			inline := c.ask(format, "")
			if _, err := os.Stat(s.Logs); !errors.Is(err, os.ErrNotExist) || inline.FilePath != "" || inline.Failed != c.failed {
				t.Errorf("%s %s: inline wrote something, or %+v", c.name, format, inline)
			}
			got := c.ask(format, "file")
			if got.Failed != c.failed || !strings.HasSuffix(filepath.ToSlash(got.FilePath), c.file+".json") || body(t, got)["file_path"] != got.FilePath {
				t.Errorf("%s %s: %+v", c.name, format, got)
				continue
			}
			data, err := os.ReadFile(got.FilePath)
			if err != nil || !strings.Contains(string(data), "\n  \"status\": ") {
				t.Errorf("%s %s: %v, %.80s", c.name, format, err, data)
			}
		}
	}
}

// A file that can't be written is told, and has no path.
func TestNoFile(t *testing.T) {
	s := service(t)
	if err := os.WriteFile(s.Logs, nil, 0o600); err != nil { // where a directory would be
		t.Fatal(err)
	}
	for _, format := range []string{"summary", "full", "report", "agent"} {
		replied := s.SuggestTaxLossHarvest(t.Context(), harvest.Params{Format: format, Output: "file"})
		got := body(t, replied)
		if replied.FilePath != "" || replied.Failed || got["file_path"] != nil || got["file_error"] == nil {
			t.Errorf("%s: %v", format, got)
		}
	}
}

// What the store can't give is an error in the format that was asked for.
func TestStoreFails(t *testing.T) {
	s := service(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range []reply.Reply{
		s.CheckExitSignals(ctx, exitsignal.Params{Ticker: "SLV", Format: "agent"}),
		s.SuggestTaxLossHarvest(ctx, harvest.Params{Format: "agent"}),
	} {
		got := body(t, r)
		if !r.Failed || got["status"] != "error" || got["format"] != "agent" || got["snapshot"] == nil {
			t.Errorf("%v", got)
		}
	}
}

// A price from before a split is of other shares: there is no price, and no verdict.
func TestSplitAfterPrice(t *testing.T) {
	s := service(t)
	split := []portfolio.Transaction{{Date: s.AsOf.Add(1), Account: "home", Action: portfolio.Split, Symbol: "SLV", Quantity: portfolio.NewDecimal(10, 0)}}
	if _, err := s.Store.ImportTransactions(t.Context(), store.Import{Name: "s", Hash: [32]byte{3}}, split, nil); err != nil {
		t.Fatal(err)
	}
	s.AsOf = s.AsOf.Add(2)
	state, err := s.Load(t.Context(), portfolio.Date{})
	if err != nil {
		t.Fatal(err)
	}
	if p := state.Positions()[0]; !p.PricedOn.IsZero() || p.Quantity.String() != "100" {
		t.Errorf("%+v", p)
	}
	if r := state.Harvest(harvest.Params{}); len(r.Candidates) != 0 || len(r.MissingPrices) != 1 {
		t.Errorf("%+v", r)
	}
	exit, _ := s.Exit(t.Context(), exitsignal.Params{Ticker: "SLV"})
	if exit.Assessment != "ERROR" || !strings.Contains(exit.Signals[0].Message, "before the split of 2026-11-14") {
		t.Errorf("%+v", exit)
	}
}

// The broker's own lots are held against ours.
func TestCompareLots(t *testing.T) {
	s := service(t)
	state, err := s.Load(t.Context(), portfolio.Date{})
	if err != nil {
		t.Fatal(err)
	}
	lot := broker.Lot{Account: "home", Symbol: "SLV", Acquired: s.AsOf.Add(-400), Quantity: portfolio.NewDecimal(10, 0), Basis: portfolio.NewDecimal(100, 0)}
	if odd := state.CompareLots([]broker.Lot{lot}); len(odd) != 0 {
		t.Error(odd)
	}
	for want, change := range map[string]func(*broker.Lot){
		"ours have 10 shares and a basis of 100.00, the broker's 9 shares and a basis of 100.00":  func(l *broker.Lot) { l.Quantity = portfolio.NewDecimal(9, 0) },
		"ours have 10 shares and a basis of 100.00, the broker's 10 shares and a basis of 100.50": func(l *broker.Lot) { l.Basis = portfolio.NewDecimal(1005, -1) },
		"bought on 2025-10-09: ours have 10 shares and a basis of 100.00, the broker's none":      func(l *broker.Lot) { l.Acquired = l.Acquired.Add(1) },
	} {
		other := lot
		change(&other)
		if odd := strings.Join(state.CompareLots([]broker.Lot{other}), "\n"); !strings.Contains(odd, want) {
			t.Errorf("%q lacks %q", odd, want)
		}
	}
}
