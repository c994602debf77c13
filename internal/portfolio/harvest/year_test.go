package harvest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio/settings"
)

// What was realised in the year of as_of counts, after what is disallowed, in all taxable accounts.
func TestRealizedThisYear(t *testing.T) {
	in := input(t, `
		2024-01-10 home BUY A 100 10
		2024-01-10 high BUY B 100 10
		2026-02-02 home SELL A 50 30
		2026-03-02 high SELL B 50 4
		2025-12-30 home SELL A 10 90
		2026-04-01 home BUY C 10 50
		2026-05-01 home SELL C 10 40
		2026-05-10 home BUY C 5 40
		2026-06-01 ira BUY D 10 50
		2026-06-02 ira SELL D 10 90
		2026-07-01 home BUY LOSS 1 5000
	`, "A 10\nB 10\nC 40\nLOSS 1000")
	r := suggest(in)
	wantSuccess(t, r)
	wantAmount(t, "long-term", r.Realized.LongTerm, "700")   // 1,000 of A, -300 of B
	wantAmount(t, "short-term", r.Realized.ShortTerm, "-50") // of C, 50 are disallowed
	wantAmount(t, "offset", r.Netting.OffsetsGains, "650")
	wantAmount(t, "under the limit", r.Netting.UnderLimit, "3000")
	wantAmount(t, "carried over", r.Netting.CarriesOver, "400") // 4,000 of LOSS and 50 that C has in its basis
	in.AccountID = "high"
	if one := suggest(in); one.Realized.net().Cmp(r.Realized.net()) != 0 {
		t.Errorf("an account's own gains: %+v", one.Realized)
	}
	in.AsOf, in.AccountID = dayOf("2027-01-04"), ""
	if next := suggest(in); !next.Realized.net().IsZero() {
		t.Errorf("in the next year: %+v", next.Realized)
	}
}

// The limit is spoken of only if what is left after gains meets it.
func TestLimitAfterGains(t *testing.T) {
	for _, c := range []struct {
		name                   string
		loss, gains, carryover string
		filing, disallowed     string
		offset, under, over    string
		flags                  string
	}{
		{"nothing else", "4000", "0", "", "", "0", "0", "3000", "1000", "significant_harvest"},
		{"gains take some", "4000", "500", "", "", "0", "500", "3000", "500", "significant_harvest offsets_gains"},
		{"gains take so much that less than the limit is left", "4000", "1000.01", "", "", "0", "1000.01", "2999.99", "0", "offsets_gains"},
		{"just the limit is left", "4000", "1000", "", "", "0", "1000", "3000", "0", "significant_harvest offsets_gains"},
		{"gains take all", "4000", "9000", "", "", "0", "4000", "0", "0", "offsets_gains"},
		{"carry-over takes the gains", "4000", "1000", "1000", "", "0", "0", "3000", "1000", "significant_harvest"},
		{"carry-over takes some gains", "4000", "1000", "400", "", "0", "600", "3000", "400", "significant_harvest offsets_gains"},
		{"carry-over fills a part of the limit", "4000", "0", "1000", "", "0", "0", "2000", "2000", "significant_harvest"},
		{"carry-over fills the limit", "4000", "0", "3000", "", "0", "0", "0", "4000", "significant_harvest limit_used"},
		{"losses of the year fill the limit", "4000", "-5000", "", "", "0", "0", "0", "4000", "significant_harvest limit_used"},
		{"small losses beside a large carry-over", "100", "0", "2950", "", "0", "0", "50", "50", "harvest_available"},
		{"half of the limit", "1600", "100", "", settings.MarriedSeparately, "0", "100", "1500", "0", "significant_harvest offsets_gains"},
		{"what is disallowed is no loss", "4000", "0", "", "", "1500", "0", "2500", "0", "harvest_available"},
	} {
		r := losing(c.loss)
		r.Realized.LongTerm, r.FilingStatus, r.IfAllSold.Disallowed = usd(c.gains), c.filing, usd(c.disallowed)
		r.IfAllSold.Allowed = r.TotalHarvestableLoss.Add(r.IfAllSold.Disallowed)
		if c.carryover != "" {
			r.Carryover = new(usd(c.carryover))
		}
		n := r.netting()
		if diff := cmp.Diff([]string{c.offset, c.under, c.over}, []string{n.OffsetsGains.String(), n.UnderLimit.String(), n.CarriesOver.String()}); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		var names []string
		for _, f := range r.Snapshot().Flags() {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != c.flags {
			t.Errorf("%s: %s, want %s", c.name, got, c.flags)
		}
	}
}

// Sums are those of their parts in any portfolio.
func TestPropertyNetting(t *testing.T) {
	for seed := range uint64(500) {
		r := suggest(randomInput(seed))
		n := r.Netting
		all := n.OffsetsGains.Add(n.UnderLimit).Add(n.CarriesOver)
		if all.Cmp(r.IfAllSold.Allowed.Neg()) != 0 || n.OffsetsGains.Sign() < 0 || n.UnderLimit.Sign() < 0 || n.CarriesOver.Sign() < 0 || n.UnderLimit.Cmp(usd("3000")) > 0 {
			t.Fatalf("seed %d: %+v of %+v", seed, n, r.IfAllSold)
		}
	}
}

func TestSalesOfUnknownCost(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home TRANSFER_IN A 100 0
		2025-12-01 home SELL A 10 20
		2026-03-01 home SELL A 10 20
		2025-01-10 home BUY B 10 20
	`, "A 10\nB 10"))
	wantSuccess(t, r)
	if r.Realized.UnknownSales != 1 {
		t.Errorf("%+v", r.Realized)
	}
	wantFlag(t, r, agentformat.Flag{Name: "realized_unknown", Severity: agentformat.Warning, Message: "The gain of 1 sale of this year is unknown"})
}

func TestCarryoverIsAnAmount(t *testing.T) {
	in := input(t, "2025-01-10 home BUY A 1 10", "A 5")
	in.Carryover = new(usd("-5"))
	if r := suggest(in); r.Status != agentformat.StatusError || !strings.Contains(r.Error, "zero or more, not -5") {
		t.Errorf("%s %s", r.Status, r.Error)
	}
	in.Carryover = new(usd("5000.25"))
	s := suggest(in).Snapshot().Capped()
	if s.Carryover != 5000.25 || s.CarriesOver != 5 || s.UnderLimit != 0 {
		t.Errorf("%+v", s)
	}
	if failed := jsonObject(t, Failed(errors.New("no")).Snapshot().Capped()); failed["carryover"] != 0.0 || failed["realized_gains_this_year"] == nil || failed["lots"] == nil {
		t.Errorf("%v", failed)
	}
}
