package harvest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// An agent that has the reply alone knows which lot of which account to sell, what is washed of it,
// and from when on it is not.
func TestOffers(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 100 30
		2026-06-01 high BUY SLV 10.5 41
		2026-11-02 ira BUY SLV 40 20
		2024-01-10 home BUY GLD 10 100
		2024-05-10 home BUY GLD 10 250
	`, "SLV 20\nGLD 200"))
	wantSuccess(t, r)
	body := Reply(r, Params{Format: reply.FormatAgent}, agentformat.File{}).Body.(agentformat.Response[Snapshot])
	want := []Offer{
		{
			Ticker: "SLV", Account: "home", Acquired: dayOf("2025-01-10"), Shares: 100, Loss: -1000, Term: "long",
			Disallowed: 400, Permanent: 400, NoBuyUntil: dayOf("2026-12-14"), WashFreeFrom: dayOf("2026-12-03"),
		},
		{Ticker: "GLD", Account: "home", Acquired: dayOf("2024-05-10"), Shares: 10, Loss: -500, Term: "long", NoBuyUntil: dayOf("2026-12-14"), NameTheLot: true},
		{
			Ticker: "SLV", Account: "high", Acquired: dayOf("2026-06-01"), Shares: 10.5, Loss: -220.5, Term: "short",
			Disallowed: 220.5, Permanent: 220.5, NoBuyUntil: dayOf("2026-12-14"), WashFreeFrom: dayOf("2026-12-03"),
		},
	}
	if diff := cmp.Diff(want, body.Snapshot.Lots, cmpopts.EquateComparable(portfolio.Date{}), cmpopts.IgnoreUnexported(Offer{})); diff != "" || body.Snapshot.LotsOmitted != 0 {
		t.Errorf("%d omitted\n%s", body.Snapshot.LotsOmitted, diff)
	}
	wantFlag(t, r, agentformat.Flag{
		Name: "name_the_lot", Severity: agentformat.Info,
		Message: "1 lot must be named in a sale, or the account's method sells another first: GLD in home of 2024-05-10 (first: that of 2024-01-10, a gain)",
	})
}

// Lots come in the order that was asked for; those that are left out are counted, and flags know them.
func TestOffersOmitted(t *testing.T) {
	var candidates []Candidate
	for i := range 30 {
		c := candidate(fmt.Sprintf("T%02d", i), fmt.Sprintf("-%d", 100+i), "short_term")
		c.Account, c.Acquired = "Z12345678", dayOf("2026-05-19")
		if i >= 25 {
			c.SoldFirst = &First{Acquired: dayOf("2026-01-02")}
		}
		candidates = append(candidates, c)
	}
	r := harvested(candidates...)
	s := r.Snapshot()
	sent := s.Capped()
	if len(sent.Lots) == 0 || len(sent.Lots) > maxOffers || len(sent.Lots)+sent.LotsOmitted != 30 || sent.Lots[0].Ticker != "T00" || len(s.Lots) != 30 {
		t.Errorf("%d lots, %d omitted", len(sent.Lots), sent.LotsOmitted)
	}
	wantFlag(t, r, agentformat.Flag{
		Name: "name_the_lot", Severity: agentformat.Info,
		Message: "5 lots must be named in a sale, or the account's method sells another first: " +
			"T25 in Z12345678 of 2026-05-19 (first: that of 2026-01-02), T26 in Z12345678 of 2026-05-19 (first: that of 2026-01-02), " +
			"T27 in Z12345678 of 2026-05-19 (first: that of 2026-01-02) + 2 more",
	})
}

// Names of files are cut and escaped: both ends of an account's id are left.
func TestOffersAreSafe(t *testing.T) {
	c := candidate("EVIL\u202e\x1b[31m", "-10", "short_term")
	c.Account = "broker-" + strings.Repeat("x", 60) + "-0042"
	sent := harvested(c).Snapshot().Capped().Lots[0]
	if len(sent.Account) > 24 || !strings.HasSuffix(sent.Account, "-0042") || !strings.HasPrefix(sent.Account, "broker-") {
		t.Errorf("%q", sent.Account)
	}
	if strings.ContainsAny(sent.Ticker, "\u202e\x1b") {
		t.Errorf("%q", sent.Ticker)
	}
}
