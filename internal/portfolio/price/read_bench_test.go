package price_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// canonicalRows is a canonical file of so many symbols and days, day by day, so that it has to be
// sorted.
func canonicalRows(symbols, days int) []byte {
	var b bytes.Buffer
	b.WriteString("date,symbol,open,high,low,close,adj_close\n")
	day := portfolio.NewDate(1990, 1, 1)
	for range days {
		for s := range symbols {
			fmt.Fprintf(&b, "%s,SYM%d,100.%02d,102.5,99.125,101.%02d,98.765432\n", day, s, s%100, s%100)
		}
		day = price.NextSession(day)
	}
	return b.Bytes()
}

func BenchmarkReadMillion(b *testing.B) {
	file := canonicalRows(200, 5000)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := price.Read(bytes.NewReader(file), "")
		if err != nil || len(f.Quotes) != 1_000_000 || len(f.Skipped) > 0 {
			b.Fatal(err, len(f.Quotes), f.Skipped)
		}
	}
}
