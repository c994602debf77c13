package listing

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of the lists, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^Test(WindowOpenUntil|ListGains|ListPositions|UnreadRowsAreTold)$", []mutant.Mutant{
		{Name: "a window closes a day early", File: "../lots/book.go", Old: "!last.Before(asOf)", New: "last.After(asOf)"},
		{Name: "a loss that is gone has a window", File: "../lots/book.go", Old: "d.Gain().Add(d.Disallowed).Sign() < 0 && !last", New: "d.Gain().Sign() < 0 && !last"},
		{Name: "all years are listed", File: "gains.go", Old: "if !in.wanted(d.Account, d.Symbol) || in.Year != 0 && d.Sold.Year() != in.Year {", New: "if !in.wanted(d.Account, d.Symbol) {"},
		{Name: "what is disallowed counts", File: "gains.go", Old: "if adjusted := g.Disposal.Gain().Add(g.Disposal.Disallowed); g.Long() {", New: "if adjusted := g.Disposal.Gain(); g.Long() {"},
		{Name: "other symbols are listed", File: "listing.go", Old: "&& (in.Symbol == \"\" || in.Symbol == symbol)", New: ""},
	}))
}
