package lots_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
)

var firstDay, _ = portfolio.ParseDate("2001-01-02")

func bought(symbol string, quantity portfolio.Decimal) portfolio.Transaction {
	return portfolio.Transaction{Date: firstDay, Account: "A", Action: portfolio.Buy, Symbol: symbol, Quantity: quantity, Price: portfolio.NewDecimal(10, 0)}
}

// Splits, mergers and spin-offs that leave next to nothing of a share, again and again, make no number
// that is too long to compute with, and lose no cost.
func TestDustStaysANumber(t *testing.T) {
	least := portfolio.NewDecimal(1, -6)
	const many = 20_000 // more than the exponents of exact numbers reach
	splits := []portfolio.Transaction{bought("S0", portfolio.NewDecimal(1, 0))}
	mergers := []portfolio.Transaction{bought("S0", portfolio.NewDecimal(1, 0))}
	for i := range many {
		day := firstDay.Add(1 + i)
		splits = append(splits, portfolio.Transaction{Date: day, Account: "A", Action: portfolio.Split, Symbol: "S0", Quantity: least})
		mergers = append(mergers, portfolio.Transaction{Date: day, Account: "A", Action: portfolio.Merger, Symbol: fmt.Sprint("S", i),
			Quantity: portfolio.NewDecimal(1, 0), Into: fmt.Sprint("S", i+1), Ratio: least})
	}
	for name, history := range map[string][]portfolio.Transaction{"splits": splits, "mergers": mergers} {
		b := lots.Build(history, lots.Rules{}, firstDay.Add(2*many))
		if len(b.Lots) != 1 || b.Lots[0].Basis.Cmp(portfolio.NewDecimal(10, 0)) != 0 || b.Lots[0].Quantity.Sign() <= 0 || b.Lots[0].Quantity.Decimals() > 18 {
			t.Errorf("%s: %+v", name, b.Lots)
		}
	}
}

// Two symbols that spin each other off double their lots with each row. It ends, and is said.
func TestSpinoffsEnd(t *testing.T) {
	history := []portfolio.Transaction{bought("S0", portfolio.NewDecimal(1, 0))}
	for i := range 200 {
		history = append(history, portfolio.Transaction{Date: firstDay.Add(1 + i), Account: "A", Action: portfolio.Spinoff, Symbol: fmt.Sprint("S", i%2),
			Into: fmt.Sprint("S", (i+1)%2), Ratio: portfolio.NewDecimal(1, 0), BasisShare: portfolio.NewDecimal(5, -1)})
	}
	b := lots.Build(history, lots.Rules{}, firstDay.Add(1000))
	if len(b.Lots) > 1_000_000 || len(b.Problems) == 0 || !strings.Contains(b.Problems[0].Text, "this SPINOFF is left out") {
		t.Errorf("%d lots, %d problems", len(b.Lots), len(b.Problems))
	}
}

// Transfers that could be put together in more ways than can be tried are left as they are, and that is
// said once.
func TestPairingEnds(t *testing.T) {
	var history []portfolio.Transaction
	for i := range 6000 {
		history = append(history,
			portfolio.Transaction{Date: firstDay, Account: "A", Action: portfolio.TransferOut, Symbol: "X", Quantity: portfolio.NewDecimal(int64(1_000_000+i)*10+5, -1)},
			portfolio.Transaction{Date: firstDay, Account: fmt.Sprint("B", i%12), Action: portfolio.TransferIn, Symbol: "X", Quantity: portfolio.NewDecimal(int64(i+1), 0)})
	}
	said := 0
	for _, p := range lots.Build(history, lots.Rules{}, firstDay).Problems {
		if strings.Contains(p.Text, "more transfers than can be put together") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("said %d times", said)
	}
}

// The fills of one order are many lots of one purchase. Its losses of a day meet another purchase in
// the order in which they are, as each alone would.
func TestLossesOfOneOrder(t *testing.T) {
	one := portfolio.NewDecimal(1, 0)
	var history []portfolio.Transaction
	for range 10 {
		fill := bought("X", one)
		fill.Order = "o1"
		history = append(history, fill)
	}
	other := bought("X", portfolio.NewDecimal(25, -1))
	other.Date = firstDay.Add(1)
	history = append(history, other)
	for range 4 {
		history = append(history, portfolio.Transaction{Date: firstDay.Add(2), Account: "A", Action: portfolio.Sell, Symbol: "X", Quantity: one, Price: portfolio.NewDecimal(9, 0)})
	}
	b := lots.Build(history, lots.Rules{}, firstDay.Add(3))
	var got []string
	for _, d := range b.Disposals {
		got = append(got, d.Disallowed.Money())
	}
	if strings.Join(got, " ") != "1.00 1.00 0.50 0.00" {
		t.Errorf("disallowed %v", got)
	}
}
