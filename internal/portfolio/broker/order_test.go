package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told is what was read of a file's transactions, a word each.
func told(t *testing.T, text string) []string {
	t.Helper()
	file, err := Read(strings.NewReader(text), Options{Account: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, transaction := range file.Transactions {
		word := fmt.Sprint(transaction.Date.String()[len("2026-"):], " ", transaction.Action, " ", transaction.Quantity)
		if !transaction.Time.IsZero() {
			word += " " + transaction.Time.String()
		}
		if transaction.Order != "" {
			word += " #" + transaction.Order
		}
		list = append(list, word)
	}
	return list
}

// Rows of one day are in the order in which they happened: a file whose dates descend is read from
// its end, and one that has no direction as it is.
func TestOrderOfRows(t *testing.T) {
	const canonical = "date,action,symbol,quantity,price\n"
	const schwab = "Date,Action,Symbol,Description,Quantity,Price,Fees & Comm,Amount\n"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"descends", schwab + "05/04/2026,Sell,A,,-5,9,,45\n05/04/2026,Buy,A,,10,9,,-90\n05/01/2026,Buy,A,,1,9,,-9\n", []string{"05-01 BUY 1", "05-04 BUY 10", "05-04 SELL 5"}},
		{
			"descends but for a day of effect",
			schwab + "05/06/2026,Buy,B,,4,9,,-36\n05/04/2026,Sell,A,,-5,9,,45\n05/04/2026,Buy,A,,10,9,,-90\n05/03/2026 as of 04/29/2026,Buy,A,,2,9,,-18\n05/01/2026,Buy,A,,1,9,,-9\n",
			[]string{"05-01 BUY 1", "04-29 BUY 2", "05-04 BUY 10", "05-04 SELL 5", "05-06 BUY 4"},
		},
		{"ascends", canonical + "2026-05-01,BUY,A,1,9\n2026-05-04,SELL,A,5,9\n2026-05-04,BUY,A,10,9\n", []string{"05-01 BUY 1", "05-04 SELL 5", "05-04 BUY 10"}},
		{"canonical that descends", canonical + "2026-05-04,SELL,A,5,9\n2026-05-04,BUY,A,10,9\n2026-05-01,BUY,A,1,9\n", []string{"05-01 BUY 1", "05-04 BUY 10", "05-04 SELL 5"}},
		{"one day", canonical + "2026-05-04,SELL,A,5,9\n2026-05-04,BUY,A,10,9\n", []string{"05-04 SELL 5", "05-04 BUY 10"}},
		{"no direction", canonical + "2026-05-04,SELL,A,5,9\n2026-05-04,BUY,A,10,9\n2026-05-01,BUY,A,1,9\n2026-05-07,BUY,A,7,9\n", []string{"05-04 SELL 5", "05-04 BUY 10", "05-01 BUY 1", "05-07 BUY 7"}},
		{
			"accounts one after another, each ascends",
			"date,account,action,symbol,quantity,price\n2026-05-04,x,SELL,A,5,9\n2026-05-05,x,BUY,A,10,9\n2026-05-01,y,BUY,A,1,9\n2026-05-02,y,BUY,A,2,9\n",
			[]string{"05-04 SELL 5", "05-05 BUY 10", "05-01 BUY 1", "05-02 BUY 2"},
		},
	} {
		if diff := cmp.Diff(c.want, told(t, c.text)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Times and orders are those of the file. A time that says nothing is none.
func TestTimes(t *testing.T) {
	flex := func(attributes string) string {
		return `<FlexQueryResponse><FlexStatement accountId="U1"><Trades><Trade assetCategory="STK" symbol="A" quantity="5" tradePrice="9" buySell="BUY" ` + attributes + `/></Trades></FlexStatement></FlexQueryResponse>`
	}
	ofx := func(times ...string) string {
		text := "<OFX><INVSTMTRS><INVACCTFROM><ACCTID>1</INVACCTFROM>"
		for i, moment := range times {
			text += fmt.Sprintf("<BUYSTOCK><INVTRAN><DTTRADE>%s</INVTRAN><SECID><UNIQUEID>1</SECID><UNITS>%d<UNITPRICE>9</BUYSTOCK>", moment, i+1)
		}
		return text + "</INVSTMTRS><STOCKINFO><SECID><UNIQUEID>1</SECID><TICKER>A</STOCKINFO></OFX>"
	}
	canonical := func(date string) string {
		return "date,action,symbol,quantity,price,order\n" + date + ",BUY,A,5,9,X-7\n"
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"Flex", flex(`tradeDate="20260504" dateTime="20260504;093005" ibOrderID="411"`), []string{"05-04 BUY 5 09:30:05 #411"}},
		{"Flex with points", flex(`tradeDate="2026-05-04" dateTime="2026-05-04, 09:30:05 EDT" orderID="412"`), []string{"05-04 BUY 5 09:30:05 #412"}},
		{"Flex by the date's letter", flex(`dateTime="20260504T093005" ibOrderID="0"`), []string{"05-04 BUY 5 09:30:05"}},
		{"Flex at midnight", flex(`tradeDate="20260504" dateTime="20260504;000000"`), []string{"05-04 BUY 5"}},
		{"Flex without a time", flex(`tradeDate="20260504" dateTime="20260504"`), []string{"05-04 BUY 5"}},
		{"Flex of the evening before", flex(`tradeDate="20260504" dateTime="20260503;203000"`), []string{"05-04 BUY 5"}},
		{"Flex with no time of day", flex(`tradeDate="20260504" dateTime="20260504;256199"`), []string{"05-04 BUY 5"}},
		{"OFX", ofx("20260504093005.000[-5:EST]", "20260504151500", "20260504120000", "20260504"), []string{"05-04 BUY 1 09:30:05", "05-04 BUY 2 15:15:00", "05-04 BUY 3", "05-04 BUY 4"}},
		{"OFX at noon", ofx("20260504120000", "20260504120000"), []string{"05-04 BUY 1", "05-04 BUY 2"}},
		{"OFX by summer and winter", ofx("20260104050000", "20260504040000"), []string{"01-04 BUY 1", "05-04 BUY 2"}},
		{"canonical", canonical("2026-05-04T10:15:00"), []string{"05-04 BUY 5 10:15:00 #X-7"}},
		{"canonical by the minute", canonical("2026-05-04 10:15"), []string{"05-04 BUY 5 10:15:00 #X-7"}},
		{"canonical without a time", canonical("2026-05-04"), []string{"05-04 BUY 5 #X-7"}},
	} {
		if diff := cmp.Diff(c.want, told(t, c.text)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// canonicalHead is the header with all columns.
var canonicalHead = strings.Join(canonicalColumns(), ",") + "\n"

// What companies decide can be written in both canonical forms.
func TestCanonicalActions(t *testing.T) {
	for row, want := range map[string]string{
		"2026-05-04,a,SPINOFF,GE,,,,,,0.25,0.2,gev,":                   "2026-05-04 a SPINOFF GE 0 price 0 fees 0 amount 0 into GEV ratio 0.25 share 0.2 at 0",
		"2026-05-04,a,MERGER,OLD,100,25,,,,,,,":                        "2026-05-04 a MERGER OLD 100 price 25 fees 0 amount 0",
		"2026-05-04,a,merger,OLD,100,,,,,0.5,,NEW,":                    "2026-05-04 a MERGER OLD 100 price 0 fees 0 amount 0 into NEW ratio 0.5 share 0 at 0",
		"2026-05-04,a,MERGER,OLD,100,3,,,,0.5,,NEW,40":                 "2026-05-04 a MERGER OLD 100 price 3 fees 0 amount 0 into NEW ratio 0.5 share 0 at 40",
		"2026-05-04,a,RENAME,FB,,,,,,,,META,":                          "2026-05-04 a RENAME FB 0 price 0 fees 0 amount 0 into META ratio 0 share 0 at 0",
		"2026-05-04,a,RETURN_OF_CAPITAL,VNQ,100,0.5,,,,,,,":            "2026-05-04 a RETURN_OF_CAPITAL VNQ 100 price 0.5 fees 0 amount 0",
		"2026-05-04,a,BUY_CALL,SLV,200,0.85,,SLV 270115C35,,,,,":       `2026-05-04 a BUY_CALL SLV 200 price 0.85 fees 0 amount 0 note "SLV 270115C35"`,
		"2026-05-04,a,TRANSFER_IN,KO,5,,,,,,,,":                        "2026-05-04 a TRANSFER_IN KO 5 price 0 fees 0 amount 0",
		"2026-05-04,a,TRANSFER_IN,KO,5,0,,,,,,,":                       "2026-05-04 a TRANSFER_IN KO 5 price 0 fees 0 amount 0 free",
		"2026-05-04,a,TRANSFER_IN,KO,5,3,,lot:2020-01-02,,,,,":         `2026-05-04 a TRANSFER_IN KO 5 price 3 fees 0 amount 0 note "lot:2020-01-02"`,
		"2026-05-04T09:30:00,a,SELL,KO,5,3,,,77,,,,":                   `2026-05-04 a SELL KO 5 price 3 fees 0 amount 0 order "77" at 09:30:00`,
		"2026-05-04,a,SPINOFF,GE,,,,,,0.25,,GEV,":                      "Form 8937",
		"2026-05-04,a,SPINOFF,GE,,,,,,0.25,1.5,GEV,":                   "Form 8937",
		"2026-05-04,a,SPINOFF,GE,,,,,,,0.2,GEV,":                       "a SPINOFF has a ratio: the shares of GEV that came for one of GE",
		"2026-05-04,a,SPINOFF,GE,,,,,,0.25,0.2,,":                      "a SPINOFF has into",
		"2026-05-04,a,RENAME,FB,,,,,,,,,":                              "a RENAME has into",
		"2026-05-04,a,MERGER,OLD,100,,,,,,,,":                          "a MERGER has a price",
		"2026-05-04,a,MERGER,OLD,,25,,,,,,,":                           "the quantity of a MERGER is more than zero",
		"2026-05-04,a,MERGER,OLD,100,,,,,,,NEW,":                       "a MERGER has a ratio",
		"2026-05-04,a,MERGER,OLD,100,3,,,,0.5,,NEW,":                   "into_price says what one share of NEW was worth",
		"2026-05-04,a,RETURN_OF_CAPITAL,VNQ,100,,,,,,,,":               "a RETURN_OF_CAPITAL has a price",
		"2026-05-04,a,BUY,VNQ,100,1,,,,2,,,":                           "has no ratio, basis_share or into_price",
		"2026-05-04T25:00:00,a,BUY,VNQ,100,1,,,,,,,":                   "no time of day",
		"2026-05-04,a,BUY,VNQ,100,1,,,,x,,,":                           `the ratio "x" is not a number`,
		"2026-05-04,a,GIFT,KO,5,3,,,,,,,":                              "IRC 1015",
		"2026-05-04,a,inherited,KO,5,3,,,,,,,":                         "1223(9)",
		"2026-05-04,a,TRANSFER_IN,KO,5,3,,Inherited from an aunt,,,,,": "1223(9)",
		"2026-05-04,a,TRANSFER_IN,KO,5,3,,a gift,,,,,":                 "IRC 1015",
		"2026-05-04,a,TRANSFER_IN,KO,5,3,,to gifting.example,,,,,":     `2026-05-04 a TRANSFER_IN KO 5 price 3 fees 0 amount 0 note "to gifting.example"`,
	} {
		names, object := canonicalColumns(), "[{"
		for i, value := range strings.Split(row, ",") {
			if i > 0 {
				object += ","
			}
			object += fmt.Sprintf("%q:%q", names[i], value)
		}
		for _, text := range []string{canonicalHead + row + "\n2026-01-01,a,BUY,Z,1,1\n", object + `},{"date":"2026-01-01","account":"a","action":"BUY","symbol":"Z","quantity":1,"price":1}]`} {
			file, err := Read(strings.NewReader(text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := render(file); !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s", row, got, want)
			}
			for _, s := range file.Skipped {
				if s.Account != "a" || s.Symbol == "" || s.Date.IsZero() && !strings.Contains(row, "T25") {
					t.Errorf("%s: it is not said what the row is about: %+v", row, s)
				}
			}
		}
	}
}

// A row that could not be read says what it is about.
func TestSubjectIsBounded(t *testing.T) {
	text := "date,account,action,symbol,quantity,price\n2026-05-04,a,BUY,A,1,1\n2026-05-04," + strings.Repeat("\x1b", 900) + ",BUY," + strings.Repeat("B", 900) + ",1,1\n"
	file, err := Read(strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Skipped) != 1 || len(file.Skipped[0].Account) > 8*maxAccount || strings.Contains(file.Skipped[0].Account, "\x1b") || file.Skipped[0].Symbol != "" {
		t.Errorf("%+v", file.Skipped)
	}
}
