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
		if got, want := len(file.Transactions)+len(file.Holdings)+len(lines), rowsOf(file.Format, text); got != want {
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
