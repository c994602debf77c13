package exitsignal

import (
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
)

// families are symbols whose histories have to be read together: the wash-sale rule connects them, or
// a company made one of another.
type families map[string]string // a symbol and another one of its family, up to one that stands for it

func newFamilies(rules lots.Rules, history []portfolio.Transaction) families {
	f := families{}
	for _, groups := range [][][]string{rules.Identical, rules.Similar} {
		for _, group := range groups {
			for _, symbol := range group {
				f.join(group[0], symbol)
			}
		}
	}
	for i := range history {
		if into := history[i].Into; into != "" {
			f.join(history[i].Symbol, into)
		}
	}
	return f
}

// of is the symbol that stands for a symbol's family.
func (f families) of(symbol string) string {
	for {
		next, ok := f[symbol]
		if !ok {
			return symbol
		}
		symbol = next
	}
}

func (f families) join(a, b string) {
	if a, b = f.of(a), f.of(b); a != b {
		f[b] = a
	}
}
