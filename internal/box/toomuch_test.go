package box

import (
	"math"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// A request whose texts take more room in an event than there is is the request's fault, and is not
// tried again: a character may take six bytes there.
func TestTooMuch(t *testing.T) {
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	_, err := b.Override("T-1", api.Override{Phase: agentsig.PhaseDraft, Reason: strings.Repeat("<", 4096)}, "")
	if err == nil || !api.Refused(asAnswered(err)) {
		t.Errorf("a reason that takes 24 KiB: %v", err)
	}
}

// A report with parts that can't be recorded, or summed, is refused for good.
func TestReportIsChecked(t *testing.T) {
	b := delivering(t, newCommits(t))
	defer closeBox(t, b)
	c := cancelled(t, b)
	long := strings.Repeat("f", 50<<10)
	for what, r := range map[string]api.SessionReport{
		"how":              {How: long},
		"how, unprintable": {How: "\x1b"},
		"a sum":            {SHA256: long},
		"a short sum":      {SHA256: "ff"},
		"a cost":           {Usage: delivery.Usage{CostUSD: 1.7e308}},
		"no cost":          {Usage: delivery.Usage{CostUSD: -1}},
		"tokens":           {Usage: delivery.Usage{InputTokens: math.MaxInt64}},
		"output":           {Usage: delivery.Usage{OutputTokens: math.MaxInt64}},
		"no tokens":        {Usage: delivery.Usage{OutputTokens: -1}},
	} {
		r.Kind = api.ReportEnded
		if err := b.takeReport(t.Context(), c, c.subject+"-1.1", r); err == nil || !api.Refused(asAnswered(err)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	r := api.SessionReport{Kind: api.ReportEnded, How: api.HowDone, SHA256: strings.Repeat("f", 64), Usage: delivery.Usage{InputTokens: 1e12, OutputTokens: 1, CostUSD: 1e6}}
	if err := b.takeReport(t.Context(), c, c.subject+"-1.1", r); err != nil && api.Refused(asAnswered(err)) {
		t.Errorf("as it should be: %v", err)
	}
}
