package broker

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata")

// render writes what was read, a line each, so that a change shows as a diff.
func render(f File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", f.Format)
	for _, t := range f.Transactions {
		fmt.Fprintf(&b, "%s %s %s %s %s price %s fees %s amount %s", t.Date, t.Account, t.Action, t.Symbol, t.Quantity, t.Price, t.Fees, t.Amount)
		if t.Into != "" {
			fmt.Fprintf(&b, " into %s ratio %s share %s at %s", t.Into, t.Ratio, t.BasisShare, t.IntoPrice)
		}
		if t.FreeOfCost {
			b.WriteString(" free")
		}
		if t.Order != "" {
			fmt.Fprintf(&b, " order %q", t.Order)
		}
		if !t.Time.IsZero() {
			fmt.Fprintf(&b, " at %s", t.Time)
		}
		if t.Note != "" {
			fmt.Fprintf(&b, " note %q", t.Note)
		}
		b.WriteString("\n")
	}
	for _, h := range f.Holdings {
		fmt.Fprintf(&b, "holds %s %s %s as of %q\n", h.Account, h.Symbol, h.Quantity, h.AsOf)
	}
	for _, l := range f.Lots {
		fmt.Fprintf(&b, "lot %s %s %s of %s basis %s as of %q\n", l.Account, l.Symbol, l.Quantity, l.Acquired, l.Basis, l.AsOf)
	}
	for _, s := range f.Skipped {
		how := "skipped"
		if !s.Known {
			how = fmt.Sprintf("UNREAD (%s %s %s)", s.Date, s.Account, s.Symbol)
		}
		fmt.Fprintf(&b, "%s line %d: %s\n    %s\n", how, s.Line, s.Reason, s.Text)
	}
	return b.String()
}

func samples(t testing.TB) []string {
	var names []string
	for _, pattern := range []string{"*.csv", "*.json", "*.xml", "*.ofx"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 10 {
		t.Fatalf("only %d sample files", len(names))
	}
	return names
}

// What is read of each sample file is in the file beside it.
func TestSamples(t *testing.T) {
	for _, name := range samples(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			in, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			options := Options{}
			if strings.HasSuffix(name, "_one.csv") {
				options.Account = "given"
			}
			file, err := Read(in, options)
			if err != nil {
				t.Fatal(err)
			}
			got := render(file)
			if *update {
				if err := os.WriteFile(name+".golden", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A file that is none of the formats, or says too little, is refused with what to do about it.
func TestRefused(t *testing.T) {
	const header = "date,account,action,symbol,quantity\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "empty"},
		{"blank lines", "\n \r\n", "empty"},
		{"UTF-16", "\xff\xfed\x00a\x00t\x00e\x00", "save it as CSV in UTF-8"},
		{"UTF-16 without a mark", "d\x00a\x00t\x00e\x00", "save it as CSV in UTF-8"},
		{"spreadsheet", "PK\x03\x04\x14", "save it as CSV"},
		{"web page", "\n<!DOCTYPE html><html><body>Please log in", "web page"},
		{"other XML", "<?xml version=\"1.0\"?><feed/>", "format is not known"},
		{"refused Flex query", "<FlexStatementResponse><Status>Fail</Status></FlexStatementResponse>", "format is not known"},
		{"Flex query without statements", "<FlexQueryResponse></FlexQueryResponse>", "no statement"},
		{"cut Flex query", "<FlexQueryResponse><FlexStatements><FlexStatement accountId=\"U1\">", "download it again"},
		{"Flex query with a document type", "<!DOCTYPE x [<!ENTITY a \"b\">]><FlexQueryResponse></FlexQueryResponse>", "document type"},
		{"Flex query with an entity", "<FlexQueryResponse><FlexStatement accountId=\"&x;\"/></FlexQueryResponse>", "no whole Flex query"},
		{"deep Flex query", "<FlexQueryResponse>" + strings.Repeat("<a>", 40), "nest deeper"},
		{"sums alone", "<FlexQueryResponse><FlexStatement accountId=\"U1\"><Trades><Trade symbol=\"A\" levelOfDetail=\"SYMBOL_SUMMARY\"/></Trades></FlexStatement></FlexQueryResponse>", "choose executions"},
		{"trade confirmations", "<FlexQueryResponse><FlexStatement accountId=\"U1\"><TradeConfirm symbol=\"A\"/></FlexStatement></FlexQueryResponse>", "activity query"},
		{"long Flex element", "<FlexQueryResponse>\n<a b=\"" + strings.Repeat("x", maxLine) + "\"/></FlexQueryResponse>", "line 2: an element is longer"},
		{"bank statement", "OFXHEADER:100\n<OFX><BANKMSGSRSV1><STMTRS></STMTRS></BANKMSGSRSV1></OFX>", "no investment statement"},
		{"cut OFX", "<OFX><INVSTMTRS><BUYST", "may have been cut"},
		{"deep OFX", "<OFX>" + strings.Repeat("<A>", 200), "nest deeper"},
		{"JSON object", "{}", "format is not known"},
		{"cut JSON", `[{"date": "2024-01-02"},`, "may have been cut"},
		{"broken JSON", "[\n1,\n}]", "line 3"},
		{"two JSON arrays", "[][]", "after the end"},
		{"unknown header", "When,What,Ticker\n1,2,3\n", `it begins "When,What,Ticker"`},
		{"prices", "date,symbol,open,high,low,close,adj_close\n", "format is not known"},
		{"misspelled column", "date,account,action,symbol,quantity,fee\n", `"fee"`},
		{"nothing readable", header + "x,a,BUY,SLV,1\n", "line 2"},
		{"account column missing", "date,action,symbol,quantity\n2024-01-02,BUY,SLV,1\n", "--account"},
		{"Schwab without a title", "Date,Action,Symbol,Description,Quantity,Price,Fees & Comm,Amount\n", "--account"},
		{"E*TRADE without a title", "TransactionDate,TransactionType,SecurityType,Symbol,Quantity,Amount,Price,Commission,Description\n", "--account"},
		{"Fidelity of one account", "Run Date,Action,Symbol,Quantity,Amount\n", "--account"},
		{"Vanguard without accounts", "Trade Date,Transaction Type,Symbol,Shares,Net Amount\n", "--account"},
		{"Flex query without an account", "<FlexQueryResponse><FlexStatement accountId=\"-\"><Transfer symbol=\"A\"/></FlexStatement></FlexQueryResponse>", "--account"},
		{"OFX without an account", "<OFX><INVSTMTRS><INVBANKTRAN></INVBANKTRAN></INVSTMTRS></OFX>", "--account"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := Read(strings.NewReader(c.text), Options{})
			if err == nil {
				t.Fatalf("read as %+v", file)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want it to say %q", err, c.want)
			}
			if strings.Contains(c.want, "--account") != errors.Is(err, ErrNoAccount) {
				t.Errorf("%v is ErrNoAccount: %t", err, errors.Is(err, ErrNoAccount))
			}
			if strings.Contains(c.want, "format is not known") != errors.Is(err, ErrUnknownFormat) && !strings.Contains(c.want, "it begins") {
				t.Errorf("%v is ErrUnknownFormat: %t", err, errors.Is(err, ErrUnknownFormat))
			}
		})
	}
}

// A purchase without a price is not one for nothing; a price of 0 is.
func TestPriceIsSaid(t *testing.T) {
	file, err := Read(strings.NewReader("date,account,action,symbol,quantity,price\n2024-01-02,a,BUY,BRK/B,1,\n2024-01-03,a,BUY,BRK/B,1,0\n2024-01-03,a,SPLIT,BRK/B,2,\n"), Options{})
	if err != nil || len(file.Transactions) != 2 || len(file.Skipped) != 1 || file.Skipped[0].Line != 2 || !strings.Contains(file.Skipped[0].Reason, "a BUY has a price") {
		t.Errorf("%+v, %v", file, err)
	}
	if symbol := file.Transactions[0].Symbol; symbol != "BRK.B" {
		t.Error(symbol)
	}
}

// Fees with a minus, as some write them, would lessen the cost.
func TestFeesAreNotNegative(t *testing.T) {
	file, err := Read(strings.NewReader("date,account,action,symbol,quantity,price,fees\n2024-01-02,a,BUY,X,1,9,-5\n2024-01-02,a,BUY,X,1,9,5\n"), Options{})
	if err != nil || len(file.Transactions) != 1 || len(file.Skipped) != 1 || !strings.Contains(file.Skipped[0].Reason, "fees are zero or more") {
		t.Errorf("%+v, %v", file, err)
	}
}

// An option's account is for rows that name none, and for no others.
func TestOptionsAccount(t *testing.T) {
	text := "date,account,action,symbol,quantity,price\n2024-01-02,,BUY,SLV,1,9\n2024-01-03,mine,BUY,SLV,1,9\n"
	file, err := Read(strings.NewReader(text), Options{Account: "given"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, transaction := range file.Transactions {
		got = append(got, transaction.Account)
	}
	if diff := cmp.Diff([]string{"given", "mine"}, got); diff != "" {
		t.Error(diff)
	}
}

// The header of a canonical file may have its columns in any order and case, and leave out those
// that can be empty.
func TestCanonicalColumns(t *testing.T) {
	want := portfolio.Transaction{
		Date: portfolio.NewDate(2024, 1, 2), Account: "a", Action: portfolio.Buy, Symbol: "SLV",
		Quantity: portfolio.NewDecimal(1500, 0), Price: portfolio.NewDecimal(215, -1),
	}
	for _, text := range []string{
		"date,account,action,symbol,quantity,price,fees,note\n2024-01-02,a,BUY,SLV,1500,21.5,,\n",
		"\ufeffDATE,Account,Action,Symbol,Quantity,Price\r\n2024-01-02,a,BUY,SLV,1500,21.5",
		"quantity,price,symbol,action,account,date\n\"1,500\",$21.50,slv,Buy,a,2024-01-02\n",
		`[{"date":"2024-01-02","account":"a","action":"buy","symbol":"slv","quantity":"1,500","price":21.50}]`,
	} {
		file, err := Read(strings.NewReader(text), Options{})
		if err != nil || len(file.Transactions) != 1 {
			t.Errorf("%q: %v %+v", text, err, file.Skipped)
			continue
		}
		if diff := cmp.Diff(want, file.Transactions[0], cmp.Comparer(func(a, b portfolio.Decimal) bool { return a.Cmp(b) == 0 }), cmp.Comparer(func(a, b portfolio.Date) bool { return a == b }), cmp.Comparer(func(a, b portfolio.Clock) bool { return a == b })); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestAmount(t *testing.T) {
	for s, want := range map[string]string{
		"":             "0",
		"--":           "0",
		"1234.5":       "1234.5",
		"$1,234.50":    "1234.5",
		"-$12.00":      "-12",
		"$-12.00":      "-12",
		"($2,420.00)":  "-2420",
		"1,234,567":    "1234567",
		"+7":           "7",
		"1.5E-4":       "0.00015",
		"-1.5e2":       "-150",
		" 3 ":          "3",
		"1,5":          "not a number",
		"1,23,456":     "not a number",
		",123":         "not a number",
		"1.234,5":      "not a number",
		"--5":          "not a number",
		"(-5)":         "not a number",
		"$":            "not a number",
		"$$5":          "not a number",
		"1E99":         "not a number",
		"NaN":          "not a number",
		"12 shares":    "not a number",
		"0x10":         "not a number",
		"1E":           "not a number",
		"(5":           "not a number",
		"1,000.5,0":    "not a number",
		"-1,000,00.00": "not a number",
	} {
		n, err := amount(s)
		got := n.String()
		if err != nil {
			if !errors.Is(err, portfolio.ErrNotANumber) {
				t.Errorf("%q: %v", s, err)
			}
			got = "not a number"
		}
		if got != want {
			t.Errorf("%q is read as %s, want %s", s, got, want)
		}
	}
}

func TestDay(t *testing.T) {
	for s, want := range map[string]string{
		"01/31/2024": "2024-01-31", "1/3/2024": "2024-01-03", "01/31/24": "2024-01-31", "01-31-2024": "2024-01-31", "01-31-24": "2024-01-31",
		"Jan-31-2024": "2024-01-31", "JAN-31-2024": "2024-01-31", "2024-01-31": "2024-01-31", "20240131": "2024-01-31", "02/29/2024": "2024-02-29",
		"": "", "31/01/2024": "", "02/30/2024": "", "2024": "", "01/31": "", "1/2/3/4": "", "//": "", "01//2024": "", "a/b/c": "", "01/001/2024": "",
		"+1/02/2024": "", "01/02/20244": "", "Foo-01-2024": "", "2024013": "", "01/ 2/2024": "",
	} {
		d, err := day(s)
		if got := d.String(); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is read as %q (%v), want %q", s, got, err, want)
		}
	}
}

// The splitter and encoding/csv agree on all that the latter takes.
func TestTableAgainstEncodingCSV(t *testing.T) {
	for _, text := range []string{
		"a,b,c\n1,2,3\n", "a,b,c\r\n1,2,3", "\"a\",\"b\"\n", "\"a,b\",c\n", "\"a\"\"b\",c\r\n", "\"a\nb\",c\nd,e\n", ",,\n", "a,\"\"\n", "\"\",\"\"\"\"\n", "\n\na,b\n\n",
		"x,\"1\r\n2\",y\nz,z,z\n",
	} {
		reader := csv.NewReader(strings.NewReader(text))
		reader.FieldsPerRecord = -1
		table := newTable(text)
		for {
			want, err := reader.Read()
			got, ok := table.next()
			if errors.Is(err, io.EOF) {
				if ok {
					t.Errorf("%q: one row more: %q", text, got.fields)
				}
				break
			}
			for i, f := range got.fields {
				got.fields[i] = strings.ReplaceAll(f, "\r\n", "\n") // as encoding/csv has it
			}
			if diff := cmp.Diff(want, got.fields); diff != "" {
				t.Errorf("%q: %s", text, diff)
			}
			if line, _ := reader.FieldPos(0); line != got.line {
				t.Errorf("%q: line %d, want %d", text, got.line, line)
			}
		}
	}
}

// A row that can't be split does not take others with it.
func TestTableFaults(t *testing.T) {
	for _, c := range []struct{ name, bad, fault string }{
		{"quote", "a,\"b", "a quote is not closed"},
		{"line", strings.Repeat("x", maxLine+1), "longer than 1 MiB"},
		{"quoted line", "\"" + strings.Repeat("x", maxLine+1) + "\"", "longer than 1 MiB"},
		{"fields", strings.Repeat(",", 300), "too many fields"},
		{"quoted fields", "\"\"" + strings.Repeat(",", 300), "too many fields"},
	} {
		table := newTable(c.bad + "\nnext,row\n")
		bad, _ := table.next()
		next, ok := table.next()
		if !strings.Contains(bad.fault, c.fault) || !ok || next.line != 2 || len(next.fields) != 2 || next.fault != "" {
			t.Errorf("%s: fault %q, then %v %+v", c.name, bad.fault, next.line, next.fields)
		}
	}
}

// What a file says reaches the terminal escaped.
func TestSkippedIsEscaped(t *testing.T) {
	text := "date,account,action,symbol,quantity,price\n2024-01-02,a,BUY,SLV,1,9\n2024-01-02,a,\x1b[31mBUY,S\x1b]0;x,\u202e1\n"
	file, err := Read(strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Skipped) != 1 || strings.ContainsAny(file.Skipped[0].Text+file.Skipped[0].Reason, "\x1b\u202e") {
		t.Errorf("%+v", file.Skipped)
	}
}

// A split that a file tells only by the shares that came has a ratio if the file has the position
// from its beginning.
func TestSettleSplits(t *testing.T) {
	const header = "Date,Action,Symbol,Description,Quantity,Price,Fees & Comm,Amount\n"
	for _, c := range []struct{ name, rows, want string }{
		{"two for one", "06/10/2024,Stock Split,A,,10,,,\n05/02/2024,Buy,A,,10,5,,-50\n", "2"},
		{"three for two", "06/10/2024,Stock Split,A,,5,,,\n05/02/2024,Buy,A,,10,5,,-50\n", "1.5"},
		{"after a sale", "06/10/2024,Stock Split,A,,54,,,\n05/03/2024,Sell,A,,-4,5,,20\n05/02/2024,Buy,A,,10,5,,-50\n", "10"},
		{"before the day's trades", "06/10/2024,Buy,A,,7,5,,-35\n06/10/2024,Stock Split,A,,10,,,\n05/02/2024,Buy,A,,10,5,,-50\n", "2"},
		{"two splits", "07/10/2024,Stock Split,A,,60,,,\n06/10/2024,Stock Split,A,,10,,,\n05/02/2024,Buy,A,,10,5,,-50\n", "2 4"},
		{"no shares", "06/10/2024,Stock Split,A,,10,,,\n05/02/2024,Buy,B,,10,5,,-50\n", ""},
		{"odd ratio", "06/10/2024,Stock Split,A,,33,,,\n05/02/2024,Buy,A,,10,5,,-50\n", ""},
		{"sold more than bought", "06/10/2024,Stock Split,A,,10,,,\n05/03/2024,Buy,A,,10,5,,-50\n05/02/2024,Sell,A,,-4,5,,20\n", ""},
		{"a row could not be read", "06/10/2024,Stock Split,A,,10,,,\n05/03/2024,Buy,A,,x,5,,-50\n05/02/2024,Buy,A,,10,5,,-50\n", ""},
	} {
		file, err := Read(strings.NewReader(header+c.rows), Options{Account: "a"})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var ratios []string
		for _, transaction := range file.Transactions {
			if transaction.Action == portfolio.Split {
				ratios = append([]string{transaction.Quantity.String()}, ratios...)
			}
		}
		if got := strings.Join(ratios, " "); got != c.want {
			t.Errorf("%s: ratios %q, want %q; skipped %+v", c.name, got, c.want, file.Skipped)
		}
		if c.want == "" && !strings.Contains(fmt.Sprint(file.Skipped), "SPLIT,A,RATIO") {
			t.Errorf("%s: the user is not told what to write: %+v", c.name, file.Skipped)
		}
	}
}

// No format takes more rows than there may be.
func TestTooManyRows(t *testing.T) {
	for _, name := range samples(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.TrimPrefix(string(text), "\ufeff"))
		full := &reading{rows: maxRows, interned: map[string]string{}, options: Options{Account: "given"}}
		if err := full.recognise(string(text)); err == nil || !strings.Contains(err.Error(), "more than 2000000 rows") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as much memory as the largest file")
	}
	if _, err := Read(endless{}, Options{}); err == nil || !strings.Contains(err.Error(), "larger than 256 MiB") {
		t.Error(err)
	}
}
