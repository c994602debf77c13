//go:build unix

package session_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// A report that is longer than one can be is not read, and what a report is refused for is not in what
// stands for it: the box is told of the end that a dead session left.
func TestOutsizedReport(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "outbox"), 0o700); err != nil {
		t.Fatal(err)
	}
	end, err := json.Marshal(api.SessionReport{
		Seq: 2, Kind: api.ReportEnded, How: strings.Repeat("h", 50<<10), SHA256: strings.Repeat("f", 50<<10), Usage: delivery.Usage{CostUSD: 1.7e308},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"00001.json": `{"seq":1,"kind":"note"}` + strings.Repeat(" ", api.MaxReport), "00002.json": string(end),
	} {
		if err := os.WriteFile(filepath.Join(dir, "outbox", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var taken []api.SessionReport
	err = session.HandIn(dir, slog.New(slog.DiscardHandler), func(r api.SessionReport) error {
		if err := r.Check(); err != nil {
			return &api.Problem{Code: api.CodeInvalid, Message: err.Error()}
		}
		taken = append(taken, r)
		return nil
	})
	if err != nil || len(taken) != 2 || taken[0].Denied == "" || taken[1].Kind != api.ReportEnded || taken[1].How != api.HowCrashed {
		t.Errorf("taken: %+v, %v", taken, err)
	}
	if all := kept(t, dir); len(all) != 2 {
		t.Errorf("%d reports are kept, want 2", len(all))
	}
}
