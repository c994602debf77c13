package broker

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/safetext"
)

// check holds whatever a file has in it.
func check(t *testing.T, text string) File {
	t.Helper()
	file, err := parse(text, Options{Account: "given"})
	if err != nil {
		if file.Format != "" {
			t.Errorf("an error and a file: %v", err)
		}
		return file
	}
	for _, transaction := range file.Transactions {
		if err := transaction.Check(); err != nil {
			t.Errorf("%+v: %v", transaction, err)
		}
	}
	lines := strings.Count(text, "\n") + 1
	for _, s := range file.Skipped {
		if s.Line < 1 || s.Line > lines || s.Reason == "" || safetext.Escape(s.Text) != s.Text || safetext.Escape(s.Reason) != s.Reason {
			t.Errorf("%+v", s)
		}
		if safetext.Escape(s.Account) != s.Account || s.Symbol != "" && !portfolio.IsSymbol(s.Symbol) || len(s.Account) > 8*maxAccount {
			t.Errorf("%+v", s)
		}
	}
	for _, h := range file.Holdings {
		if h.Account == "" || h.Symbol == "" || h.Quantity.Sign() < 0 {
			t.Errorf("%+v", h)
		}
	}
	for _, l := range file.Lots {
		if l.Account == "" || l.Symbol == "" || l.Acquired.IsZero() || l.Quantity.Sign() < 0 {
			t.Errorf("%+v", l)
		}
	}
	if again, err := parse(text, Options{Account: "given"}); err != nil || render(again) != render(file) {
		t.Errorf("read again, it is another: %v", err)
	}
	return file
}

func sample(f *testing.F, name string) string {
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		f.Fatal(err)
	}
	return string(text)
}

// fuzzTable fuzzes what stands below a header, row by row and as a whole.
func fuzzTable(f *testing.F, names ...string) {
	for _, name := range names {
		text := sample(f, name)
		f.Add(text)
		table := newTable(text)
		for {
			row, ok := table.next()
			if !ok {
				break
			}
			f.Add(row.text + "\n")
		}
	}
	first := sample(f, names[0])
	end := 0
	for table := newTable(first); ; {
		row, ok := table.next()
		if !ok {
			f.Fatalf("%s has no header", names[0])
		}
		if header(row.fields).has("symbol") {
			end = len(first) - len(table.rest)
			break
		}
	}
	head := first[:end]
	f.Fuzz(func(t *testing.T, text string) {
		check(t, text)
		check(t, head+text)
	})
}

func FuzzSchwab(f *testing.F) { fuzzTable(f, "schwab.csv", "actions_schwab.csv") }
func FuzzFidelity(f *testing.F) {
	fuzzTable(f, "fidelity.csv", "fidelity_one.csv", "actions_fidelity.csv")
}
func FuzzVanguard(f *testing.F) { fuzzTable(f, "vanguard.csv", "actions_vanguard.csv") }
func FuzzETrade(f *testing.F)   { fuzzTable(f, "etrade.csv", "etrade_new.csv", "actions_etrade.csv") }

func FuzzFlex(f *testing.F) {
	f.Add(sample(f, "flex.xml"))
	f.Add(sample(f, "actions_flex.xml"))
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}

func FuzzOFX(f *testing.F) {
	f.Add(sample(f, "sgml.ofx"))
	f.Add(sample(f, "xml.ofx"))
	f.Add(sample(f, "actions_ofx.ofx"))
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}

// What was read of a canonical file can be written and read again.
func FuzzCanonical(f *testing.F) {
	f.Add(sample(f, "canonical.csv"))
	f.Add(sample(f, "canonical.json"))
	f.Add(canonicalHead + "2026-05-04T10:15:00,a,MERGER,OLD,100,3,,,o-1,0.5,,NEW,40\n2026-05-05,a,SPINOFF,GE,,,,,,0.25,0.2,GEV,\n2026-05-05,a,TRANSFER_IN,GE,1,0\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, "date,account,action,symbol,quantity,price,fees,note\n" + text} {
			file := check(t, text)
			if file.Format != CanonicalCSV && file.Format != CanonicalJSON || len(file.Transactions) == 0 {
				continue
			}
			// By date, so that the direction is told without the rows that could not be read.
			slices.SortStableFunc(file.Transactions, func(a, b portfolio.Transaction) int { return a.Date.Compare(b.Date) })
			again, err := parse(write(file.Transactions), Options{})
			if err != nil || len(again.Skipped) > 0 {
				t.Fatalf("%v %+v", err, again.Skipped)
			}
			if diff := cmp.Diff(render(File{Transactions: file.Transactions}), render(File{Transactions: again.Transactions})); diff != "" {
				t.Error(diff)
			}
		}
	})
}

// write writes transactions as a canonical CSV.
func write(transactions []portfolio.Transaction) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{canonicalColumns()}
	for _, t := range transactions {
		date, price := t.Date.String(), t.Price.String()
		if !t.Time.IsZero() {
			date += "T" + t.Time.String()
		}
		if t.Action == portfolio.TransferIn && t.Cost().IsZero() && !t.FreeOfCost {
			price = ""
		}
		rows = append(rows, []string{
			date, t.Account, string(t.Action), t.Symbol, t.Quantity.String(), price, t.Fees.String(), t.Note,
			t.Order, t.Ratio.String(), t.BasisShare.String(), t.Into, t.IntoPrice.String(),
		})
	}
	if err := w.WriteAll(rows); err != nil {
		panic(err)
	}
	return b.String()
}

// manyRows is a canonical file of n rows.
func manyRows(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("date,account,action,symbol,quantity,price,fees,note\n")
	for range n {
		date := portfolio.NewDate(2015, time.January, 1+random.IntN(4000))
		action := []string{"BUY", "BUY", "SELL", "REINVEST", "DIVIDEND"}[random.IntN(5)]
		fmt.Fprintf(&b, "%s,account-%d,%s,SYM%d,%d.%04d,%d.%02d,%d.%02d,\n", date, random.IntN(5), action, random.IntN(500),
			1+random.IntN(500), random.IntN(10000), 1+random.IntN(900), random.IntN(100), random.IntN(5), random.IntN(100))
	}
	return b.String()
}

// BenchmarkCanonical reads 100,000 transactions; the goal is 100 ms.
func BenchmarkCanonical(b *testing.B) {
	const rows = 100_000
	text := manyRows(rows)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		file, err := Read(strings.NewReader(text), Options{})
		if err != nil || len(file.Transactions) != rows {
			b.Fatalf("%d transactions, %v, %+v", len(file.Transactions), err, file.Skipped[:1])
		}
	}
}
