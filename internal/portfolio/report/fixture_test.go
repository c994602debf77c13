package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

var (
	today      = portfolio.NewDate(2025, time.March, 14)
	disclaimer = "This is information, not tax or investment advice. Rules of the law that are not settled are labelled as such."
)

func cents(n int64) portfolio.Decimal  { return portfolio.NewDecimal(n, -2) }
func shares(n int64) portfolio.Decimal { return portfolio.NewDecimal(n, 0) }

// series is a random walk over weekdays up to today, its 10-month mean at each month's end, and
// the turns of the rule that compares the two.
func series(random *rand.Rand, years int, start, drift, volatility float64) (prices, mean []Point, marks []Mark) {
	value := start
	var ends []float64
	exit := false
	for day := today.Add(-365 * years); !day.After(today); day = day.Add(1) {
		if wd := day.Time().Weekday(); wd == time.Saturday || wd == time.Sunday {
			continue
		}
		value *= math.Exp(drift + volatility*random.NormFloat64())
		if n := len(prices); n > 0 && prices[n-1].Date.Month() != day.Month() {
			last := prices[n-1]
			ends = append(ends, last.Value)
			if len(ends) >= 10 {
				sum := 0.0
				for _, v := range ends[len(ends)-10:] {
					sum += v
				}
				mean = append(mean, Point{last.Date, sum / 10})
				if below := last.Value < sum/10; below != exit {
					exit = below
					marks = append(marks, Mark{last.Date, exit})
				}
			}
		}
		prices = append(prices, Point{day, value})
	}
	return prices, mean, marks
}

// verdicts are what the exit tool says, by assessment.
func exit(random *rand.Rand, ticker, assessment string, years int, start, drift, volatility float64) Exit {
	e := Exit{Ticker: ticker, Assessment: assessment, Signals: []Signal{
		{Rule: "trend_sma10m", Primary: true}, {Rule: "regime_index_200d"},
	}}
	e.Prices, e.Mean, e.Marks = series(random, years, start, drift, volatility)
	flag := func(name string, severity agentformat.Severity, message string) {
		e.Flags = append(e.Flags, agentformat.Flag{Name: name, Severity: severity, Message: message})
	}
	sell := func() {
		e.Verdict += " — sell 60 of 120 shares"
		e.Actions = []string{"Sell 60 shares at the market.", "Then put a stop on the other 60 at 84.15, good till cancelled; review on 2025-04-30."}
		e.Tax = "The sale takes 2 lots: a short-term loss of $412.30 and a long-term gain of $1,830.00; $120.00 of the loss would be washed."
		flag("trade_recommended", agentformat.Info, "Recommended: sell 60 shares (50% of position)")
	}
	switch assessment {
	case "STRONG EXIT":
		e.Verdict = ticker + ": STRONG EXIT: trend and regime both say to leave"
		e.Signals[0].Triggered, e.Signals[0].Severity = true, 0.71
		e.Signals[1].Triggered, e.Signals[1].Severity = true, 0.33
		sell()
		flag("strong_exit", agentformat.Warning, "Both momentum and regime signals triggered — strong exit signal")
	case "EXIT":
		e.Verdict = ticker + ": EXIT: the trend is broken"
		e.Signals[0].Triggered, e.Signals[0].Severity = true, 0.42
		sell()
		flag("exit_signal", agentformat.Warning, "Primary momentum signal triggered — exit recommended")
	case "MONITOR":
		e.Verdict = ticker + ": MONITOR: the regime is weak"
		e.Signals[1].Triggered, e.Signals[1].Severity = true, 0.18
		flag("monitor", agentformat.Info, "Secondary signal triggered — monitoring, no action yet")
	case "ERROR":
		e.Verdict = ticker + ": ERROR: the last price is 9 sessions old"
		e.Signals[0].Error = "the last price is of 2025-03-03"
		flag("primary_rule_error", agentformat.Error, "Primary rule failed — cannot determine exit status")
	default:
		e.Verdict = ticker + ": HOLD: no rule is triggered"
		flag("hold", agentformat.Success, "No exit signals triggered — position holds")
	}
	return e
}

func candidate(symbol, account string, acquired portfolio.Date, quantity, basis, value int64) Candidate {
	return Candidate{
		Symbol: symbol, Account: account, Acquired: acquired, Long: !today.Before(acquired.LongTermFrom()),
		Quantity: shares(quantity), Basis: cents(basis), Value: cents(value), Loss: cents(basis - value),
		BuyAgain: today.Add(31), Reached: true,
	}
}

// rich is a usual portfolio with something of everything.
func rich() Data {
	random := rand.New(rand.NewPCG(1, 2))
	yes, no := true, false
	d := Data{
		AsOf: today, Generated: time.Date(2025, 3, 14, 18, 2, 0, 0, time.UTC), Disclaimer: disclaimer,
		Accounts: []portfolio.Account{
			{ID: "brokerage", Kind: portfolio.Taxable, Owner: "Ada", Method: portfolio.FIFO, Reinvest: &yes},
			{ID: "trading", Kind: portfolio.Taxable, Owner: "Ben", Method: portfolio.HIFO, Reinvest: &no},
			{ID: "ira-ada", Kind: portfolio.IRA, Owner: "Ada", Method: portfolio.FIFO},
		},
		Unread: []Unread{
			{Date: portfolio.NewDate(2024, 10, 28), Symbol: "GLD", Account: "brokerage", Reason: "a merger; write it as MERGER", Text: `"10/28/2024","Cash Merger","GLD","12"`},
			{Account: "trading", Reason: `the action "Journaled Shares" is not known`, Text: "Journaled Shares"},
		},
		Gains: []Year{
			{2023, cents(-123456), cents(845012), cents(25000), cents(0), cents(0), nil},
			{2024, cents(210099), cents(-98765), cents(75000), cents(40000), cents(1250), []string{"GLD", "TWTR"}},
			{2025, cents(-48210), cents(120000), cents(12000), cents(0), cents(0), nil},
		},
		Notes: []string{
			"MSFT in brokerage: a sale of 5 on 2021-06-01 is more than was held; the history before it is missing.",
			"IWM: the last price is of 2025-03-03, 9 sessions ago.",
			"11 of 12 positions have a history: 92% by positions, 97% by value.",
		},
	}
	assessments := map[string]string{"VXUS": "STRONG EXIT", "ARKK": "EXIT", "IWM": "ERROR", "BND": "MONITOR", "VNQ": "MONITOR"}
	for i, s := range []string{"VTI", "VXUS", "BND", "AAPL", "MSFT", "ARKK", "IWM", "VNQ", "BRK.B", "NVDA", "TLT", "GLD"} {
		drift := []float64{0.0004, -0.0002, -0.0003, 0.0006, 0.0005, -0.0012, 0.0001, 0.0002, 0.0006, 0.0022, -0.0005, 0.0005}[i]
		start := []float64{190, 58, 78, 150, 280, 62, 190, 90, 310, 14, 120, 170}[i]
		if assessments[s] == "" {
			assessments[s] = "HOLD"
		}
		e := exit(random, s, assessments[s], 3, start, drift, []float64{0.01, 0.022}[i%2])
		d.Exits = append(d.Exits, e)
		price := cents(int64(e.Prices[len(e.Prices)-1].Value * 100))
		quantity := shares(20 + random.Int64N(300))
		value := quantity.Mul(price)
		gained := value.Mul(cents(random.Int64N(60) - 25)).Round(2)
		p := Position{Symbol: s, Account: d.Accounts[i%3].ID, Quantity: quantity, InLots: quantity, Price: price, PricedOn: today}
		p.Basis, p.Short = value.Sub(gained), gained.Mul(cents(30)).Round(2)
		p.Long = gained.Sub(p.Short)
		d.Positions = append(d.Positions, p)
	}
	d.Positions[6].PricedOn = portfolio.NewDate(2025, time.March, 3)
	d.Positions[11].InLots = shares(12)
	d.Positions = append(d.Positions, Position{Symbol: "PRIVATE", Account: "trading", Quantity: portfolio.NewDecimal(12345678, -4), Basis: cents(500000)})
	d.Harvest, d.Calendar = harvest(), calendar()
	return d
}

func harvest() Harvest {
	old, recent := portfolio.NewDate(2023, time.May, 2), portfolio.NewDate(2024, time.September, 20)
	h := Harvest{
		Verdict: "$8,912 harvestable losses across 7 lots (52% long-term), 92% data coverage, wash sale risk on 2 tickers",
		Flags: []agentformat.Flag{
			{Name: "significant_harvest", Severity: agentformat.Info, Message: "$8,912 harvestable losses meets or exceeds $3,000 annual deduction limit"},
			{Name: "wash_sale_risk", Severity: agentformat.Warning, Message: "Wash sale risk on 2 tickers: ARKK, VXUS"},
		},
		Candidates: []Candidate{
			candidate("ARKK", "brokerage", old, 60, 480000, 184550),
			candidate("ARKK", "brokerage", recent, 40, 260000, 123033),
			candidate("TLT", "trading", old, 50, 520000, 431040),
			candidate("VXUS", "brokerage", recent, 100, 590000, 511020),
			candidate("BND", "ira-ada", recent, 80, 600000, 561260),
			candidate("VNQ", "trading", portfolio.NewDate(2024, time.December, 2), 30, 285000, 261000),
			candidate("BND", "brokerage", old, 40, 310000, 294000),
		},
	}
	h.Candidates[1].Washed, h.Candidates[1].Permanent = cents(68483), cents(34241)
	h.Candidates[1].WashedWithAll, h.Candidates[1].WashFree = cents(34242), portfolio.NewDate(2025, time.April, 3)
	h.Candidates[1].WashedBy = []Purchase{{"ira-ada", portfolio.NewDate(2025, time.February, 24), shares(10)}, {"trading", portfolio.NewDate(2025, time.March, 3), shares(10)}}
	h.Candidates[1].Reached = false
	h.Candidates[3].Washed = cents(31592)
	h.Candidates[3].WashedBy = []Purchase{{"brokerage", portfolio.NewDate(2025, time.February, 28), shares(40)}}
	h.Candidates[3].Reinvestments = []portfolio.Date{portfolio.NewDate(2025, time.March, 24)}
	h.Candidates[2].Unsettled = cents(44480)
	for _, c := range h.Candidates {
		h.Total = h.Total.Add(c.Loss)
		if c.Long {
			h.Long = h.Long.Add(c.Loss)
		} else {
			h.Short = h.Short.Add(c.Loss)
		}
	}
	return h
}

func calendar() []Window {
	day := func(m time.Month, d int) portfolio.Date { return portfolio.NewDate(2025, m, d) }
	return []Window{
		{"IWM", "brokerage", day(2, 21), false, cents(84210), []Purchase{{"trading", day(3, 5), shares(15)}}, nil},
		{"NVDA", "trading", day(1, 10), false, cents(12000), []Purchase{{"trading", day(1, 20), shares(3)}}, nil},
		{"GLD", "brokerage", day(3, 11), false, cents(36000), nil, []portfolio.Date{day(3, 28), day(4, 7)}},
		{"GLD", "brokerage", day(2, 14), false, cents(9000), nil, nil},
		{"ARKK", "brokerage", today, true, cents(432417), []Purchase{{"ira-ada", day(2, 24), shares(10)}, {"trading", day(3, 3), shares(10)}}, nil},
		{"VXUS", "brokerage", today, true, cents(78980), []Purchase{{"brokerage", day(2, 28), shares(40)}}, []portfolio.Date{day(3, 24)}},
	}
}

// sparse has one position, and nothing to do.
func sparse() Data {
	d := Data{
		AsOf: today, Generated: time.Date(2025, 3, 14, 18, 2, 0, 0, time.UTC), Disclaimer: disclaimer,
		Positions: []Position{{Symbol: "VTI", Account: "main", Quantity: shares(10), InLots: shares(10),
			Basis: cents(200000), Price: cents(27512), PricedOn: today, Long: cents(75120)}},
		Exits: []Exit{exit(rand.New(rand.NewPCG(3, 4)), "VTI", "HOLD", 1, 240, 0.0006, 0.009)},
		Harvest: Harvest{
			Verdict: "No tax-loss harvesting candidates found (1 positions analyzed)",
			Flags:   []agentformat.Flag{{Name: "no_candidates", Severity: agentformat.Success, Message: "No unrealized losses to harvest — all lots are at a gain or break-even"}},
		},
	}
	return d
}

const script = `<script>alert(1)</script>`

// hostile is as much as files can make of it: long names, markup, numbers without end.
func hostile() Data {
	random := rand.New(rand.NewPCG(5, 6))
	long := strings.Repeat("W", 32)
	account := `<b onmouseover="alert(1)">` + strings.Repeat("m", 38)
	huge, err := portfolio.ParseDecimal("999999999999999999.999999999999")
	if err != nil {
		panic(err)
	}
	d := Data{
		AsOf: today, Generated: time.Date(2025, 3, 14, 18, 2, 0, 0, time.UTC), Disclaimer: disclaimer,
		Accounts: []portfolio.Account{{ID: account, Kind: `"><svg/onload=alert(1)>`, Owner: strings.Repeat("O'Brien & ", 6), Method: "</td>"}},
		Gains:    []Year{{9999, huge.Neg(), huge, huge, huge, huge, []string{script}}},
		Unread:   []Unread{{Symbol: script, Account: account, Reason: script, Text: strings.Repeat("unbroken", 30)}, {Date: today}},
		Notes: []string{
			script, "a note with | pipes | and `code`, *stars*, [a link](https://example.org/) and a url(https://example.org/x)",
			"control \x1b[31m red \x00 \u202e backwards \xff\xfe", strings.Repeat("unbroken", 200), "</main></body></html>", "{{.Style}} ${x} <!-- ",
		},
		Harvest: Harvest{Verdict: script + " " + long, Total: huge, Short: huge, Long: huge,
			Flags: []agentformat.Flag{{Name: script, Severity: `"><script>`, Message: script}}},
	}
	for i := range 60 {
		symbol := fmt.Sprintf("T%02d", i)
		switch i {
		case 0:
			symbol = long
		case 1:
			symbol = "A&B|C*D_E`F"
		}
		e := exit(random, symbol, []string{"HOLD", "EXIT", "MONITOR", "ERROR", "HOLD", "HOLD"}[i%6], 3, 50, 0.0003, 0.015)
		switch i {
		case 0:
			for j := range e.Prices {
				e.Prices[j].Value *= 1e15
			}
			e.Mean[3].Value = math.NaN()
		case 2:
			e.Prices = []Point{{today.Add(-1), math.Inf(1)}, {today, math.NaN()}}
		case 4:
			e.Prices, e.Mean = nil, nil
		case 6:
			for j := range e.Prices {
				e.Prices[j].Value = 1e-9 * math.Pow(1.03, float64(j))
			}
		case 8:
			for j := range e.Prices {
				e.Prices[j].Value = 42
			}
			e.Mean = nil
		}
		d.Exits = append(d.Exits, e)
		d.Positions = append(d.Positions, Position{Symbol: symbol, Account: account, Quantity: huge, InLots: shares(1),
			Basis: huge, Price: huge, PricedOn: today, Short: huge.Neg(), Long: huge})
		c := candidate(symbol, account, today.Add(-20*i), 1, 100000*int64(60-i), 5000)
		if i == 0 {
			c.Loss, c.Basis = huge, huge
		}
		c.Washed = c.Loss.Share(shares(1), shares(3))
		c.WashedWithAll = c.Washed
		c.WashedBy = []Purchase{{account, today.Add(-3), huge}}
		d.Harvest.Candidates = append(d.Harvest.Candidates, c)
		d.Calendar = append(d.Calendar, Window{symbol, account, today.Add(-i), i%4 == 0, huge,
			[]Purchase{{account, today.Add(-i + 5), huge}}, []portfolio.Date{today.Add(12)}})
	}
	return d
}
