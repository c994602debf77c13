package sample

import (
	"os"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/settings"
)

// The accounts of the sample.
const (
	schwab   = "XXXX-3417"
	fidelity = "Z12345678"
	ibkr     = "U1234567"
	plan     = "plan-401k"
)

type household struct {
	today    portfolio.Date
	files    []broker.File
	history  []portfolio.Transaction
	bars     map[string][]price.Bar
	settings settings.Settings
	book     *lots.Book
}

func load(t *testing.T) household {
	t.Helper()
	h := household{today: date(t, "2026-11-13"), bars: map[string][]price.Bar{}}
	for _, name := range []string{"schwab.csv", "fidelity.csv", "ibkr.xml", "roth.ofx", "transactions.csv"} {
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		file, err := broker.Read(in, broker.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, s := range file.Skipped {
			if !s.Known {
				t.Errorf("%s, line %d: %s", name, s.Line, s.Reason)
			}
		}
		h.files = append(h.files, file)
		h.history = append(h.history, file.Transactions...)
	}
	in, err := os.Open("prices.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	prices, err := price.Read(in, "")
	if err != nil || len(prices.Skipped) > 0 {
		t.Fatalf("prices.csv: %v %+v", err, prices.Skipped)
	}
	for _, q := range prices.Quotes {
		h.bars[q.Symbol] = append(h.bars[q.Symbol], q.Bar)
	}
	yaml, err := os.ReadFile("accounts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if h.settings, err = settings.Parse(yaml); err != nil {
		t.Fatal(err)
	}
	h.book = lots.Build(h.history, h.settings.Rules(), h.today)
	for _, p := range h.book.Problems {
		t.Errorf("%+v", p)
	}
	return h
}

func (h household) last(symbol string) portfolio.Decimal {
	bars := h.bars[symbol]
	return bars[len(bars)-1].Close
}

// loss is what is lost on a lot by the last price; less than zero is a gain.
func (h household) loss(l lots.Lot) portfolio.Decimal {
	return l.Basis.Sub(l.Quantity.Mul(h.last(l.Symbol)))
}

func (h household) lot(t *testing.T, account, symbol, acquired string) lots.Lot {
	t.Helper()
	for _, l := range h.book.Lots {
		if l.Account == account && l.Symbol == symbol && l.Acquired == date(t, acquired) {
			return l
		}
	}
	t.Fatalf("there is no lot of %s in %s from %s", symbol, account, acquired)
	return lots.Lot{}
}

// Trades were made at a price of their day, and every account is described.
func TestTradesFitPrices(t *testing.T) {
	h := load(t)
	for _, trade := range h.history {
		if _, listed := h.settings.Account(trade.Account); !listed {
			t.Errorf("accounts.yaml does not have %s", trade.Account)
		}
		if trade.Price.IsZero() {
			continue
		}
		found := false
		for _, bar := range h.bars[trade.Symbol] {
			if bar.Date == trade.Date {
				found = bar.Low.Cmp(trade.Price) <= 0 && trade.Price.Cmp(bar.High) <= 0
			}
		}
		if !found {
			t.Errorf("%s %s at %s is not within the day's prices", trade.Date, trade.Symbol, trade.Price)
		}
	}
}

// What brokers say that is held is what the history comes to, lot by lot where they say so.
func TestBrokersAgree(t *testing.T) {
	h := load(t)
	for _, file := range h.files {
		for _, holding := range file.Holdings {
			var quantity portfolio.Decimal
			for _, p := range h.book.Positions {
				if p.Account == holding.Account && p.Symbol == holding.Symbol {
					quantity = p.Quantity
				}
			}
			if quantity.Cmp(holding.Quantity) != 0 {
				t.Errorf("%s: %s of %s, and the broker says %s", holding.Account, quantity, holding.Symbol, holding.Quantity)
			}
		}
		for _, theirs := range file.Lots {
			ours := h.lot(t, theirs.Account, theirs.Symbol, theirs.Acquired.String())
			if ours.Quantity.Cmp(theirs.Quantity) != 0 || ours.Basis.Round(2).Cmp(theirs.Basis) != 0 {
				t.Errorf("our lot %+v, theirs %+v", ours, theirs)
			}
		}
	}
}

// Silver fell below its mean while the market did not: the answer is EXIT.
func TestSilverExits(t *testing.T) {
	h := load(t)
	verdict := exitrule.Evaluate(h.settings.Exit, exitrule.Market{Bars: h.bars["SLV"], Others: h.bars}, h.today)
	if verdict.Assessment != exitrule.Exit {
		t.Errorf("%s: %+v", verdict.Text, verdict.Signals)
	}
	for _, symbol := range []string{"SPY", "NVDA", "VTI"} {
		verdict := exitrule.Evaluate(h.settings.Exit, exitrule.Market{Bars: h.bars[symbol], Others: h.bars}, h.today)
		if verdict.Assessment != exitrule.Hold {
			t.Errorf("%s: %s", symbol, verdict.Text)
		}
	}
}

// Each kind of loss that the harvest tells apart is there.
func TestLosses(t *testing.T) {
	h := load(t)
	for _, c := range []struct {
		account, symbol, acquired string
		long                      bool
		washed                    string // shares
		by                        string // the account that bought them
		permanent, unsettled      bool
	}{
		{schwab, "SLV", "2026-05-19", false, "40", fidelity, true, false},
		{ibkr, "SLV", "2026-03-10", false, "40", fidelity, true, false},
		{schwab, "INTC", "2024-04-15", true, "0", "", false, false},
		{schwab, "KO", "2026-02-10", false, "1.4977", schwab, false, false},
		{schwab, "BND", "2024-09-16", true, "6", plan, false, true},
	} {
		l := h.lot(t, c.account, c.symbol, c.acquired)
		loss := h.loss(l)
		if loss.Sign() <= 0 {
			t.Errorf("%s from %s is not at a loss: %s", c.symbol, c.acquired, loss)
			continue
		}
		if long := !h.today.Before(l.HoldingSince.LongTermFrom()); long != c.long {
			t.Errorf("%s from %s is long-term: %t", c.symbol, c.acquired, long)
		}
		var shares portfolio.Decimal
		for _, w := range h.book.IfSold(lots.Sale{Lot: l, Loss: loss})[0] {
			shares = shares.Add(w.Quantity)
			if w.Account != c.by || w.Permanent != c.permanent || w.Unsettled != c.unsettled {
				t.Errorf("%s from %s: %+v", c.symbol, c.acquired, w)
			}
		}
		if shares.String() != c.washed {
			t.Errorf("%s from %s: %s shares would be washed, want %s", c.symbol, c.acquired, shares, c.washed)
		}
	}
}

// The history has a wash sale, a split, gains, and shares of which nobody knows the cost.
func TestHistory(t *testing.T) {
	h := load(t)
	gains, losses, washed := 0, 0, 0
	for _, d := range h.book.Disposals {
		switch {
		case d.Disallowed.Sign() > 0 && d.Sold.Year() == 2025 && d.Symbol == "VTI" && d.Permanent.IsZero():
			washed++
		case d.Gain().Sign() > 0:
			gains++
		case d.Disallowed.IsZero():
			losses++
		}
	}
	if gains < 3 || losses < 1 || washed != 1 {
		t.Errorf("%d gains, %d losses, %d wash sales: %+v", gains, losses, washed, h.book.Disposals)
	}
	if nvda := h.lot(t, schwab, "NVDA", "2024-02-13"); nvda.Quantity.String() != "70" || h.loss(nvda).Sign() >= 0 {
		t.Errorf("after the split: %+v", nvda)
	}
	for _, p := range h.book.Positions {
		if unknown := p.Quantity.Sub(p.InLots); !unknown.IsZero() && (p.Symbol != "GLD" || unknown.String() != "30") {
			t.Errorf("%+v", p)
		} else if p.Symbol == "GLD" && unknown.IsZero() {
			t.Error("the cost of all gold is known")
		}
	}
}
