package broker

import (
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// schwab reads Schwab's history. The account is in the title row, if there is one. Quantities of
// sales are negative in newer files, and not in older ones.
func (r *reading) schwab(t *table, c columns, titles []string) error {
	r.file.Format = Schwab
	account, err := r.mustHaveAccount(schwabAccount(titles))
	if err != nil {
		return err
	}
	r.account = account
	return r.each(t, c, func(row *cells) entry {
		e := entry{
			action: row.get("action"), account: account, symbol: row.get("symbol"), name: row.get("description"),
			quantity: row.number("quantity"), price: row.number("price"), fees: row.number("fees & comm"), amount: row.number("amount"),
		}
		e.does, e.why = schwabDeed(strings.ToLower(e.action))
		e.both = strings.HasPrefix(strings.ToLower(e.action), "cash/stock")
		e.booked, e.date = schwabDays(row, e.does)
		return e
	})
}

// schwabAccount finds the account in "Transactions  for account XXXX-1234 as of 01/31/2024 …".
func schwabAccount(titles []string) string {
	for _, title := range titles {
		if _, rest, found := strings.Cut(title, "for account "); found {
			account, _, _ := strings.Cut(rest, " as of ")
			return strings.Trim(account, ` "`)
		}
	}
	return ""
}

// schwabDays reads "01/31/2024 as of 01/30/2024", in which a trade took effect on the second day
// and a split, booked after the close, on the first.
func schwabDays(row *cells, does deed) (booked, effective portfolio.Date) {
	first, second, found := strings.Cut(row.get("date"), " as of ")
	booked, err := day(strings.TrimSpace(first))
	if effective = booked; found && does != splits {
		effective, err = day(strings.TrimSpace(second))
	}
	if err != nil && row.err == nil {
		row.err = err
	}
	return booked, effective
}

func schwabDeed(action string) (does deed, why string) {
	switch action {
	case "buy":
		return buys, ""
	case "sell":
		return sells, ""
	case "reinvest shares":
		return reinvests, ""
	case "cash dividend", "qualified dividend", "non-qualified div", "special dividend", "special qual div", "special non qual div",
		"reinvest dividend", "qual div reinvest", "div adjustment", "pr yr cash div", "pr yr div reinvest", "pr yr special div",
		"long term cap gain", "short term cap gain", "long term cap gain reinvest", "short term cap gain reinvest":
		return pays, ""
	case "stock split":
		return splits, ""
	case "journaled shares", "journal", "security transfer", "internal transfer", "transfer of security or option", "in-kind distribution":
		return moves, ""
	case "bank interest", "credit interest", "margin interest", "bond interest", "moneylink transfer", "moneylink deposit", "moneylink adj",
		"wire sent", "wire received", "wire funds", "wire funds received", "funds received", "funds paid", "service fee", "adr mgmt fee", "foreign tax paid",
		"foreign tax reclaim", "nra tax adj", "nra withholding", "tax withholding", "misc cash entry", "misc credits", "promotional award",
		"atm withdrawal", "visa purchase", "cash disbursement", "returned item", "adjustment", "auto s1 credit", "auto s1 debit":
		return cash, ""
	case "buy to open":
		return opens, ""
	case "buy to close", "sell to open", "sell to close", "expired", "options frwd split":
		return untracked, optionsRow
	case "assigned", "exchange or exercise":
		return other, assigned
	case "sell short", "buy to cover", "short sale":
		return short, ""
	case "return of capital":
		return returns, ""
	case "cash in lieu":
		return other, inLieu
	case "cancel buy", "cancel sell", "rev reinvest shares", "reinvestment adj":
		return other, cancelled
	case "cash merger", "cash merger adj", "stock merger", "stock merger adj", "cash/stock merger", "cash/stock merger adj":
		return merges, ""
	case "spin-off":
		return spins, ""
	case "name change", "symbol change":
		return renames, ""
	case "reverse split", "reverse split adj":
		return reverses, ""
	case "mandatory reorg exc", "tendered", "full redemption", "full redemption adj", "final cash liquid", "final cash liquid adj":
		return other, reorganised
	case "stock plan activity":
		return other, "shares of an employer's plan come without their price; write them in canonical form as BUY with their value on that day"
	}
	return unclear, ""
}
