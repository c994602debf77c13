package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

func readSample(t *testing.T, name string) (File, string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	file, err := parse(string(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return file, string(text)
}

func actionFiles() []string {
	return []string{"actions_schwab.csv", "actions_fidelity.csv", "actions_vanguard.csv", "actions_etrade.csv", "actions_flex.xml", "actions_ofx.ofx"}
}

// rowsOf counts the rows of a file that do something.
func rowsOf(format, text string) (n int) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		first, _, _ := strings.Cut(strings.TrimPrefix(line, `"`), ",")
		word, _, _ := strings.Cut(strings.Trim(first, `"`), " ")
		_, err := day(word)
		switch {
		case format == Flex:
			if strings.HasPrefix(line, "<Trade ") || strings.HasPrefix(line, "<CorporateAction ") || strings.HasPrefix(line, "<CashTransaction ") {
				n++
			}
		case format == OFX:
			if strings.Contains(line, "<INVTRAN>") {
				n++
			}
		case format == Vanguard && strings.HasPrefix(line, "12345678,"), err == nil && strings.Contains(line, ","):
			n++
		}
	}
	return n
}

// Every row of a broker's file is a transaction or a holding, or is known to do nothing, or is unread
// with account, symbol and date.
func TestEveryRowOfAnAction(t *testing.T) {
	for _, name := range actionFiles() {
		file, text := readSample(t, name)
		lines := map[int]bool{}
		whole := map[int]bool{}
		for _, s := range file.Skipped {
			lines[s.Line] = true
			if s.Known || s.Account != "" && s.Symbol != "" && !s.Date.IsZero() {
				whole[s.Line] = true
			}
			if s.Reason == "" || s.Text == "" {
				t.Errorf("%s: %+v", name, s)
			}
		}
		for line := range lines {
			if !whole[line] {
				t.Errorf("%s: line %d is unread, and nothing tells what it is about", name, line)
			}
		}
		splits, besides := map[string]bool{}, 0 // a split and a rename of one event
		for _, transaction := range file.Transactions {
			switch at := transaction.Symbol + transaction.Date.String(); transaction.Action {
			case portfolio.Split:
				splits[at] = true
			case portfolio.Rename:
				if splits[at] {
					besides++
				}
			}
		}
		if got, want := len(file.Transactions)-besides+len(file.Holdings)+len(lines), rowsOf(file.Format, text); got != want {
			t.Errorf("%s: %d rows are accounted for, of %d", name, got, want)
		}
	}
}

// What companies decided is read from each broker's file, or its symbols are unread. No advice makes
// a split of a new company.
func TestActionsOfBrokers(t *testing.T) {
	for _, name := range actionFiles() {
		file, _ := readSample(t, name)
		var got []string
		unread := map[string]string{}
		for _, s := range file.Skipped {
			if !s.Known {
				unread[s.Symbol] += s.Reason
			}
			if strings.Contains(s.Reason, "SPLIT,SPNC") {
				t.Errorf("%s: line %d advises a split of a spin-off: %s", name, s.Line, s.Reason)
			}
		}
		for _, transaction := range file.Transactions {
			switch transaction.Action {
			case portfolio.Merger, portfolio.Rename, portfolio.Split:
				got = append(got, fmt.Sprint(transaction.Action, " ", transaction.Symbol, " ", transaction.Quantity, " ", transaction.Amount, " ", transaction.Into, " ", transaction.Ratio))
			case portfolio.BuyCall:
				got = append(got, fmt.Sprint(transaction.Action, " ", transaction.Symbol, " ", transaction.Quantity))
			}
			if transaction.Symbol == "GME" || transaction.Symbol == "SPNC" || transaction.Symbol == "MIXD" && transaction.Action != portfolio.Buy {
				t.Errorf("%s: %+v", name, transaction)
			}
		}
		want := []string{"MERGER CMCO 100 2500  0", "MERGER SMCO 100 0 NEWM 0.5", "SPLIT RVSP 0.1 0  0", "RENAME OLDN 0 0 NEWN 0", "BUY_CALL SLV 200"}
		if file.Format == OFX {
			want = want[1:] // it tells the cash merger as a sale
		}
		for _, w := range want {
			if !strings.Contains("\n"+strings.Join(got, "\n")+"\n", "\n"+w+"\n") {
				t.Errorf("%s: no %s among %q", name, w, got)
			}
		}
		for _, symbol := range []string{"SPNC", "GME", "SLV"} {
			if unread[symbol] == "" {
				t.Errorf("%s: nothing of %s is unread", name, symbol)
			}
		}
		if !strings.Contains(unread["SPNC"], ",BASIS_SHARE,SPNC,") || !strings.Contains(unread["SPNC"], "Form 8937") {
			t.Errorf("%s: the spin-off is unread for %q", name, unread["SPNC"])
		}
		if unread["PARN"] == "" && unread[""] == "" {
			t.Errorf("%s: nothing says that the cost of the parent is too high", name)
		}
		if mixed := unread["MIXD"]; file.Format != OFX && !strings.Contains(mixed, ",MERGER,MIXD,40,3,,,,0.5,,NEWM,INTO_PRICE") || unread["NEWM"] == "" && file.Format != OFX {
			t.Errorf("%s: the merger for shares and cash is unread for %q", name, mixed)
		}
		var day []portfolio.Action
		for _, transaction := range file.Transactions {
			if transaction.Date == portfolio.NewDate(2026, 7, 6) && (len(day) == 0 || day[len(day)-1] != transaction.Action) {
				day = append(day, transaction.Action)
			}
		}
		if diff := cmp.Diff([]portfolio.Action{portfolio.Buy, portfolio.Sell}, day); diff != "" {
			t.Errorf("%s: the order of a day: %s", name, diff)
		}
	}
}

// schwabRows reads rows of Schwab's table: what became of them, a line each.
func schwabRows(t *testing.T, rows string) string {
	t.Helper()
	file, err := Read(strings.NewReader("Date,Action,Symbol,Description,Quantity,Price,Fees & Comm,Amount\n"+rows+"01/02/2024,Buy,ZZ,LAST ROW,1,1,,-1\n"), Options{Account: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return render(file)
}

// The rows of an event are put together, and what can't be told is not guessed.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, rows  string
		want, never []string
	}{
		{
			"two cash mergers of a day",
			"05/04/2026,Cash Merger,A,ALPHA CO,,,,$50\n05/04/2026,Cash Merger Adj,A,ALPHA CO,-5,,,\n05/04/2026,Cash Merger,B,BETA CO,,,,$90\n05/04/2026,Cash Merger Adj,B,BETA CO,-3,,,\n",
			[]string{"MERGER A 5 price 10 fees 0 amount 50", "MERGER B 3 price 30 fees 0 amount 90"},
			[]string{"UNREAD"},
		},
		{
			"two stock mergers of a day",
			"05/04/2026,Stock Merger,A,ALPHA CO,-10,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,5,,,\n05/04/2026,Stock Merger,B,BETA CO,-10,,,\n05/04/2026,Stock Merger,NB,NEW BETA,5,,,\n",
			[]string{"UNREAD (2026-05-04 a A)", "UNREAD (2026-05-04 a NA)", "UNREAD (2026-05-04 a B)", "UNREAD (2026-05-04 a NB)", "its rows are in lines 2 (A), 3 (NA), 4 (B), 5 (NB)"},
			[]string{" MERGER A"},
		},
		{
			"cash without the shares",
			"05/04/2026,Cash Merger,A,ALPHA CO,,,,$50\n",
			[]string{"UNREAD (2026-05-04 a A)", "2026-05-04,a,MERGER,A,QUANTITY,PRICE,,,,,,,"}, nil,
		},
		{
			"shares without the cash",
			"05/04/2026,Cash Merger Adj,A,ALPHA CO,-5,,,\n",
			[]string{"UNREAD (2026-05-04 a A)", "2026-05-04,a,MERGER,A,5,PRICE,,,,,,,"}, nil,
		},
		{
			"cash on one day, shares on another",
			"05/06/2026,Stock Merger,NA,NEW ALPHA,5,,,\n05/04/2026,Cash Merger,A,ALPHA CO,,,,$50\n05/04/2026,Cash Merger Adj,A,ALPHA CO,-5,,,\n",
			[]string{"UNREAD (2026-05-04 a A)", "UNREAD (2026-05-06 a NA)", "UNREAD (2026-05-06 a )", "2026-05-06,a,MERGER,OLD,QUANTITY,,,,,RATIO,,NA,"},
			[]string{"MERGER A 5 price"},
		},
		{
			"a merger for both that has cash alone",
			"05/04/2026,Cash/Stock Merger,A,ALPHA CO,-5,,,$50\n",
			[]string{"UNREAD (2026-05-04 a A)", "MERGER,A,5,10,,,,RATIO,,NEW,INTO_PRICE"}, nil,
		},
		{
			"a ratio that is none",
			"05/04/2026,Stock Merger,A,ALPHA CO,-70,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,17,,,\n",
			[]string{"UNREAD (2026-05-04 a A)", "UNREAD (2026-05-04 a NA)", "2026-05-04,a,MERGER,A,70,,,,,RATIO,,NA,"}, nil,
		},
		{
			"whole shares that may be the most of more",
			"05/04/2026,Stock Merger,A,ALPHA CO,-100,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,24,,,\n",
			[]string{"UNREAD (2026-05-04 a A)", "UNREAD (2026-05-04 a NA)", "2026-05-04,a,MERGER,A,100,,,,,RATIO,,NA,"},
			[]string{"MERGER A 100 price"},
		},
		{
			"a simple ratio, and a fraction was paid out",
			"05/08/2026,Cash In Lieu,NA,NEW ALPHA,,,,$7\n05/04/2026,Stock Merger,A,ALPHA CO,-100,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,50,,,\n",
			[]string{"2026-05-04,a,MERGER,A,100,,,,,RATIO,,NA,"}, []string{"MERGER A 100 price"},
		},
		{
			"parts of shares that tell no ratio",
			"05/04/2026,Stock Merger,A,ALPHA CO,-70,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,17.1,,,\n",
			[]string{"UNREAD (2026-05-04 a A)", "2026-05-04,a,MERGER,A,70,,,,,RATIO,,NA,"}, []string{"MERGER A 70 price"},
		},
		{
			"parts of shares that tell the ratio",
			"05/04/2026,Stock Merger,A,ALPHA CO,-100,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,24.25,,,\n",
			[]string{"MERGER A 100 price 0 fees 0 amount 0 into NA ratio 0.2425"}, []string{"UNREAD"},
		},
		{
			"a fraction was paid out",
			"05/08/2026,Cash In Lieu,NA,NEW ALPHA,,,,$7\n05/04/2026,Stock Merger,A,ALPHA CO,-100,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,24,,,\n",
			[]string{"2026-05-04,a,MERGER,A,100,,,,,RATIO,,NA,"},
			[]string{"MERGER A 100 price"},
		},
		{
			"a merger that takes cash",
			"05/04/2026,Stock Merger,A,ALPHA CO,-10,,,-$5\n05/04/2026,Stock Merger,NA,NEW ALPHA,5,,,\n",
			[]string{"UNREAD (2026-05-04 a A)"}, []string{"MERGER A 10 price"},
		},
		{
			"an old company without a ticker",
			"05/04/2026,Stock Merger,123456789,ALPHA CO XXXMERGER,-10,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,5,,,\n",
			[]string{"UNREAD (2026-05-04 a ) line 2", "UNREAD (2026-05-04 a NA) line 3", "MERGER,OLD,10,,,,,0.5,,NA,"}, []string{" MERGER "},
		},
		{
			"an old company by its name",
			"05/04/2026,Stock Merger,123456789,ALPHA CO XXXMERGER,-10,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,5,,,\n05/01/2026,Buy,A,ALPHA CO,10,1,,-10\n",
			[]string{"MERGER A 10 price 0 fees 0 amount 0 into NA ratio 0.5"}, []string{"UNREAD"},
		},
		{
			"a name that two tickers have",
			"05/04/2026,Stock Merger,123456789,ALPHA CO XXXMERGER,-10,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,5,,,\n05/01/2026,Buy,A,ALPHA CO,10,1,,-10\n05/01/2026,Buy,A.B,ALPHA CO,10,1,,-10\n",
			[]string{"UNREAD (2026-05-04 a ) line 2"}, []string{" MERGER "},
		},
		{
			"a rename of more than a name",
			"05/04/2026,Name Change,A,ALPHA CO,-10,,,\n05/04/2026,Name Change,NA,NEW ALPHA,5,,,\n",
			[]string{"UNREAD (2026-05-04 a A)", "UNREAD (2026-05-04 a NA)", "2026-05-04,a,RENAME,A,,,,,,,,NA,"}, nil,
		},
		{
			"half a rename",
			"05/04/2026,Name Change,NA,NEW ALPHA,5,,,\n",
			[]string{"UNREAD (2026-05-04 a NA)", "UNREAD (2026-05-04 a )", "2026-05-04,a,RENAME,OLD,,,,,,,,NA,"}, nil,
		},
		{
			"a reverse split that changes the symbol",
			"05/04/2026,Reverse Split,A,ALPHA CO,-100,,,\n05/04/2026,Reverse Split,NA,NEW ALPHA,5,,,\n",
			[]string{"SPLIT A 0.05", "RENAME A 0 price 0 fees 0 amount 0 into NA"}, []string{"UNREAD"},
		},
		{
			"a reverse split with a fraction",
			"05/04/2026,Reverse Split,A,ALPHA CO,-105,,,\n05/04/2026,Reverse Split,A,ALPHA CO,5,,,\n",
			[]string{"UNREAD (2026-05-04 a A)", "2026-05-04,a,SPLIT,A,RATIO,,,"}, nil,
		},
		{
			"half a reverse split",
			"05/04/2026,Reverse Split,A,ALPHA CO,5,,,\n",
			[]string{"UNREAD (2026-05-04 a A)", "2026-05-04,a,SPLIT,A,RATIO,,,"}, nil,
		},
		{
			"a spin-off",
			"05/04/2026,Spin-off,NA,NEW ALPHA,5,,,\n",
			[]string{"UNREAD (2026-05-04 a NA)", "UNREAD (2026-05-04 a )", "2026-05-04,a,SPINOFF,OLD,,,,,,RATIO,BASIS_SHARE,NA,", "Form 8937"}, []string{"SPLIT"},
		},
		{
			"capital that is taken back",
			"05/04/2026,Return of Capital,A,ALPHA CO,,,,-$5\n",
			[]string{"UNREAD (2026-05-04 a A)", "takes back capital"}, nil,
		},
		{
			"capital that looks like a dividend",
			"05/04/2026,Cash Dividend,A,ALPHA CO RETURN OF CAPITAL,,,,$5\n05/03/2026,Misc Credits,B,BETA CO RETURN OF CAPITAL,,,,$5\n",
			[]string{"UNREAD (2026-05-04 a A)", "2026-05-04,a,RETURN_OF_CAPITAL,A,SHARES,PRICE,,", "UNREAD (2026-05-03 a B)"}, []string{"DIVIDEND"},
		},
		{
			"capital for so many shares",
			"05/04/2026,Return of Capital,A,ALPHA CO,10,,,$5\n",
			[]string{"RETURN_OF_CAPITAL A 10 price 0.5 fees 0 amount 5"}, []string{"UNREAD"},
		},
		{
			"an option of another form",
			"05/04/2026,Buy to Open,ODD THING 9,,1,1,,-100\n",
			[]string{"UNREAD (2026-05-04 a ODD)", "2026-05-04,a,BUY_CALL,ODD,SHARES,,,"}, nil,
		},
		{
			"an option by its underlying",
			"05/04/2026,Buy to Open,SLV,CALL ISHARES SILVER TRUST $35 EXP 01/15/27,1,1,,-100\n",
			[]string{`BUY_CALL SLV 100 price 1 fees 0 amount 100 note "CALL ISHARES SILVER TRUST $35 EXP 01/15/27"`}, []string{"UNREAD"},
		},
		{
			"an option that came back",
			"05/04/2026,Buy to Open,SLV 01/15/2027 35.00 C,CALL,-1,1,,100\n05/04/2026,Sell to Close,SLV 01/15/2027 35.00 C,CALL,-1,1,,100\n",
			[]string{"UNREAD (2026-05-04 a SLV) line 2: it takes back", "skipped line 3: options are not tracked"}, nil,
		},
	} {
		got := schwabRows(t, c.rows)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, got)
			}
		}
		for _, never := range c.never {
			if strings.Contains(got, never) {
				t.Errorf("%s: %q in\n%s", c.name, never, got)
			}
		}
	}
}

// A split's ratio is worked out from shares that are counted right through what companies decided, or
// not at all.
func TestSplitsAfterActions(t *testing.T) {
	const split = "06/10/2026,Stock Split,A,ALPHA CO,10,,,\n"
	for _, c := range []struct{ name, rows, want string }{
		{"after a reverse split", split + "05/04/2026,Reverse Split,A,ALPHA CO,-100,,,\n05/04/2026,Reverse Split,A,ALPHA CO,10,,,\n05/01/2026,Buy,A,ALPHA CO,100,1,,-100\n", "SPLIT A 2 "},
		{"after a merger into it", split + "05/04/2026,Stock Merger,B,BETA CO,-20,,,\n05/04/2026,Stock Merger,A,ALPHA CO,10,,,\n05/01/2026,Buy,B,BETA CO,20,1,,-20\n", "SPLIT A 2 "},
		{"after a merger away", split + "05/04/2026,Cash Merger,A,ALPHA CO,-20,,,$50\n05/01/2026,Buy,A,ALPHA CO,20,1,,-20\n", "SPLIT,A,RATIO"},
		{"after a rename", split + "05/04/2026,Name Change,B,BETA CO,-10,,,\n05/04/2026,Name Change,A,ALPHA CO,10,,,\n05/01/2026,Buy,A,ALPHA CO,10,1,,-20\n", "SPLIT,A,RATIO"},
		{"after a spin-off of it", split + "05/04/2026,Spin-off,A,ALPHA CO,10,,,\n05/01/2026,Buy,A,ALPHA CO,10,1,,-20\n", "SPLIT,A,RATIO"},
		{"after capital came back", split + "05/04/2026,Return of Capital,A,ALPHA CO,10,,,$5\n05/01/2026,Buy,A,ALPHA CO,10,1,,-20\n", "SPLIT A 2 "},
	} {
		if got := schwabRows(t, c.rows); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, got)
		}
	}
}

// What the file says of a security decides whether it is cash.
func TestMoney(t *testing.T) {
	one, none, price := portfolio.NewDecimal(1, 0), portfolio.Decimal{}, portfolio.NewDecimal(761, -1)
	for _, c := range []struct {
		symbol, name string
		price        portfolio.Decimal
		stock, want  bool
	}{
		{"SWVXX", "SCHWAB VALUE ADVANTAGE MONEY", one, false, true},
		{"SPAXX", "FIDELITY GOVERNMENT MONEY MARKET", none, false, true},
		{"SPAXX", "", one, false, true},
		{"QUSBQ", "FDIC INSURED DEPOSIT AT US BANK", one, false, true},
		{"FZFXX", "Fidelity Treasury Money-Market Fund", one, false, true},
		{"FCASH", "HELD IN FCASH", one, false, true},
		{"CASH", "", one, false, true},
		{"CORE", "CORE ACCOUNT", none, false, true},
		{"USD", "US DOLLARS", one, false, true},
		{"CASH", "PATHWARD FINANCIAL INC", price, false, false},
		{"CASH", "PATHWARD FINANCIAL INC", none, false, false},
		{"CASH", "", price, false, false},
		{"CASH", "", none, true, false},
		{"CORE", "CORE MARK HOLDING CO INC", one, false, false},
		{"USD", "PROSHARES ULTRA SEMICONDUCTORS", none, false, false},
		{"ABCXX", "SOME STOCK INC", one, false, false},
		{"PMMF", "ISHARES PRIME MONEY MARKET ETF", none, false, false},
		{"SGVT", "SCHWAB GOVERNMENT MONEY MARKET", price, false, false},
		{"ML", "MONEYLION INC", one, false, false},
	} {
		if got := isMoney(c.symbol, c.name, c.price, c.stock); got != c.want {
			t.Errorf("%s %q at %s, stock %t: %t", c.symbol, c.name, c.price, c.stock, got)
		}
	}
}

func TestOptionSymbols(t *testing.T) {
	for symbol, want := range map[string]option{
		"-SLV270115C35":           {"SLV", true, false},
		"-BRK.B270115P350":        {"BRK.B", false, true},
		"SLV270115C00035000":      {"SLV", true, false},
		"SLV   270115P00035000":   {"SLV", false, true},
		"SLV 01/16/2026 32.00 C":  {"SLV", true, false},
		"SLV 01/16/2026 32.00 P":  {"SLV", false, true},
		"SLV Jan 15 '27 $35 Call": {"SLV", true, false},
		"SLV 270115":              {"SLV", false, false},
	} {
		if got := parseOption(symbol); got != want || !optionSymbol(symbol) {
			t.Errorf("%q is read as %+v, an option %t", symbol, got, optionSymbol(symbol))
		}
	}
	for _, symbol := range []string{"SLV", "BRK.B", "912828XG8", "US46428Q1094", "C", "", "-"} {
		if optionSymbol(symbol) {
			t.Errorf("%q is taken for an option", symbol)
		}
	}
	if call, put := rightOf("C H ROBINSON WORLDWIDE"); call || put {
		t.Error("a company is taken for an option")
	}
}

// The average cost of transferred shares is that of one, unless the price says that it is that of all.
func TestCostOfTransfers(t *testing.T) {
	for _, c := range []struct{ basis, quantity, price, want int64 }{
		{20, 7, 31, 20}, {210, 10, 31, 21}, {20, 7, 0, 20}, {1500, 10, 150, 150}, {50, 4, 61, 50}, {200, 4, 61, 50}, {40, 1, 900, 40}, {0, 7, 31, 0},
	} {
		n := func(i int64) portfolio.Decimal { return portfolio.NewDecimal(i, 0) }
		if got := costOfOne(n(c.basis), n(c.quantity), n(c.price)); got.Cmp(n(c.want)) != 0 {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A Flex query that has its corporate actions in detail and in sum tells each once; sections are
// sorted each for itself.
func TestFlexSections(t *testing.T) {
	const merger = `<CorporateAction assetCategory="STK" symbol="A" description="A(US0) MERGED(Acquisition) FOR USD 5.00 PER SHARE (A, ALPHA CO, US0)" reportDate="20260505" dateTime="20260504;202500" quantity="-10" proceeds="50" type="TC" levelOfDetail="%s" />`
	const trade = `<Trade assetCategory="STK" symbol="B" tradeDate="20260201" quantity="%d" tradePrice="5" buySell="BUY" />`
	text := `<FlexQueryResponse><FlexStatement accountId="U1"><Transfers><Transfer assetCategory="STK" symbol="A" date="20260301" direction="IN" quantity="10"/></Transfers>` +
		fmt.Sprintf(merger+merger+trade+trade, "DETAIL", "SUMMARY", 1, 2) + `</FlexStatement></FlexQueryResponse>`
	want := []string{"03-01 TRANSFER_IN 10", "02-01 BUY 1", "02-01 BUY 2", "05-04 MERGER 10"}
	if diff := cmp.Diff(want, told(t, text)); diff != "" {
		t.Error(diff)
	}
}

// What a Flex query does not say in its figures, its text says.
func TestFlexMergers(t *testing.T) {
	row := func(symbol, text, quantity string) string {
		return `<CorporateAction assetCategory="STK" symbol="` + symbol + `" description="A(US0) ` + text + ` (` + symbol + `, A CO, US0)" reportDate="20260505" dateTime="20260504;202500" quantity="` + quantity + `" type="TC" />`
	}
	for _, c := range []struct{ name, rows, want, never string }{
		{"cash without proceeds", row("A", "MERGED(Acquisition) FOR USD 5.50 PER SHARE", "-10"), "2026-05-04 U1 MERGER A 10 price 5.5 fees 0 amount 55", "UNREAD"},
		{"both without proceeds", row("A", "CASH and STOCK MERGER (Acquisition) B(US1) 1 FOR 2 AND USD 3.00", "-10") + row("B", "CASH and STOCK MERGER (Acquisition) B(US1) 1 FOR 2 AND USD 3.00", "5"),
			"MERGER,A,10,PRICE,,,,0.5,,B,INTO_PRICE", " MERGER A"},
		{"two of a day, one of them half", row("A", "MERGED(Acquisition) WITH US1 1 FOR 2", "-10") + row("B", "MERGED(Acquisition) WITH US1 1 FOR 2", "5") + row("C", "MERGED(Acquisition) WITH US3 1 FOR 9", "7"),
			"MERGER A 10 price 0 fees 0 amount 0 into B ratio 0.5", "(2026-05-05 U1 B)"},
		{"a ratio that the shares contradict", row("A", "MERGED(Acquisition) WITH US1 1 FOR 2", "-10") + row("B", "MERGED(Acquisition) WITH US1 1 FOR 2", "9"), "MERGER,A,10,,,,,RATIO,,B,", " MERGER A"},
		{"a fraction that was paid out", row("A", "MERGED(Acquisition) WITH US1 2492 FOR 10000", "-10") + row("B", "MERGED(Acquisition) WITH US1 2492 FOR 10000", "2"), "2026-05-05,U1,SELL,B,0.492,PRICE,,", "ratio 0.2 "},
		{"a fraction that came", row("A", "MERGED(Acquisition) WITH US1 2492 FOR 10000", "-10") + row("B", "MERGED(Acquisition) WITH US1 2492 FOR 10000", "2.492"), "MERGER A 10 price 0 fees 0 amount 0 into B ratio 0.2492", "UNREAD"},
		{"more than should have come", row("A", "MERGED(Acquisition) WITH US1 2492 FOR 10000", "-10") + row("B", "MERGED(Acquisition) WITH US1 2492 FOR 10000", "3"), "MERGER,A,10,,,,,RATIO,,B,", " MERGER A"},
	} {
		file, err := parse(`<FlexQueryResponse><FlexStatement accountId="U1"><Trade assetCategory="STK" symbol="Z" tradeDate="20260201" quantity="1" tradePrice="5" buySell="BUY" />`+c.rows+`</FlexStatement></FlexQueryResponse>`, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := render(file); !strings.Contains(got, c.want) || strings.Contains(got, c.never) {
			t.Errorf("%s: no %q, or %q, in\n%s", c.name, c.want, c.never, got)
		}
	}
}

// Splits of one day are told apart, as are renames of which one row alone is there.
func TestFlexSplitsOfADay(t *testing.T) {
	row := func(kind, symbol, text, quantity string) string {
		return `<CorporateAction assetCategory="STK" symbol="` + symbol + `" description="` + text + ` (` + symbol + `, A CO, US0)" reportDate="20260505" dateTime="20260504;202500" quantity="` + quantity + `" type="` + kind + `" />`
	}
	file, err := parse(`<FlexQueryResponse><FlexStatement accountId="U1">`+row("FS", "A", "A(US0) SPLIT 2 FOR 1", "10")+row("FS", "B", "B(US1) SPLIT 3 FOR 1", "20")+
		row("IC", "D", "C(US2) CUSIP/ISIN CHANGE TO (US3)", "5")+row("IC", "F", "E(US4) CUSIP/ISIN CHANGE TO (US5)", "5")+row("RS", "G", "G(US6) SPLIT 1 FOR 10", "3")+row("RS", "G.OLD", "G(US6) SPLIT 1 FOR 10", "-35")+
		`</FlexStatement></FlexQueryResponse>`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := render(file)
	for _, want := range []string{"SPLIT A 2 ", "SPLIT B 3 ", "RENAME C 0 price 0 fees 0 amount 0 into D ", "RENAME E 0 price 0 fees 0 amount 0 into F ", "SPLIT G 0.1 ", "2026-05-05,U1,SELL,G,0.5,PRICE,,"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// Capital that is told as a dividend is none.
func TestCapitalAsDividend(t *testing.T) {
	for _, text := range []string{
		"For Account:,1\nTransactionDate,TransactionType,SecurityType,Symbol,Quantity,Amount,Price,Commission,Description\n09/15/26,Dividend,EQ,REIT,0,42,0,0,EXAMPLE REALTY TRUST RETURN OF CAPITAL\n09/14/26,Bought,EQ,KO,1,-1,1,0,COCA COLA CO\n",
		"<OFX><INVSTMTRS><INVACCTFROM><ACCTID>1</INVACCTFROM><INCOME><INVTRAN><DTTRADE>20260915<MEMO>Return of Capital</INVTRAN><SECID><UNIQUEID>1</SECID><INCOMETYPE>DIV<TOTAL>42</INCOME>" +
			"<BUYSTOCK><INVTRAN><DTTRADE>20260914</INVTRAN><SECID><UNIQUEID>1</SECID><UNITS>1<UNITPRICE>9</BUYSTOCK></INVSTMTRS><STOCKINFO><SECID><UNIQUEID>1</SECID><TICKER>REIT</STOCKINFO></OFX>",
	} {
		file, err := parse(text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := render(file); !strings.Contains(got, ",RETURN_OF_CAPITAL,REIT,SHARES,PRICE,,") || strings.Contains(got, "DIVIDEND") {
			t.Error(got)
		}
	}
}

// A row with a CUSIP is unread for the ticker that has its name. If nobody has, what took shares may be of
// any ticker of the account; what a purchase in the file or a price in percent explains is of none.
func TestNumberedRows(t *testing.T) {
	const bought = "05/01/2026,Buy,A,ALPHA CO,10,1,,-10\n"
	for _, c := range []struct{ name, rows, want, never string }{
		{"sold", "05/04/2026,Sell,123456789,ALPHA CO,-10,2,,20\n" + bought, "UNREAD (2026-05-04 a A)", "a 123456789)"},
		{"paid out", "05/08/2026,Cash In Lieu,123456789,NEW ALPHA XXXMERGER,,,,$7\n05/04/2026,Stock Merger,A,ALPHA CO,-100,,,\n05/04/2026,Stock Merger,NA,NEW ALPHA,50,,,\n", "UNREAD (2026-05-08 a NA)", "MERGER A 100 price"},
		{"sold by nobody's name", "05/04/2026,Sell,123456789,BETA CO,-10,2,,20\n" + bought, "UNREAD (2026-05-04 a )", "a A)"},
		{"paid out by nobody's name", "05/04/2026,Cash In Lieu,123456789,BETA CO,,,,$7\n" + bought, "UNREAD (2026-05-04 a )", "a A)"},
		{"bought", "05/04/2026,Buy,123456789,BETA CO,10,2,,-20\n" + bought, "UNREAD (2026-05-04 a 123456789)", "a )"},
		{"bought and sold", "05/05/2026,Sell,123456789,BETA CO,-10,2,,20\n05/04/2026,Buy,123456789,BETA CO,10,2,,-20\n" + bought, "UNREAD (2026-05-05 a 123456789)", "a )"},
		{"a bond that was sold", "05/04/2026,Sell,912828XG8,US TREASUR NT,-10000,99.50,,\"9,990.00\"\n" + bought, "UNREAD (2026-05-04 a 912828XG8)", "a )"},
		{"a bond that ended", "05/04/2026,Full Redemption,912828XG8,US TREASUR NT,-10000,,,\"10,000.00\"\n" + bought, "UNREAD (2026-05-04 a 912828XG8)", "a )"},
	} {
		got := schwabRows(t, c.rows)
		if !strings.Contains(got, c.want) || strings.Contains(got, c.never) {
			t.Errorf("%s: want %q and never %q in\n%s", c.name, c.want, c.never, got)
		}
	}
}

// What companies decided at IBKR and is not read is unread for the row's security and for the company that
// it began with.
func TestFlexOrigins(t *testing.T) {
	row := func(kind, category, symbol, text string) string {
		return fmt.Sprintf(`<CorporateAction accountId="U1" currency="USD" assetCategory="%s" symbol="%s" description="%s (%s, NAME, US9)" reportDate="20261005" dateTime="20261004;202500" quantity="5" type="%s" />`, category, symbol, text, symbol, kind)
	}
	for _, c := range []struct {
		row  string
		want []string
	}{
		{row("TO", "STK", "PARN.OLD", "PARN(US1) TENDERED TO US2 1 FOR 1"), []string{"PARN"}},
		{row("RI", "STK", "PARN.RTS", "PARN(US1) SUBSCRIBABLE RIGHTS ISSUE 1 FOR 4"), []string{"PARN.RTS", "PARN"}},
		{row("SO", "WAR", "PARN.WS", "PARN(US1) SPINOFF 1 FOR 4"), []string{"PARN.WS", "PARN"}},
		{row("OC", "OPT", "PARN  270115C00035000", "PARN(US1) OPTION CHANGE"), nil},
	} {
		file, err := parse(`<FlexQueryResponse><FlexStatements><FlexStatement accountId="U1"><Trades><Trade accountId="U1" currency="USD" assetCategory="STK" symbol="PARN" tradeDate="20260107" quantity="20" tradePrice="28" buySell="BUY" /></Trades><CorporateActions>`+c.row+`</CorporateActions></FlexStatement></FlexStatements></FlexQueryResponse>`, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range file.Skipped {
			if !s.Known {
				got = append(got, s.Symbol)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.row, diff)
		}
	}
}

// Few whole shares don't tell a ratio, if another gives as many and a fraction that is paid out later.
func TestRatiosOfFewShares(t *testing.T) {
	number := func(s string) portfolio.Decimal {
		d, err := portfolio.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		before, after, want string // no ratio is not told
	}{
		{"100", "200", "2"}, {"4", "8", "2"}, {"1", "2", ""}, {"3", "4", ""}, {"3", "4.5", "1.5"}, {"30", "45", "1.5"}, {"10", "30", "3"},
		{"100", "10", "0.1"}, {"100", "5", "0.05"}, {"10", "1", ""}, {"20", "1", ""}, {"2", "1", "0.5"}, {"10", "0.5", "0.05"}, {"1500", "100", "0.066666666666666667"},
	} {
		ratio, ok := usualRatio(number(c.before), number(c.after))
		if !ok {
			ratio, ok = reverseRatio(number(c.before), number(c.after))
		}
		if got := ratio.String(); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s to %s: %s, %t", c.before, c.after, got, ok)
		}
	}
}
