package broker

import (
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// etrade reads the two forms of E*TRADE's history. The account is above the table.
func (r *reading) etrade(t *table, c columns, titles []string) error {
	r.file.Format = ETrade
	account, err := r.mustHaveAccount(etradeAccount(titles))
	if err != nil {
		return err
	}
	r.account = account
	date := "transactiondate"
	if c.has("activity/trade date") {
		date = "activity/trade date"
	}
	return r.each(t, c, func(row *cells) entry {
		e := entry{
			action: row.get("transactiontype", "activity type"), account: account, symbol: row.get("symbol"), name: row.get("description"), date: row.day(date),
			quantity: row.number("quantity"), price: row.number("price"), fees: row.number("commission").Abs(), amount: row.number("amount"),
		}
		e.does, e.why = etradeDeed(strings.ToLower(e.action))
		// A dividend that was reinvested is a second row of the same name, with shares.
		if e.does == pays && e.quantity.Sign() > 0 && deedOf(e.name) != returns {
			e.does = reinvests
		}
		security := strings.ToUpper(row.get("securitytype"))
		e.stock = security == "EQ"
		// An option has its underlying's symbol in newer files.
		if call, put := rightOf(e.name); (call || put || security == "OPTN") && !optionSymbol(e.symbol) {
			e.of = option{portfolio.Symbol(e.symbol), call, put}
		}
		if e.does == other && e.why == reorganised {
			if does := deedOf(e.name); does != unclear {
				e.does, e.why = does, ""
			}
		}
		e.fromName = originName(e.name)
		if security == "MMF" {
			e.does = sweeps
		}
		return e
	})
}

// etradeAccount finds the account in "For Account:,####1234" and in "Account Activity for Name
// -1234 from Current Year".
func etradeAccount(titles []string) string {
	for _, title := range titles {
		if _, rest, found := strings.Cut(title, "For Account:"); found {
			return strings.TrimSpace(rest)
		}
		if _, rest, found := strings.Cut(title, "Account Activity for "); found {
			account, _, _ := strings.Cut(rest, " from ")
			return strings.TrimSpace(account)
		}
	}
	return ""
}

func etradeDeed(action string) (does deed, why string) {
	switch action {
	case "bought", "buy":
		return buys, ""
	case "sold", "sell":
		return sells, ""
	case "dividend reinvestment", "reinvestment":
		return reinvests, ""
	case "dividend", "qualified dividend", "capital gain", "cap gain distribution", "lt cap gain distribution", "st cap gain distribution":
		return pays, ""
	case "transfer", "security transfer", "incoming transfer", "outgoing transfer", "journal":
		return moves, ""
	case "stock split":
		return splits, ""
	case "interest", "interest income", "margin interest", "online transfer", "wire", "direct debit", "direct deposit", "fee", "service fee",
		"deposit", "withdrawal", "check", "adjustment", "bill payment", "credit", "debit", "tax withholding", "foreign tax":
		return cash, ""
	case "bought to open":
		return opens, ""
	case "bought to close", "sold to open", "sold to close", "option expired", "option expiration", "expired":
		return untracked, optionsRow
	case "option assigned", "option assignment", "option exercised", "exercise", "exercised", "assigned", "assignment":
		return other, assigned
	case "return of capital":
		return returns, ""
	case "merger", "cash merger", "stock merger":
		return merges, ""
	case "spin off", "spin-off", "spinoff":
		return spins, ""
	case "reverse split", "reverse stock split":
		return reverses, ""
	case "name change", "symbol change":
		return renames, ""
	case "cash in lieu":
		return other, inLieu
	case "sold short", "bought to cover":
		return short, ""
	case "reorganization", "exchange", "tender", "redemption":
		return other, reorganised
	}
	return unclear, ""
}
