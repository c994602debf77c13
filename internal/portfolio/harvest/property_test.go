package harvest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// randomInput is a small portfolio in which much happens within the last weeks.
func randomInput(seed uint64) Input {
	random := rand.New(rand.NewPCG(seed, 6))
	in := Input{AsOf: dayOf("2026-11-13"), Closes: map[string]price.Bar{}}
	in.Rules = lots.Rules{
		Accounts: []portfolio.Account{
			{ID: "home", Kind: portfolio.Taxable, Method: portfolio.FIFO},
			{ID: "high", Kind: portfolio.Taxable, Method: portfolio.HIFO},
			{ID: "ira", Kind: portfolio.IRA, Method: portfolio.FIFO},
			{ID: "work", Kind: portfolio.K401, Method: portfolio.FIFO},
		},
		Identical: [][]string{{"A", "B"}},
		Similar:   [][]string{{"C", "D"}},
	}
	actions := []portfolio.Action{portfolio.Buy, portfolio.Buy, portfolio.Buy, portfolio.Buy, portfolio.Reinvest, portfolio.Sell}
	for range 5 + random.IntN(25) {
		in.History = append(in.History, portfolio.Transaction{
			Date:     in.AsOf.Add(-random.IntN([]int{33, 33, 120, 800}[random.IntN(4)])),
			Account:  in.Rules.Accounts[random.IntN(4)].ID,
			Action:   actions[random.IntN(len(actions))],
			Symbol:   string(rune('A' + random.IntN(4))),
			Quantity: portfolio.NewDecimal(1+random.Int64N(20), 0),
			Price:    portfolio.NewDecimal(50+random.Int64N(100), -1),
		})
	}
	for symbol := 'A'; symbol <= 'D'; symbol++ {
		in.Closes[string(symbol)] = price.Bar{Date: in.AsOf, Close: portfolio.NewDecimal(50+random.Int64N(100), -1)}
	}
	in.Book = lots.Build(in.History, in.Rules, in.AsOf)
	return in
}

// soldNow are the disposals of one more sale on the day.
func soldNow(in Input, account, symbol string, quantity, close portfolio.Decimal, note string) []lots.Disposal {
	history := append(slices.Clone(in.History), portfolio.Transaction{
		Date: in.AsOf, Account: account, Action: portfolio.Sell, Symbol: symbol, Quantity: quantity, Price: close, Note: note,
	})
	return slices.DeleteFunc(lots.Build(history, in.Rules, in.AsOf).Disposals, func(d lots.Disposal) bool {
		return d.Sold != in.AsOf || d.Symbol != symbol || d.Account != account
	})
}

// What a candidate promises is what the book says once its sale is in the history.
func TestPropertyAgreesWithSale(t *testing.T) {
	compared, washed, unreached := 0, 0, 0
	for seed := range uint64(400) {
		in := randomInput(seed)
		for _, c := range Suggest(in).Candidates {
			place := func(l lots.Lot) bool { return l.Account == c.Account && l.Symbol == c.Ticker }
			sameDay, all := 0, portfolio.Decimal{}
			for _, l := range in.Book.Lots {
				if place(l) {
					all = all.Add(l.Quantity)
					if l.Acquired == c.Acquired {
						sameDay++
					}
				}
			}
			soldToday := slices.ContainsFunc(in.History, func(x portfolio.Transaction) bool {
				return x.Date == in.AsOf && x.Action == portfolio.Sell
			})
			if sameDay != 1 || soldToday {
				continue // the note would not name this lot alone
			}
			compared++
			var got Sale
			for _, d := range soldNow(in, c.Account, c.Ticker, c.Quantity, c.Price, "lot:"+c.Acquired.String()) {
				got.Disallowed = got.Disallowed.Add(d.Disallowed)
				got.Permanent = got.Permanent.Add(d.Permanent)
				got.Unsettled = got.Unsettled.Add(d.Unsettled)
			}
			if got.Disallowed.Cmp(c.Disallowed) != 0 || got.Permanent.Cmp(c.Permanent) != 0 || got.Unsettled.Cmp(c.Unsettled) != 0 {
				t.Fatalf("seed %d: the sale of %s of %s: %+v, promised %+v", seed, c.Ticker, c.Acquired, got, c.Sale)
			}
			if !c.Disallowed.IsZero() {
				washed++
			}
			reached := true
			for _, d := range soldNow(in, c.Account, c.Ticker, all, c.Price, "") {
				if d.Acquired == c.Acquired {
					break
				}
				reached = reached && d.Gain().Sign() <= 0
			}
			if reached != c.FIFOReaches {
				t.Fatalf("seed %d: %s of %s is reached: %t, promised %t", seed, c.Ticker, c.Acquired, reached, c.FIFOReaches)
			}
			if !reached {
				unreached++
			}
			unnamed := soldNow(in, c.Account, c.Ticker, c.Quantity, c.Price, "")
			first := unnamed[0].Acquired == c.Acquired
			if first != (c.SoldFirst == nil) || !first && c.SoldFirst.Acquired != unnamed[0].Acquired {
				t.Fatalf("seed %d: a sale of %s takes the lot of %s before that of %s, promised %+v", seed, c.Ticker, unnamed[0].Acquired, c.Acquired, c.SoldFirst)
			}
		}
	}
	t.Logf("%d sales compared, %d washed, %d not reached", compared, washed, unreached)
	if compared < 1000 || washed < 100 || unreached < 50 {
		t.Error("too little was compared")
	}
}

// Sums are those of their parts, and all lots together lose no more than each alone.
func TestPropertySums(t *testing.T) {
	less := 0
	for seed := range uint64(1000) {
		r := Suggest(randomInput(seed))
		var loss, disallowed portfolio.Decimal
		for _, c := range r.Candidates {
			loss, disallowed = loss.Add(c.UnrealizedLoss), disallowed.Add(c.Disallowed)
			if c.Allowed.Sub(c.Disallowed).Cmp(c.UnrealizedLoss) != 0 || c.Permanent.Cmp(c.Disallowed) > 0 || c.Disallowed.Add(c.Unsettled).Add(c.UnrealizedLoss).Sign() > 0 {
				t.Fatalf("seed %d: %+v", seed, c)
			}
		}
		all := r.IfAllSold
		if loss.Cmp(r.TotalHarvestableLoss) != 0 || r.ShortTermLoss.Add(r.LongTermLoss).Cmp(loss) != 0 || all.Allowed.Sub(all.Disallowed).Cmp(loss) != 0 {
			t.Fatalf("seed %d: %+v", seed, r)
		}
		if all.Disallowed.Sign() < 0 || all.Permanent.Sign() < 0 || all.Unsettled.Sign() < 0 || all.Disallowed.Cmp(disallowed) > 0 || all.Permanent.Cmp(all.Disallowed) > 0 {
			t.Fatalf("seed %d: alone %s, together %+v", seed, disallowed, all)
		}
		if all.Disallowed.Cmp(disallowed) < 0 {
			less++
		}
	}
	if less < 100 {
		t.Errorf("together is less than alone in %d portfolios only", less)
	}
}
