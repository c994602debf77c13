package broker

import "strings"

// vanguard reads Vanguard's download: a table of holdings, of which it does not say the day, and
// a table of transactions below it, or one of them.
func (r *reading) vanguard(t *table, c columns) error {
	r.file.Format = Vanguard
	if !c.has("account number") && r.options.Account == "" {
		return ErrNoAccount
	}
	if !c.has("account number") {
		r.account = r.options.Account
	}
	for {
		below, err := r.vanguardTable(t, c)
		if below == nil || err != nil {
			return err
		}
		c = below
	}
}

// vanguardTable reads rows up to the next header, which it returns.
func (r *reading) vanguardTable(t *table, c columns) (below columns, err error) {
	for {
		row, ok := t.next()
		if !ok {
			return nil, nil
		}
		if err := r.count(); err != nil {
			return nil, err
		}
		if row.fault != "" {
			r.unread(row.place, subject{}, row.fault)
			continue
		}
		if next := header(row.fields); next.has("symbol", "shares") {
			return next, nil
		}
		if prose(row.fields) {
			continue
		}
		cells := &cells{columns: c, row: row}
		account, err := r.mustHaveAccount(cells.get("account number"))
		if err != nil {
			d, _ := day(cells.get("trade date"))
			r.unread(row.place, subject{d, "", cells.get("symbol")}, err.Error())
			continue
		}
		if c.has("trade date") {
			r.vanguardTrade(cells, account)
		} else {
			r.hold(row.place, cells, account)
		}
	}
}

func (r *reading) vanguardTrade(row *cells, account string) {
	e := entry{
		place: row.row.place, action: row.get("transaction type"), account: account, symbol: row.get("symbol"), name: row.get("investment name"),
		date: row.day("trade date"), quantity: row.number("shares"), price: row.number("share price"),
		fees: row.number("commissions and fees", "commission fees", "commission").Abs(), amount: row.number("net amount", "principal amount"),
	}
	if !row.columns.has("commissions and fees") {
		e.fees = e.fees.Add(row.number("fees").Abs())
	}
	e.does, e.why = vanguardDeed(strings.ToLower(e.action))
	// Older files tell a reinvestment from a dividend by its shares alone.
	if e.does == pays && e.quantity.Sign() > 0 {
		e.does = reinvests
	}
	// An exchange of funds is two rows: shares of one go, shares of the other come.
	if e.does == buys && e.quantity.Sign() < 0 && strings.EqualFold(e.action, "exchange") {
		e.does = sells
	}
	if row.err != nil {
		r.doubt(e, row.err.Error())
		return
	}
	r.book(e)
}

func vanguardDeed(action string) (does deed, why string) {
	switch action {
	case "buy", "buy (exchange)", "exchange":
		return buys, ""
	case "sell", "sell (exchange)":
		return sells, ""
	case "reinvestment", "reinvestment (lt gain)", "reinvestment (st gain)":
		return reinvests, ""
	case "dividend", "capital gain (lt)", "capital gain (st)":
		return pays, ""
	case "transfer (incoming)", "transfer (outgoing)", "transfer", "rollover (incoming)", "rollover (outgoing)", "asset transfer":
		return moves, ""
	case "stock split":
		return splits, ""
	case "sweep in", "sweep out":
		return sweeps, ""
	case "funds received", "funds disbursed", "fee", "interest", "withholding", "contribution", "distribution":
		return cash, ""
	case "buy to open":
		return opens, ""
	case "buy to close", "sell to open", "sell to close", "expired":
		return untracked, optionsRow
	case "assigned", "exercised":
		return other, assigned
	case "sell short", "buy to cover":
		return short, ""
	}
	if strings.Contains(action, "cash in lieu") {
		return other, inLieu
	}
	if does = deedOf(action); does != unclear {
		return does, ""
	}
	if strings.HasPrefix(action, "corp action") || strings.HasPrefix(action, "conversion") {
		return other, reorganised
	}
	return unclear, ""
}

// hold takes a row of a table of holdings.
func (r *reading) hold(at place, row *cells, account string) {
	h := Holding{Account: account, Symbol: strings.ToUpper(row.get("symbol")), Quantity: row.number("shares")}
	switch {
	case row.err != nil:
		r.unread(at, subject{h.AsOf, h.Account, h.Symbol}, row.err.Error())
	case isMoney(h.Symbol, row.get("investment name"), row.number("share price"), false):
		r.known(at, moneyFund)
	default:
		r.report(at, h)
	}
}
