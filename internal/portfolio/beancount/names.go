package beancount

import (
	"fmt"
	"slices"
	"strings"
)

// A name is what something is called in the file.
type name struct{ name, of string }

// names gives names that beancount can read, no two alike, in the order of their first use.
type names struct {
	accounts    []name
	commodities []name
	parts       map[string]string // of accounts, by their ids
	used        map[string]bool   // names of parts, and of commodities
	again       map[string]int    // how often a name was wanted that another has
	byAccount   map[string]bool
	bySymbol    map[string]string
}

func newNames() *names {
	return &names{parts: map[string]string{}, used: map[string]bool{}, again: map[string]int{}, byAccount: map[string]bool{}, bySymbol: map[string]string{}}
}

// account is the name of an account's part, as Assets:Broker:Schwab:Cash.
func (n *names) account(kind, id, leaf string) string {
	part, known := n.parts[id]
	if !known {
		part = n.unique("account ", id, "Account", alphanumeric+"-", maxPart)
		n.parts[id] = part
	}
	full := kind + ":Broker:" + part + ":" + leaf
	if !n.byAccount[full] {
		n.byAccount[full] = true
		n.accounts = append(n.accounts, name{full, id})
	}
	return full
}

// fixed is an account that belongs to none of the owner's.
func (n *names) fixed(full string) string {
	if !n.byAccount[full] {
		n.byAccount[full] = true
		n.accounts = append(n.accounts, name{full, ""})
	}
	return full
}

// commodity is the name of a symbol. A name has two characters at least, begins with a letter, ends
// with a letter or digit, and is none of the words that beancount keeps for itself.
func (n *names) commodity(symbol string) string {
	if known, ok := n.bySymbol[symbol]; ok {
		return known
	}
	made := n.unique("commodity ", symbol, "X", alphanumeric+".-", maxCommodity)
	n.bySymbol[symbol] = made
	n.commodities = append(n.commodities, name{made, symbol})
	return made
}

const (
	alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	maxPart      = 64
	maxCommodity = 24
)

// unique is a name of allowed characters that nothing of its kind has yet.
func (n *names) unique(kind, text, instead, allowed string, most int) string {
	clean := strings.Map(func(c rune) rune {
		if strings.ContainsRune(allowed, c) || kind == "account " && c >= 'a' && c <= 'z' {
			return c
		}
		return '-'
	}, text)
	clean = strings.Trim(clean, "-.")
	if clean == "" || kind == "commodity " && (clean[0] < 'A' || clean[0] > 'Z') {
		clean = instead + clean
	}
	clean = strings.ToUpper(clean[:1]) + clean[1:]
	taken := func(s string) bool {
		return n.used[kind+s] || kind == "commodity " && (len(s) < 2 || slices.Contains([]string{"USD", "TRUE", "FALSE", "NULL"}, s))
	}
	const room = 6 // for a number
	if len(clean) > most {
		clean = strings.Trim(clean[:most-room], "-.")
	}
	made := clean
	for taken(made) {
		n.again[kind+clean]++
		made = fmt.Sprintf("%s-%d", strings.Trim(clean[:min(len(clean), most-room)], "-."), n.again[kind+clean])
	}
	n.used[kind+made] = true
	return made
}
