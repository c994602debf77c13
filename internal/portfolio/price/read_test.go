package price_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// show writes a file as lines to compare: its format, its quotes as canonical rows, and what was
// skipped.
func show(f price.File) []string {
	s := []string{f.Format}
	for _, q := range f.Quotes {
		s = append(s, fmt.Sprintf("%s,%s,%s,%s,%s,%s,%s", q.Date, q.Symbol, q.Open, q.High, q.Low, q.Close, q.Adj))
	}
	for _, k := range f.Skipped {
		s = append(s, fmt.Sprintf("skipped %d: %s | %s", k.Line, k.Text, k.Reason))
	}
	return s
}

// readCases are files and what is in them; they also begin the fuzzing.
var readCases = []struct {
	name, symbol, in string
	want             []string
}{
	{"canonical", "", "date,symbol,open,high,low,close,adj_close\n" +
		"2024-01-03,SLV,21.33,21.40,20.97,21.02,21.02\n" +
		"2024-01-02,SLV,21.93,22.08,21.5,21.65,\n" +
		"2024-01-02,agg,98.1,98.5,98,98.25,95.123456\n",
		[]string{
			"canonical",
			"2024-01-02,AGG,98.1,98.5,98,98.25,95.123456",
			"2024-01-02,SLV,21.93,22.08,21.5,21.65,21.65",
			"2024-01-03,SLV,21.33,21.4,20.97,21.02,21.02",
		}},
	{"canonical as a spreadsheet writes it", "", "\ufeff\r\n\"Date\",\"SYMBOL\",\"Open\",\"High\",\"Low\",\"Close\",\"Adj_Close\"\r\n" +
		"\r\n" +
		" 2024-01-02 , BRK.A ,\"541,000.00\", \"545,150.5\" ,\"540,100\",\"544,000\",\"544,000\"\r\n" +
		"\"2024-01-03\",\"BRK.A\",1,1,1,1,1,,\r\n" +
		"  \r\n" +
		"Total\r\n" +
		"2024-01-03,SLV.US,1,1,1,1,1\r\n",
		[]string{
			"canonical",
			"2024-01-02,BRK.A,541000,545150.5,540100,544000,544000",
			"2024-01-03,BRK.A,1,1,1,1,1",
			"2024-01-03,SLV.US,1,1,1,1,1",
			"skipped 7: Total | the row has 1 fields of the 7 needed",
		}},
	{"canonical without its last column, in another order", "", "Symbol,Close,Date,Low,High,Open,Note\nSLV,21.65,2024-01-02,21.5,22.08,21.93,\"a \"\"note\"\", quoted\"",
		[]string{"canonical", "2024-01-02,SLV,21.93,22.08,21.5,21.65,21.65"}},
	{"rows that can't be used", "", "date,symbol,open,high,low,close,adj_close\n" +
		"2024-01-02,SLV,21.93,22.08,21.5,21.65,21.65\n" +
		"01/03/2024,SLV,21.33,21.40,20.97,21.02,21.02\n" +
		"2024-02-30,SLV,21.33,21.40,20.97,21.02,21.02\n" +
		"\n" +
		"2024-01-05,SLV,21.33,21.40,20.97\n" +
		"2024-01-05,,21.33,21.40,20.97,21.02,21.02\n" +
		"2024-01-05,S LV,21.33,21.40,20.97,21.02,21.02\n" +
		"2024-01-05,SLV,0,21.40,20.97,21.02,21.02\n" +
		"2024-01-05,SLV,21.33,21.40,-20.97,21.02,21.02\n" +
		"2024-01-05,SLV,21.33,20.40,20.97,21.02,21.02\n" +
		"2024-01-05,SLV,22.33,21.40,20.97,21.02,21.02\n" +
		"2024-01-05,SLV,21.33,21.40,20.97,20.02,21.02\n" +
		"2024-01-05,SLV,20.33,21.40,20.97,21.02,21.02\n" +
		"2024-01-05,SLV,21.33,21.40,20.97,22.02,21.02\n" +
		"2024-01-05,SLV,21.33,21.40,20.97,21.02,0.000\n" +
		"2024-01-05,SLV,21.33,21.40,20.97,x\x1b[2J,21.02\n" +
		"2024-01-05,SLV,\"12,5\",21.40,20.97,21.02,21.02\n" +
		"2024-01-05,SLV,1,021.33,21.40,20.97,21.02,21.02\n" +
		"2024-01-05,SLV,1e3,21.40,20.97,21.02,21.02\n" +
		"2024-01-05,SLV,21.33,21.40,20.97,21.02,\"21.02\n" +
		"2024-01-05,SLV,\"21\".33,21.40,20.97,21.02,21.02\n" +
		"2024-01-05,SLV,21.33,21.40,20.97,,21.02\n",
		[]string{
			"canonical",
			"2024-01-02,SLV,21.93,22.08,21.5,21.65,21.65",
			`skipped 3: 01/03/2024,SLV,21.33,21.40,20.97,21.02,21.02 | "01/03/2024" is no date; write it as YYYY-MM-DD`,
			`skipped 4: 2024-02-30,SLV,21.33,21.40,20.97,21.02,21.02 | "2024-02-30" is no day of the calendar`,
			"skipped 6: 2024-01-05,SLV,21.33,21.40,20.97 | the row has 5 fields of the 7 needed",
			"skipped 7: 2024-01-05,,21.33,21.40,20.97,21.02,21.02 | the row has no symbol",
			`skipped 8: 2024-01-05,S LV,21.33,21.40,20.97,21.02,21.02 | "S LV" is no symbol`,
			"skipped 9: 2024-01-05,SLV,0,21.40,20.97,21.02,21.02 | the open is 0; a price is more than zero",
			"skipped 10: 2024-01-05,SLV,21.33,21.40,-20.97,21.02,21.02 | the low is -20.97; a price is more than zero",
			"skipped 11: 2024-01-05,SLV,21.33,20.40,20.97,21.02,21.02 | the high 20.4 is below the low 20.97",
			"skipped 12: 2024-01-05,SLV,22.33,21.40,20.97,21.02,21.02 | the open 22.33 is not between the low 20.97 and the high 21.4",
			"skipped 13: 2024-01-05,SLV,21.33,21.40,20.97,20.02,21.02 | the close 20.02 is not between the low 20.97 and the high 21.4",
			"skipped 14: 2024-01-05,SLV,20.33,21.40,20.97,21.02,21.02 | the open 20.33 is not between the low 20.97 and the high 21.4",
			"skipped 15: 2024-01-05,SLV,21.33,21.40,20.97,22.02,21.02 | the close 22.02 is not between the low 20.97 and the high 21.4",
			"skipped 16: 2024-01-05,SLV,21.33,21.40,20.97,21.02,0.000 | the adjusted close is 0; a price is more than zero",
			"skipped 17: 2024-01-05,SLV,21.33,21.40,20.97,x\x1b[2J,21.02 | the close \"x\\x1b[2J\" is not a number",
			`skipped 18: 2024-01-05,SLV,"12,5",21.40,20.97,21.02,21.02 | the open "12,5" is not a number`,
			"skipped 19: 2024-01-05,SLV,1,021.33,21.40,20.97,21.02,21.02 | the row has 8 fields, the header 7",
			`skipped 20: 2024-01-05,SLV,1e3,21.40,20.97,21.02,21.02 | the open "1e3" is not a number`,
			"skipped 21: 2024-01-05,SLV,21.33,21.40,20.97,21.02,\"21.02 | a quote is opened and not closed on the line",
			`skipped 22: 2024-01-05,SLV,"21".33,21.40,20.97,21.02,21.02 | there is text after a closing quote: ".33,21.40,20.97,21.02,21.02"`,
			"skipped 23: 2024-01-05,SLV,21.33,21.40,20.97,,21.02 | there is no close",
		}},
	{"days that come twice", "", "date,symbol,open,high,low,close,adj_close\n" +
		"2024-01-02,SLV,1,1,1,1,0.9\n" +
		"2024-01-02,SLV,2,2,2,2,2\n" +
		"2024-01-02,AGG,5,5,5,5,5\n" +
		"bad\n" +
		"2024-01-02,SLV,1,1.0,1,1,0.90\n" +
		"2024-01-02,SLV,1,1,1,1.00,0.9\n" +
		"2024-01-02,AGG,5,5,5,5,5.00\n",
		[]string{
			"canonical",
			"2024-01-02,AGG,5,5,5,5,5",
			"2024-01-02,SLV,1,1,1,1,0.9",
			"skipped 2: 2024-01-02,SLV,1,1,1,1,0.9 | line 3 has other prices for the same day",
			"skipped 3: 2024-01-02,SLV,2,2,2,2,2 | line 6 has other prices for the same day",
			"skipped 5: bad | the row has 1 fields of the 7 needed",
		}},
	{"yahoo", "slv", "Date,Open,High,Low,Close,Adj Close,Volume\n" +
		"2024-01-02,21.930000,22.080000,21.500000,21.650000,21.650000,17054100\n" +
		"2024-01-03,null,null,null,null,null,null\n" +
		"2024-01-04,21.020000,21.210000,20.959999,21.049999,21.000000,\n",
		[]string{
			"yahoo",
			"2024-01-02,SLV,21.93,22.08,21.5,21.65,21.65",
			"2024-01-04,SLV,21.02,21.21,20.959999,21.049999,21",
			"skipped 3: 2024-01-03,null,null,null,null,null,null | there is no open",
		}},
	{"yahoo by way of pandas", "SLV", "Date,Adj Close,Close,High,Low,Open,Volume,Dividends\n2024-01-02 00:00:00-05:00,21.6,21.65,22.08,21.5,21.93,1,0.0\n2024-01-03T00:00:00.000Z,NaN,21.65,22.08,21.5,21.93,1,0.0\n",
		[]string{
			"yahoo",
			"2024-01-02,SLV,21.93,22.08,21.5,21.65,21.6",
			"skipped 3: 2024-01-03T00:00:00.000Z,NaN,21.65,22.08,21.5,21.93,1,0.0 | there is no adjusted close",
		}},
	{"stooq", "SLV", "Date,Open,High,Low,Close,Volume\r\n2024-01-02,21.93,22.08,21.5,21.65,17054100\r\n2024-01-03,21.33,21.4,20.97,21.02\r\n",
		[]string{
			"stooq",
			"2024-01-02,SLV,21.93,22.08,21.5,21.65,21.65",
			"2024-01-03,SLV,21.33,21.4,20.97,21.02,21.02",
		}},
	{"stooq-bulk", "ignored", "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n" +
		"SLV.US,D,20240131,000000,20.95,21.23,20.83,21,20021347,0\n" +
		"brk-b.us,D,20240131,000000,380,385,379,383.5,1,0\n" +
		"VOD.UK,D,20240131,000000,66,67,65.5,66.5,1,0\n" +
		"SLV.US,60,20240131,160000,20.95,21.23,20.83,21,20021347,0\n" +
		"SLV.US,D,2024013,000000,20.95,21.23,20.83,21,20021347,0\n",
		[]string{
			"stooq-bulk",
			"2024-01-31,BRK-B,380,385,379,383.5,383.5",
			"2024-01-31,SLV,20.95,21.23,20.83,21,21",
			"2024-01-31,VOD.UK,66,67,65.5,66.5,66.5",
			`skipped 5: SLV.US,60,20240131,160000,20.95,21.23,20.83,21,20021347,0 | the period "60" is not D: only daily prices are read`,
			`skipped 6: SLV.US,D,2024013,000000,20.95,21.23,20.83,21,20021347,0 | "2024013" is no date; write it as YYYY-MM-DD`,
		}},
	{"yahoo-chart", "", `{"chart":{"result":[{"meta":{"currency":"USD","symbol":"SLV","gmtoffset":-18000,"dataGranularity":"1d"},
		"timestamp":[1704205800,1704292200,null,1704465000,1704724200,1704724300,1704810600],
		"indicators":{"quote":[{"volume":[1,null,1,1,1,1,1],
			"open":[21.93000030517578,null,1,21.1,1,2,3],
			"high":[22.079999923706055,null,1,21.2,1,2,3],
			"low":[21.5,null,1,21.3,1,2,3],
			"close":[21.649999618530273,null,1,21.1,1,2,3]}],
			"adjclose":[{"adjclose":[20.123456789012345,null,1,21.1,1,null]}]}}],"error":null}}`,
		[]string{
			"yahoo-chart",
			"2024-01-02,SLV,21.93,22.08,21.5,21.65,20.123456789012344",
			"2024-01-08,SLV,1,1,1,1,1",
			"skipped 2: SLV 2024-01-03 | there is no open",
			"skipped 3: SLV  | there is no time",
			"skipped 4: SLV 2024-01-05 | the high 21.2 is below the low 21.3",
			"skipped 6: SLV 2024-01-08 | there is no adjusted close",
			"skipped 7: SLV 2024-01-09 | there is no adjusted close",
		}},
	{"yahoo-chart of a market in the east, without adjusted closes", "air.nz", "\n{\"chart\":{\"result\":[{\"meta\":{\"gmtoffset\":46800}," +
		`"timestamp":[1704315600,1704315601,99999999999999],"indicators":{"quote":[{"open":[2500,2501,1],"high":[2500,2501,1],"low":[2500,2501,1],"close":[2500,2501,1]}]}}]}}`,
		[]string{
			"yahoo-chart",
			"2024-01-04,AIR.NZ,2501,2501,2501,2501,2501",
			"skipped 1: 2024-01-04,AIR.NZ,2500,2500,2500,2500,2500 | entry 2 has other prices for the same day",
			"skipped 3: AIR.NZ  | 99999999999999 seconds from 1970 at 46800 from Greenwich is no time of a market",
		}},
	{"a header alone", "", "date,symbol,open,high,low,close,adj_close", []string{"canonical"}},
}

func TestRead(t *testing.T) {
	for _, test := range readCases {
		t.Run(test.name, func(t *testing.T) {
			file, err := price.Read(iotest.OneByteReader(strings.NewReader(test.in)), test.symbol)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, show(file)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	for _, test := range []struct {
		name, in string
		is       error
		text     string
	}{
		{"empty", "", price.ErrEmpty, "there is nothing in it"},
		{"blank", "\ufeff \r\n\n", price.ErrEmpty, "there is nothing in it"},
		{"web page", " \n<!DOCTYPE html>\n<html>", price.ErrWebPage, "this is a web page, not prices"},
		{"web page on one line", "<html>" + strings.Repeat("x", 2<<20), price.ErrWebPage, "this is a web page, not prices"},
		{"another header", "When,Price\n2024-01-02,3\n", price.ErrUnknownFormat, `it begins with "When,Price"; known are CSV files with the columns date,symbol,open`},
		{"no header", "2024-01-02,SLV,1,1,1,1,1\n", price.ErrUnknownFormat, `it begins with "2024-01-02,SLV,1,1,1,1,1"`},
		{"hostile header", "\x1b]0;x\x07" + strings.Repeat("y", 500), price.ErrUnknownFormat, `it begins with "\x1b]0;x\ay`},
		{"broken header", `"date,symbol`, price.ErrUnknownFormat, "it begins with"},
		{"a column twice", "date,symbol,open,high,low,close,Close\n", price.ErrUnknownFormat, "date,symbol,open,high,low,close,Close"},
		{"two symbols", "date,symbol,ticker,open,high,low,close\n", price.ErrUnknownFormat, "date,symbol,ticker"},
		{"long first line", strings.Repeat("z", 2<<20), price.ErrUnknownFormat, "it begins with"},
		{"UTF-16", "\xff\xfed\x00a\x00t\x00e\x00", price.ErrUnknownFormat, "save it as UTF-8"},
		{"no symbol", "Date,Open,High,Low,Close,Adj Close,Volume\n", price.ErrNoSymbol, "name the symbol"},
		{"no symbol in a chart", `{"chart":{"result":[{}]}}`, price.ErrNoSymbol, "name the symbol"},
		{"JSON of another kind", `{"prices":[]}`, price.ErrUnknownFormat, `JSON without Yahoo's chart; it begins with "{\"prices\":[]}"`},
		{"JSON that ends early", `{"chart":{"result":[{"meta":`, price.ErrUnknownFormat, "the JSON is broken or not whole"},
		{"JSON with a text for a number", `{"chart":{"result":[{"timestamp":["x"]}]}}`, price.ErrUnknownFormat, `"timestamp" can't be a JSON string`},
		{"chart of no symbol", `{"chart":{"result":null,"error":{"code":"Not Found","description":"No data found, symbol may be delisted"}}}`, nil, "No data found, symbol may be delisted"},
		{"chart by weeks", `{"chart":{"result":[{"meta":{"symbol":"SLV","dataGranularity":"1wk"}}]}}`, nil, `one price for each "1wk"`},
		{"JSON that is too large", `{"chart":` + strings.Repeat(" ", 9<<20), price.ErrTooLarge, "JSON of more than 8388608 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := price.Read(strings.NewReader(test.in), "")
			if err == nil {
				t.Fatalf("it read %v", show(file))
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
			if !strings.Contains(err.Error(), test.text) || len(err.Error()) > 900 {
				t.Errorf("the error is\n%.2000s\nwant\n%s", err, test.text)
			}
		})
	}
}

func TestReadSymbolThatIsNone(t *testing.T) {
	if _, err := price.Read(strings.NewReader("Date,Open,High,Low,Close,Volume\n"), "a b"); err == nil || err.Error() != `"A B" is no symbol` {
		t.Errorf("the error is %v", err)
	}
}

// A file that can't be read to its end gives no prices, rather than some.
func TestReadFailingReader(t *testing.T) {
	broken := errors.New("the disk is broken")
	for _, begin := range []string{"", "date,symb", "date,symbol,open,high,low,close\n2024-01-02,SLV,1,1,1,1\n", `{"chart":`} {
		file, err := price.Read(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(broken)), "SLV")
		if !errors.Is(err, broken) || file.Quotes != nil {
			t.Errorf("%q: %v, %v", begin, file, err)
		}
	}
}

// repeated is a text again and again, n bytes in all.
func repeated(text string, n int) io.Reader {
	return io.LimitReader(&repeater{text: text}, int64(n))
}

type repeater struct {
	text string
	at   int
}

func (r *repeater) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], r.text[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.text)
	}
	return n, nil
}

func TestReadBoundsLines(t *testing.T) {
	in := "Date,Open,High,Low,Close,Volume\n" +
		"2024-01-02,1,1,1,1,1\n" +
		"2024-01-03,1,1,1,1," + strings.Repeat("1", 3<<20) + "\n" +
		"2024-01-04,1,1,1,1,1\n" +
		strings.Repeat("2", 1<<20+1)
	file, err := price.Read(strings.NewReader(in), "SLV")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"stooq",
		"2024-01-02,SLV,1,1,1,1,1",
		"2024-01-04,SLV,1,1,1,1,1",
		"skipped 3: 2024-01-03,1,1,1,1," + strings.Repeat("1", 101) + " | the line is longer than 1048576 bytes",
		"skipped 5: " + strings.Repeat("2", 120) + " | the line is longer than 1048576 bytes",
	}
	if diff := cmp.Diff(want, show(file)); diff != "" {
		t.Error(diff)
	}
}

func TestReadBoundsInput(t *testing.T) {
	const most = 256 << 20
	header := "Date,Open,High,Low,Close,Volume\n"
	line := strings.Repeat("x", 1<<19) + "\n"
	file, err := price.Read(io.MultiReader(strings.NewReader(header), repeated(line, most-len(header))), "SLV")
	if err != nil || len(file.Skipped) != 512 {
		t.Errorf("at the limit: %d skipped, %v", len(file.Skipped), err)
	}
	_, err = price.Read(io.MultiReader(strings.NewReader(header), repeated(line, most-len(header)+1)), "SLV")
	if !errors.Is(err, price.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
}

func TestReadBoundsSkipped(t *testing.T) {
	file, err := price.Read(io.MultiReader(strings.NewReader("Date,Open,High,Low,Close,Volume\n"), repeated("x\n", 2*10_007)), "SLV")
	if err != nil || len(file.Skipped) != 10_000 || file.More != 7 {
		t.Errorf("%d skipped and %d more, %v", len(file.Skipped), file.More, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, test := range readCases {
		f.Add(test.in, test.symbol)
	}
	f.Fuzz(func(t *testing.T, in, symbol string) {
		file, err := price.Read(strings.NewReader(in), symbol)
		if err != nil {
			return
		}
		rows := "date,symbol,open,high,low,close,adj_close\n" + strings.Join(show(price.File{Quotes: file.Quotes})[1:], "\n")
		again, err := price.Read(strings.NewReader(rows), "")
		if err != nil {
			t.Fatal(err)
		}
		again.Format = file.Format
		if diff := cmp.Diff(show(price.File{Format: file.Format, Quotes: file.Quotes}), show(again)); diff != "" {
			t.Errorf("written and read again: %s", diff)
		}
		for _, skipped := range file.Skipped {
			if skipped.Line < 1 || skipped.Reason == "" || len(skipped.Text) > 120 {
				t.Errorf("skipped %+v", skipped)
			}
		}
		// Of a table, every line is a quote, skipped, blank, the header, or says the same again.
		if lines := strings.Count(in, "\n") + 1; file.Format != "yahoo-chart" && len(file.Quotes)+len(file.Skipped)+file.More >= lines {
			t.Errorf("%d quotes and %d skipped of %d lines", len(file.Quotes), len(file.Skipped)+file.More, lines)
		}
	})
}
