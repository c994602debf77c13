package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

func (d Data) calendarTable() table {
	t := table{
		Caption: "Sales at a loss, and the 30 days on either side of each",
		Columns: []column{{Name: "Symbol"}, {Name: "Buy again from"}, {"Sale", "words"}, {"Loss", "number"},
			{Name: "Window"}, {"Account", "name"}, {"Bought inside", "words"}, {"Reinvestments expected", "words"}},
		Empty: "There is no wash-sale window to show.",
	}
	unread := map[string]bool{}
	for _, u := range d.Unread {
		unread[u.Symbol] = true
	}
	for _, w := range d.Calendar {
		sale := w.Sale.String()
		if w.Planned {
			sale += ", if sold"
		}
		if unread[w.Symbol] {
			sale += "; " + unreadRemark
		}
		t.Rows = append(t.Rows, []string{clean(w.Symbol), w.BuyAgain().String(), sale, w.Loss.Cents(),
			fmt.Sprintf("%s to %s", w.First(), w.Last()), clean(w.Account), purchases(w.Purchases), days(w.Reinvestments)})
	}
	return t
}

// unknown stands in a table for a number that nobody has.
const unknown = "unknown"

func (d Data) positionTable() table {
	t := table{
		Caption: "What the accounts hold, in US dollars",
		Columns: []column{{Name: "Symbol"}, {"Account", "name"}, {"Value", "number"}, {"Gain", "number"}, {"Short-term", "number"}, {"Long-term", "number"},
			{"Basis", "number"}, {"Shares", "number"}, {"Price", "number"}, {Name: "Price of"}, {"Remarks", "words"}},
		Empty: "The history has no open position.",
	}
	var value, basis, shortTerm, longTerm portfolio.Decimal
	for _, p := range d.Positions {
		row := []string{clean(p.Symbol), clean(p.Account), unknown, unknown, unknown, unknown,
			p.Basis.Cents(), p.Quantity.String(), unknown, "", ""}
		if !p.PricedOn.IsZero() {
			row[2], row[3], row[4], row[5] = p.Value().Cents(), p.Gain().Cents(), p.Short.Cents(), p.Long.Cents()
			row[8], row[9] = p.Price.Money(), p.PricedOn.String()
			value, shortTerm, longTerm = value.Add(p.Value()), shortTerm.Add(p.Short), longTerm.Add(p.Long)
		}
		if p.InLots.Cmp(p.Quantity) != 0 {
			row[10] = fmt.Sprintf("the cost of %s shares is known", p.InLots)
		}
		if p.Unread {
			row[10] = strings.TrimPrefix(row[10]+"; "+unreadRemark, "; ")
		}
		basis = basis.Add(p.Basis)
		t.Rows = append(t.Rows, row)
	}
	t.Total = []string{"Total", "", value.Cents(), shortTerm.Add(longTerm).Cents(), shortTerm.Cents(), longTerm.Cents(),
		basis.Cents(), "", "", "", ""}
	return t
}

// unreadRemark is what stands beside a symbol of which some row could not be read.
const unreadRemark = "rows of it were not read, so this may be wrong"

// maxUnread is how many rows the table has.
const maxUnread = 500

func (d Data) unreadTable() table {
	t := table{
		Caption: "Rows that could not be read: there is no advice on their symbols",
		Columns: []column{{Name: "Symbol"}, {Name: "Date"}, {"Account", "name"}, {"Why", "words"}, {"Row", "words"}},
		Empty:   "Every row of the files was read, or is settled.",
	}
	for _, u := range d.Unread[:min(len(d.Unread), maxUnread)] {
		symbol, day := clean(u.Symbol), ""
		if symbol == "" {
			symbol = "any of the account"
		}
		if !u.Date.IsZero() {
			day = u.Date.String()
		}
		t.Rows = append(t.Rows, []string{symbol, day, clean(u.Account), clean(u.Reason), clean(u.Text)})
	}
	if more := len(d.Unread) - maxUnread; more > 0 {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("and %d more", more), "", "", "", ""})
	}
	return t
}

func (d Data) gainTable() table {
	t := table{
		Caption: "By year, in US dollars, after wash sales",
		Columns: []column{{Name: "Year"}, {"Short-term", "number"}, {"Long-term", "number"}, {"Total", "number"},
			{"Disallowed", "number"}, {"Of it lost for good", "number"}, {"Unsettled", "number"}, {"Remarks", "words"}},
		Empty: "The history has no sale in a taxable account.",
	}
	for _, y := range d.Gains {
		remark := ""
		if len(y.Unread) > 0 {
			remark = "rows of " + names(cleanAll(y.Unread), 8) + " were not read, so this may be wrong"
		}
		t.Rows = append(t.Rows, []string{strconv.Itoa(y.Year), y.Short.Cents(), y.Long.Cents(), y.Short.Add(y.Long).Cents(),
			y.Disallowed.Cents(), y.Permanent.Cents(), y.Unsettled.Cents(), remark})
	}
	return t
}

func (d Data) accountTable() table {
	t := table{
		Caption: "How each account is taken",
		Columns: []column{{Name: "Account"}, {"Kind", "name"}, {"Owner", "name"}, {"Lots sold", "name"}, {Name: "Dividends"}},
		Empty:   "No account is described: all are taken for taxable, first in first out.",
	}
	methods := map[portfolio.Method]string{portfolio.FIFO: "oldest first", portfolio.HIFO: "dearest first"}
	for _, a := range d.Accounts {
		dividends := "not said"
		switch {
		case a.Reinvest == nil:
		case *a.Reinvest:
			dividends = "buy shares"
		default:
			dividends = "stay cash"
		}
		method, known := methods[a.Method]
		if !known {
			method = string(a.Method)
		}
		t.Rows = append(t.Rows, []string{clean(a.ID), clean(string(a.Kind)), clean(a.Owner), clean(method), dividends})
	}
	return t
}
