package broker

import (
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// fidelity reads Fidelity's history of one account or of all. What a row does is a sentence that
// begins with one of a few phrases. The account is its number, where there is such a column.
func (r *reading) fidelity(t *table, c columns) error {
	r.file.Format = Fidelity
	if !c.has("account") && !c.has("account number") && r.options.Account == "" {
		return ErrNoAccount
	}
	if !c.has("account") && !c.has("account number") {
		r.account = r.options.Account
	}
	return r.each(t, c, func(row *cells) entry {
		action := strings.ToUpper(row.get("action"))
		e := entry{
			action: action, symbol: row.get("symbol"), quantity: row.number("quantity"), price: row.number("price"),
			fees: row.number("commission").Abs().Add(row.number("fees").Abs()), amount: row.number("amount"),
			date: row.day("run date"), name: row.get("security description", "description"),
		}
		if account, err := r.mustHaveAccount(row.get("account number", "account")); err == nil {
			e.account = account
		} else if row.err == nil {
			row.err = err
		}
		e.does, e.why = fidelityDeed(action)
		e.from, e.event = fidelityOrigin(action)
		e.unlike = e.does == splits && strings.HasPrefix(action, "DISTRIBUTION")
		if d, found := asOf(action); found && e.does != splits {
			e.booked, e.date = e.date, d
		}
		if currency := strings.ToUpper(row.get("currency")); currency != "" && currency != "USD" && e.symbol != "" {
			e.does, e.why = other, otherCurrency
		}
		return e
	})
}

// fidelityOrigin reads the parent in "SPINOFF FROM:(GE )", and the number of a reorganisation in
// "#REOR M0051234560001", whose last digits count its rows.
func fidelityOrigin(action string) (from, event string) {
	if _, rest, found := strings.Cut(action, "FROM:("); found {
		symbol, _, closed := strings.Cut(rest, ")")
		if symbol = strings.TrimSpace(symbol); closed && portfolio.IsSymbol(symbol) && ticker(symbol) {
			from = symbol
		}
	}
	const counts = 4
	if _, rest, found := strings.Cut(action, "#REOR "); found {
		if event, _, _ = strings.Cut(rest, " "); len(event) > 2*counts {
			event = event[:len(event)-counts]
		}
	}
	return from, event
}

// asOf is the day in "REINVESTMENT as of 01/30/2024 …": when the row took effect, where that is
// before the day on which it was booked.
func asOf(action string) (portfolio.Date, bool) {
	_, rest, found := strings.Cut(action, " AS OF ")
	if !found {
		return portfolio.Date{}, false
	}
	word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	d, err := day(word)
	return d, err == nil
}

// fidelityDeed goes by what an action begins with. The first phrase that fits counts, so longer
// ones come before shorter ones.
func fidelityDeed(action string) (does deed, why string) {
	for _, p := range []struct {
		phrase string
		does   deed
		why    string
	}{
		{"YOU BOUGHT OPENING TRANSACTION", opens, ""},
		{"YOU BOUGHT CLOSING TRANSACTION", untracked, optionsRow},
		{"YOU SOLD OPENING TRANSACTION", untracked, optionsRow},
		{"YOU SOLD CLOSING TRANSACTION", untracked, optionsRow},
		{"YOU BOUGHT ASSIGNED", other, assigned},
		{"YOU SOLD ASSIGNED", other, assigned},
		{"YOU BOUGHT EXERCISED", other, assigned},
		{"YOU SOLD EXERCISED", other, assigned},
		{"YOU SOLD SHORT SALE", short, ""},
		{"YOU BOUGHT SHORT COVER", short, ""},
		{"YOU BOUGHT CANCEL", other, cancelled},
		{"YOU SOLD CANCEL", other, cancelled},
		{"BUY CANCEL", other, cancelled},
		{"SELL CANCEL", other, cancelled},
		{"YOU BOUGHT", buys, ""},
		{"YOU SOLD", sells, ""},
		{"REINVESTMENT", reinvests, ""},
		{"DIVIDEND RECEIVED", pays, ""},
		{"LONG-TERM CAP GAIN", pays, ""},
		{"SHORT-TERM CAP GAIN", pays, ""},
		{"TRANSFERRED FROM", moves, ""},
		{"TRANSFERRED TO", moves, ""},
		{"TRANSFER OF ASSETS", moves, ""},
		{"JOURNALED", moves, ""},
		{"CONV TO ROTH", moves, ""},
		{"ROTH CONVERSION", moves, ""},
		{"NORMAL DISTR", moves, ""},
		{"DISTRIBUTION SPINOFF", spins, ""},
		{"SPINOFF", spins, ""},
		{"SPIN-OFF", spins, ""},
		{"DISTRIBUTION", splits, ""},
		{"STOCK SPLIT", splits, ""},
		{"FORWARD SPLIT", splits, ""},
		{"REVERSE SPLIT", reverses, ""},
		{"MERGER", merges, ""},
		{"EXCHANGED TO", other, reorganised},
		{"NAME CHANGE", renames, ""},
		{"TENDERED", other, reorganised},
		{"IN LIEU OF FRX SHARE", other, inLieu},
		{"RETURN OF CAPITAL", returns, ""},
		{"ASSIGNED", untracked, optionsRow},
		{"EXPIRED", untracked, optionsRow},
		{"EXERCISED", untracked, optionsRow},
		{"PURCHASE INTO CORE ACCOUNT", sweeps, ""},
		{"REDEMPTION FROM CORE ACCOUNT", sweeps, ""},
		{"INTEREST", cash, ""},
		{"MARGIN INTEREST", cash, ""},
		{"FOREIGN TAX", cash, ""},
		{"NON-RESIDENT TAX", cash, ""},
		{"FEE CHARGED", cash, ""},
		{"ADVISORY FEE", cash, ""},
		{"ELECTRONIC FUNDS TRANSFER", cash, ""},
		{"WIRE TRANSFER", cash, ""},
		{"DIRECT DE", cash, ""},
	} {
		if strings.HasPrefix(action, p.phrase) {
			return p.does, p.why
		}
	}
	return unclear, ""
}
