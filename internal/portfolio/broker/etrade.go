package broker

import "strings"

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
			action: row.get("transactiontype", "activity type"), account: account, symbol: row.get("symbol"), date: row.day(date),
			quantity: row.number("quantity"), price: row.number("price"), fees: row.number("commission").Abs(), amount: row.number("amount"),
		}
		e.does, e.why = etradeDeed(strings.ToLower(e.action))
		// A dividend that was reinvested is a second row of the same name, with shares.
		if e.does == pays && e.quantity.Sign() > 0 {
			e.does = reinvests
		}
		// An option has its underlying's symbol in newer files.
		if kind, _, _ := strings.Cut(strings.ToUpper(row.get("description")), " "); kind == "PUT" || kind == "CALL" || strings.EqualFold(row.get("securitytype"), "OPTN") {
			e.does, e.why = untracked, optionsRow
		}
		if security := strings.ToUpper(row.get("securitytype")); security == "MMF" {
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
	case "bought to open", "bought to close", "sold to open", "sold to close", "option expired", "option expiration", "option assigned",
		"option assignment", "option exercised", "exercise", "assigned", "expired":
		return untracked, optionsRow
	case "sold short", "bought to cover":
		return short, ""
	case "reorganization", "merger", "spin off", "exchange", "tender", "redemption":
		return other, reorganised
	}
	return unclear, ""
}
