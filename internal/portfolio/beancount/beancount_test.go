package beancount

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
)

func day(s string) portfolio.Date {
	d, err := portfolio.ParseDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

var rules = lots.Rules{Accounts: []portfolio.Account{
	{ID: "schwab", Kind: portfolio.Taxable, Method: portfolio.FIFO}, {ID: "high", Kind: portfolio.Taxable, Method: portfolio.HIFO},
	{ID: "ira", Kind: portfolio.IRA, Method: portfolio.FIFO},
}}

// rows reads "date account action symbol quantity price [key=value…]".
func rows(t *testing.T, text string) (history []portfolio.Transaction) {
	t.Helper()
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		row := portfolio.Transaction{Date: day(f[0]), Account: f[1], Action: portfolio.Action(f[2]), Symbol: f[3], Quantity: usd(f[4]), Price: usd(f[5])}
		for _, extra := range f[6:] {
			key, value, _ := strings.Cut(extra, "=")
			switch key {
			case "amount":
				row.Amount = usd(value)
			case "fees":
				row.Fees = usd(value)
			case "note":
				row.Note = value
			case "into":
				row.Into = value
			case "ratio":
				row.Ratio = usd(value)
			case "share":
				row.BasisShare = usd(value)
			case "worth":
				row.IntoPrice = usd(value)
			case "free":
				row.FreeOfCost = true
			}
		}
		if err := row.Check(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		history = append(history, row)
	}
	return history
}

func export(t *testing.T, in Input) string {
	t.Helper()
	if in.AsOf.IsZero() {
		in.AsOf = day("2026-11-13")
	}
	if in.Rules.Accounts == nil {
		in.Rules = rules
	}
	in.Book = lots.Build(in.History, in.Rules, in.AsOf)
	var out bytes.Buffer
	if err := Write(&out, in); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// all has every action once.
const all = `
	2024-01-02 schwab BUY SLV 30 0 amount=500.65
	2024-01-02 schwab BUY SLV 30 16.5 fees=1
	2024-02-01 high BUY NVDA 7 500
	2024-02-02 high BUY NVDA 3 600
	2024-03-01 schwab SELL SLV 40 20 fees=0.65 note=lot:2024-01-02
	2024-03-15 schwab DIVIDEND SLV 0 0 amount=12.34
	2024-03-15 schwab REINVEST SLV 0.6 20.5667 amount=12.34
	2024-04-01 ira REINVEST F 1.5 10
	2024-06-10 high SPLIT NVDA 10 0
	2024-07-01 high SELL NVDA 40 70
	2024-08-01 high TRANSFER_OUT NVDA 60 0
	2024-08-05 schwab TRANSFER_IN NVDA 20 0
	2024-08-06 ira TRANSFER_IN NVDA 40 0
	2024-08-07 schwab TRANSFER_IN GLD 30 180 note=lot:2019-02-01
	2024-08-07 schwab TRANSFER_IN FREE 30 0 free=
	2024-08-08 schwab TRANSFER_IN DARK 30 0
	2024-08-09 schwab SELL DARK 10 4
	2024-08-10 schwab TRANSFER_OUT GLD 5 0
	2024-09-01 schwab RETURN_OF_CAPITAL GLD 25 0.5
	2024-09-02 schwab SPINOFF GLD 0 0 into=GOLD ratio=0.5 share=0.2
	2024-09-03 schwab RENAME GOLD 0 0 into=TRUE
	2024-09-04 schwab MERGER TRUE 12.5 3 into=USD ratio=2 worth=30
	2024-09-05 schwab MERGER FREE 30 7
	2024-09-06 schwab MERGER SLV 20.6 0 into=V ratio=1.5
	2024-09-07 schwab BUY_CALL V 100 2
`

func TestEveryAction(t *testing.T) {
	text := export(t, Input{History: rows(t, all), Unread: []portfolio.Unread{{Date: day("2024-05-05"), Account: "schwab", Symbol: "XYZ", Text: "Journal; \x1b[31m\n2024-01-01 open Assets:Evil", Reason: "write it"}}})
	c := check(t, text)
	for want, n := range map[string]string{
		"Assets:Broker:Schwab:Shares NVDA": "20", "Assets:Broker:Ira:Shares NVDA": "40", "Assets:Broker:High:Shares NVDA": "0", "Assets:In-Transit NVDA": "0",
		"Assets:Broker:Schwab:Shares GLD": "25", "Assets:Broker:Schwab:Unknown-Cost DARK": "20", "Assets:Broker:Schwab:Shares USD-1": "25",
		"Assets:Broker:Schwab:Shares V-1": "30.9", "Assets:Broker:Schwab:Shares SLV": "0", "Assets:Broker:Ira:Shares F-1": "1.5",
	} {
		if got := c.units[want]; got.Cmp(usd(n)) != 0 {
			t.Errorf("%s is %s, want %s", want, got, n)
		}
	}
	for _, want := range []string{
		"2024-01-02 * \"BUY\" \"SLV\"\n  Assets:Broker:Schwab:Shares  30 SLV {{500.65 USD, 2024-01-02, \"lot-1\"}}\n  Assets:Broker:Schwab:Cash  -500.65 USD\n",
		"  Assets:Broker:Schwab:Shares  -30 SLV {USD, 2024-01-02, \"lot-1\"} @ 20.00 USD\n",
		// 5,400 for 30 shares of 2019, 12.50 back, a fifth of the rest with the spin-off, of 25 shares.
		"25 GLD {143.60 USD, 2019-02-01, ",
		"2024-08-05 * \"TRANSFER_IN\" \"NVDA\"\n  Assets:In-Transit  -20 NVDA {USD, 2024-02-01, ",
		"  symbol: \"TRUE\"\n",
		"; not told: 2024-09-07 BUY_CALL in schwab: 100 of V is no position here\n",
		"; not read: 2024-05-05 | schwab | XYZ | Journal; \\x1b[31m\\n2024-01-01 open Assets:Evil | write it\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	beanCheck(t, text)
}

// A sale names the lots that the book took: by what they cost in tax, though the file has what was paid.
func TestLotsAreTheBooks(t *testing.T) {
	text := export(t, Input{History: rows(t, `
		2024-01-02 high BUY AX 10 50
		2024-03-01 high SELL AX 10 20
		2024-03-10 high BUY AX 10 20
		2024-05-01 high BUY AX 10 30
		2024-06-01 high SELL AX 10 40
	`)})
	check(t, text)
	for _, want := range []string{"  wash-sale-disallowed: 300.00 USD\n", "-10 AX {USD, 2024-03-10, \"lot-2\"} @ 40.00 USD\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// Shares of unknown cost that came before a lot are sold before it, as the book has it.
func TestUnknownCostIsTheBooks(t *testing.T) {
	text := export(t, Input{History: rows(t, `
		2024-01-02 schwab TRANSFER_IN AX 50 0
		2024-05-01 schwab BUY AX 20 30
		2024-06-03 schwab SELL AX 20 40
		2024-06-04 schwab SELL AX 31 40
	`)})
	c := check(t, text)
	if got := c.units["Assets:Broker:Schwab:Shares AX"].String(); got != "19" {
		t.Errorf("%s shares in lots\n%s", got, text)
	}
	if want := "-20 AX @ 40.00 USD\n"; !strings.Contains(text, want) {
		t.Errorf("there is no %q in\n%s", want, text)
	}
}

// The other program says the same, where it is installed.
func beanCheck(t *testing.T, text string) {
	t.Helper()
	program, err := exec.LookPath("bean-check")
	if err != nil {
		t.Log("bean-check is not installed: only our own checker has read the file")
		return
	}
	file := filepath.Join(t.TempDir(), "portfolio.beancount")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "--no-cache", file).CombinedOutput(); err != nil {
		t.Errorf("bean-check: %v\n%.3000s\n%s", err, out, text)
	}
}

// Names and notes of files stay names and notes.
func TestHostileTexts(t *testing.T) {
	history := rows(t, "2024-01-02 a BUY A 1 1\n2024-01-02 b BUY B 1 1")
	history[0].Account, history[0].Symbol, history[0].Note = `evil" 2024-01-01 open Assets:X`, `A{1`, `a "note" with \ and ; and {`
	history[1].Account, history[1].Symbol = "evil' 2024-01-01 open Assets:X", "A}1"
	text := export(t, Input{History: history})
	c := check(t, text)
	if len(c.units) != 4 {
		t.Errorf("%v", c.units)
	}
	if strings.Contains(text, "\n2024-01-01") || !strings.Contains(text, `note: "a \"note\" with \\ and ; and {"`) {
		t.Error(text)
	}
	beanCheck(t, text)
}

func TestNames(t *testing.T) {
	n := newNames()
	var got []string
	for _, s := range []string{"SLV", "F", "USD", "TRUE", "BRK.B", "912828ZT", "A^1", "A*1", strings.Repeat("W", 32), strings.Repeat("W", 31) + "X", "SLV"} {
		got = append(got, n.commodity(s))
	}
	want := []string{"SLV", "F-1", "USD-1", "TRUE-1", "BRK.B", "X912828ZT", "A-1", "A-1-1", strings.Repeat("W", 18), strings.Repeat("W", 18) + "-1", "SLV"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for id, want := range map[string]string{"schwab": "Schwab", "XXXX-3417": "XXXX-3417", "-ira 2": "Ira-2", "é": "Account"} {
		if got := n.account("Assets", id, "Cash"); got != "Assets:Broker:"+want+":Cash" {
			t.Errorf("%q is %s", id, got)
		}
	}
}

// A history that nobody made up ends with the shares that the book has, in lots that are there.
func TestPropertyAgreesWithBook(t *testing.T) {
	actions := []portfolio.Action{portfolio.Buy, portfolio.Buy, portfolio.Buy, portfolio.Buy, portfolio.Sell, portfolio.Sell, portfolio.Reinvest, portfolio.Split, portfolio.Dividend}
	compared := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 7))
		var history []portfolio.Transaction
		for range 5 + random.IntN(40) {
			row := portfolio.Transaction{
				Date: day("2026-11-13").Add(-random.IntN(700)), Account: rules.Accounts[random.IntN(3)].ID, Action: actions[random.IntN(len(actions))],
				Symbol: string(rune('A'+random.IntN(3))) + "X", Quantity: portfolio.NewDecimal(1+random.Int64N(900), -1), Price: portfolio.NewDecimal(1+random.Int64N(9000), -2),
			}
			if row.Action == portfolio.Split {
				row.Quantity, row.Price = portfolio.NewDecimal(2+random.Int64N(3), 0), portfolio.Decimal{}
			}
			if row.Action == portfolio.Sell {
				row.Date, row.Quantity = day("2026-11-13").Add(-random.IntN(60)), portfolio.NewDecimal(1+random.Int64N(200), -1)
			}
			history = append(history, row)
		}
		text := export(t, Input{History: history})
		c := check(t, text)
		book := lots.Build(history, rules, day("2026-11-13"))
		if len(book.Problems) > 0 {
			continue // what is missing is in neither
		}
		for _, p := range book.Positions {
			account := "Assets:Broker:" + strings.ToUpper(p.Account[:1]) + p.Account[1:]
			got := c.units[account+":Shares "+p.Symbol]
			if got.Cmp(p.Quantity) != 0 {
				t.Fatalf("seed %d: %s in %s: %s, want %s\n%s", seed, p.Symbol, p.Account, got, p.Quantity, text)
			}
			compared++
		}
	}
	t.Logf("%d positions compared", compared)
	if compared < 100 {
		t.Error("too little was compared")
	}
}

// With what companies decide, too, and a merger of all that is there, shares and costs are the book's.
func TestPropertyAgreesWithDecisions(t *testing.T) {
	compared, decided := 0, 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 9))
		var history []portfolio.Transaction
		on := day("2024-01-02")
		for range 30 {
			on = on.Add(35 + random.IntN(5)) // no loss is washed
			row := portfolio.Transaction{
				Date: on, Account: rules.Accounts[random.IntN(3)].ID, Action: portfolio.Buy,
				Symbol: string(rune('A'+random.IntN(3))) + "X", Quantity: portfolio.NewDecimal(1+random.Int64N(90), 0), Price: portfolio.NewDecimal(1000+random.Int64N(9000), -2),
			}
			var held portfolio.Decimal
			for _, p := range lots.Build(history, rules, on).Positions {
				if p.Account == row.Account && p.Symbol == row.Symbol {
					held = p.Quantity
				}
			}
			into := string(rune('A'+random.IntN(3))) + "Y"
			switch n := random.IntN(14); {
			case held.IsZero():
			case n < 2:
				row.Action, row.Quantity = portfolio.Sell, held.Mul(usd("0.5"))
			case n == 2:
				row.Action, row.Quantity, row.Price = portfolio.Split, usd("3"), portfolio.Decimal{}
			case n == 3:
				row.Action, row.Quantity, row.Price = portfolio.ReturnOfCapital, held, usd("2.5")
			case n == 4:
				row.Action, row.Into, row.Ratio, row.BasisShare, row.Quantity, row.Price = portfolio.Spinoff, into, usd("0.5"), usd("0.25"), portfolio.Decimal{}, portfolio.Decimal{}
			case n == 5:
				row.Action, row.Into, row.Quantity, row.Price = portfolio.Rename, into, portfolio.Decimal{}, portfolio.Decimal{}
			case n == 6:
				row.Action, row.Quantity = portfolio.Merger, held
			case n == 7:
				row.Action, row.Quantity, row.Into, row.Ratio, row.Price = portfolio.Merger, held, into, usd("1.5"), portfolio.Decimal{}
			case n == 8:
				row.Action, row.Quantity, row.Into, row.Ratio, row.Price, row.IntoPrice = portfolio.Merger, held, into, usd("0.8"), usd("4"), usd("40")
			}
			if row.Action != portfolio.Buy {
				decided++
			}
			history = append(history, row)
		}
		in := Input{History: history, AsOf: on}
		text := export(t, in)
		c := check(t, text)
		book := lots.Build(history, rules, on)
		costs := map[place]portfolio.Decimal{}
		for _, l := range book.Lots {
			at := place{l.Account, l.Symbol}
			costs[at] = costs[at].Add(l.Basis)
		}
		for _, p := range book.Positions {
			account := "Assets:Broker:" + strings.ToUpper(p.Account[:1]) + p.Account[1:] + ":Shares " + p.Symbol
			var cost portfolio.Decimal
			for name, l := range c.lots {
				if strings.HasPrefix(name, account+"lot-") && !l.quantity.IsZero() {
					cost = cost.Add(l.cost)
				}
			}
			if got := c.units[account]; got.Cmp(p.Quantity) != 0 || cost.Sub(costs[place{p.Account, p.Symbol}]).Abs().Cmp(usd("0.01")) > 0 {
				t.Fatalf("seed %d: %s in %s: %s for %s, want %s for %s; %v\n%s", seed, p.Symbol, p.Account, got, cost, p.Quantity, costs[place{p.Account, p.Symbol}], book.Problems, text)
			}
			compared++
		}
	}
	t.Logf("%d positions compared, after %d decisions and sales", compared, decided)
	if compared < 500 || decided < 1000 {
		t.Error("too little was compared")
	}
}

// With all actions in any order there are no lots taken that are not there, and everything balances.
func TestPropertyReadable(t *testing.T) {
	var longest string
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 8))
		var history []portfolio.Transaction
		for range 5 + random.IntN(60) {
			row := portfolio.Transaction{
				Date: day("2026-11-13").Add(-random.IntN(200)), Account: rules.Accounts[random.IntN(3)].ID, Action: portfolio.Actions()[random.IntN(len(portfolio.Actions()))],
				Symbol: string(rune('A'+random.IntN(3))) + "X", Quantity: portfolio.NewDecimal(1+random.Int64N(900), -1), Price: portfolio.NewDecimal(random.Int64N(9000), -2),
			}
			switch row.Action {
			case portfolio.Spinoff, portfolio.Merger, portfolio.Rename:
				row.Into = fmt.Sprintf("%cY", 'A'+random.IntN(3))
				if row.Action != portfolio.Rename {
					row.Ratio, row.IntoPrice = portfolio.NewDecimal(1+random.Int64N(40), -1), portfolio.NewDecimal(1+random.Int64N(9000), -2)
				}
				if row.Action == portfolio.Spinoff {
					row.BasisShare = portfolio.NewDecimal(1+random.Int64N(98), -2)
				}
			}
			if err := row.Check(); err != nil {
				t.Fatal(err)
			}
			history = append(history, row)
		}
		text := export(t, Input{History: history})
		check(t, text)
		if len(text) > len(longest) {
			longest = text
		}
		if seed%100 == 0 {
			beanCheck(t, text)
		}
	}
	beanCheck(t, longest)
}

// Two symbols that spin each other off double their lots with each row, and splits without end make
// numbers without end: such a history is refused.
func TestNoEnd(t *testing.T) {
	first := day("2020-01-02")
	one, half := portfolio.NewDecimal(1, 0), portfolio.NewDecimal(5, -1)
	bought := portfolio.Transaction{Date: first, Account: "A", Action: portfolio.Buy, Symbol: "S0", Quantity: one, Price: one}
	for name, next := range map[string]func(i int) portfolio.Transaction{
		"spin-offs": func(i int) portfolio.Transaction {
			return portfolio.Transaction{Action: portfolio.Spinoff, Symbol: fmt.Sprint("S", i%2), Into: fmt.Sprint("S", (i+1)%2), Ratio: one, BasisShare: half}
		},
		"splits": func(int) portfolio.Transaction {
			return portfolio.Transaction{Action: portfolio.Split, Symbol: "S0", Quantity: portfolio.NewDecimal(1, 6)}
		},
		"reverse splits": func(int) portfolio.Transaction {
			return portfolio.Transaction{Action: portfolio.Split, Symbol: "S0", Quantity: portfolio.NewDecimal(1, -6)}
		},
	} {
		history := []portfolio.Transaction{bought}
		for i := range 100 {
			row := next(i)
			row.Date, row.Account = first.Add(8*(i+1)), "A"
			history = append(history, row)
		}
		asOf := first.Add(1000)
		err := Write(&bytes.Buffer{}, Input{AsOf: asOf, History: history, Book: &lots.Book{AsOf: asOf}})
		if err == nil || !strings.Contains(err.Error(), "more lots or shares than can be written") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
