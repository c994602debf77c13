package answer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
)

// CompareLots holds a broker's own lots against ours: for each symbol in an account that the broker
// has lots of, what was bought on each day. It says what differs by more than a cent. A broker does
// not know of purchases elsewhere, so its bases lack the wash sales that those make.
func (state State) CompareLots(lots []broker.Lot) (differences []string) {
	type place struct{ account, symbol string }
	type key struct {
		place
		acquired portfolio.Date
	}
	type sum struct{ quantity, basis portfolio.Decimal }
	theirs, ours, places := map[key]sum{}, map[key]sum{}, map[place]bool{}
	for _, l := range lots {
		at := place{l.Account, l.Symbol}
		places[at] = true
		s := theirs[key{at, l.Acquired}]
		theirs[key{at, l.Acquired}] = sum{s.quantity.Add(l.Quantity), s.basis.Add(l.Basis)}
	}
	for _, l := range state.Book.Lots {
		if at := (place{l.Account, l.Symbol}); places[at] {
			s := ours[key{at, l.Acquired}]
			ours[key{at, l.Acquired}] = sum{s.quantity.Add(l.Quantity), s.basis.Add(l.Basis)}
		}
	}
	say := func(s sum) string {
		if s.quantity.IsZero() {
			return "none"
		}
		return fmt.Sprintf("%s shares and a basis of %s", s.quantity, s.basis.Cents())
	}
	all := maps.Clone(ours)
	maps.Copy(all, theirs)
	keys := slices.SortedFunc(maps.Keys(all), func(a, b key) int {
		return cmp.Or(strings.Compare(a.account, b.account), strings.Compare(a.symbol, b.symbol), a.acquired.Compare(b.acquired))
	})
	cent := portfolio.NewDecimal(1, -2)
	for _, k := range keys {
		a, b := ours[k], theirs[k]
		if a.quantity.Cmp(b.quantity) != 0 || a.basis.Sub(b.basis).Abs().Cmp(cent) > 0 {
			differences = append(differences, fmt.Sprintf("%s in %s, bought on %s: ours have %s, the broker's %s", k.symbol, k.account, k.acquired, say(a), say(b)))
		}
	}
	return differences
}
