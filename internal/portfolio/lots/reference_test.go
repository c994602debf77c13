package lots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// The rules once more, as they read: share by share, with the whole history in sight. Each share is
// one thing with a cost; nothing is pooled, cut or joined. Whole shares only.
type share struct {
	origin   int // the row of its purchase, or of the first fill of its order
	purchase int // in the order in which purchases were made
	row      int
	account  string
	symbol   string
	acquired portfolio.Date
	since    portfolio.Date
	bought   portfolio.Date // for the wash-sale rule; no day is never
	untaxed  bool
	basis    portfolio.Decimal
	unknown  bool // nobody said what it cost; acquired is when it came
	told     bool // or when it was bought, if that was said
	seq      int  // when it came to its account
	come     bool
	gone     bool
	used     bool
}

// A unit is one sold share at a loss.
type unit struct {
	share
	loss  portfolio.Decimal
	sale  int
	group int
}

// units of a loss, which splits of the next days divide.
const units = 6 * 6 * 6 * 6

type sharewise struct {
	rows      []portfolio.Transaction
	shares    []*share // in the order in which they replace
	purchases int
	seq       int
	losses    []unit
	told      map[string]*[4]portfolio.Decimal
	untold    map[string]portfolio.Decimal
	doubts    int
}

// inOrder is the history by day: companies' rows, then the owner's, by time where all have one.
func inOrder(history []portfolio.Transaction) []portfolio.Transaction {
	rows := slices.Clone(history)
	company := func(t portfolio.Transaction) bool {
		return slices.Contains([]portfolio.Action{portfolio.Split, portfolio.Rename, portfolio.Spinoff, portfolio.Merger, portfolio.ReturnOfCapital}, t.Action)
	}
	slices.SortStableFunc(rows, func(a, b portfolio.Transaction) int {
		if c := a.Date.Compare(b.Date); c != 0 || company(a) == company(b) {
			return c
		}
		if company(a) {
			return -1
		}
		return 1
	})
	for i := 0; i < len(rows); {
		last := i
		for last < len(rows) && rows[last].Date == rows[i].Date {
			last++
		}
		day := rows[i:last]
		for i := range day { // a slow sort, among rows that belong together
			for j := i + 1; j < len(day); j++ {
				alike := func(t portfolio.Transaction) bool {
					return t.Account == day[i].Account && t.Symbol == day[i].Symbol && !company(t)
				}
				untimed := slices.ContainsFunc(day, func(t portfolio.Transaction) bool { return alike(t) && t.Time.IsZero() })
				if alike(day[i]) && alike(day[j]) && !untimed && day[j].Time.Compare(day[i].Time) < 0 {
					day[i], day[j] = day[j], day[i]
				}
			}
		}
		i = last
	}
	return rows
}

func reference(history []portfolio.Transaction) *sharewise {
	m := &sharewise{rows: inOrder(history), told: map[string]*[4]portfolio.Decimal{}, untold: map[string]portfolio.Decimal{}}
	order := make([]int, len(m.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := m.rows[i], m.rows[j]
		if c := a.Date.Compare(b.Date); c != 0 || taxable(a.Account) == taxable(b.Account) {
			return c
		}
		if taxable(a.Account) {
			return -1
		}
		return 1
	})
	fills := map[string]int{}
	for _, i := range order {
		row := m.rows[i]
		if m.comesUnknown(row) {
			acquired, told := row.NamedLot()
			if !told || acquired.After(row.Date) {
				acquired, told = row.Date, false
			}
			for n := row.Quantity.Float(); n > 0; n-- {
				m.shares = append(m.shares, &share{row: i, account: row.Account, symbol: row.Symbol, acquired: acquired, since: acquired, unknown: true, told: told})
			}
		}
		if !buys(row.Action) {
			continue
		}
		origin := i
		if row.Order != "" && row.Action == portfolio.Buy {
			key := fmt.Sprint(row.Date, row.Account, row.Symbol, row.Order)
			if first, ok := fills[key]; ok {
				origin = first
			}
			fills[key] = origin
		}
		for n := row.Quantity.Float(); n > 0; n-- {
			m.shares = append(m.shares, &share{
				origin: origin, row: i, account: row.Account, symbol: row.Symbol, acquired: row.Date, since: row.Date, bought: row.Date, untaxed: !taxable(row.Account), basis: row.Cost().Over(row.Quantity, 12),
			})
		}
	}
	for i := 0; i < len(m.rows); {
		last := i
		for last < len(m.rows) && m.rows[last].Date == m.rows[i].Date {
			last++
		}
		m.number(m.rows[i].Date)
		for ; i < last; i++ {
			m.do(i, last)
		}
		m.wash(m.rows[i-1].Date)
	}
	return m
}

// comesUnknown tells of shares that come from outside the household, without their cost.
func (m *sharewise) comesUnknown(row portfolio.Transaction) bool {
	return row.Action == portfolio.TransferIn && !slices.ContainsFunc(m.rows, func(t portfolio.Transaction) bool {
		return t.Action == portfolio.TransferOut && t.Date == row.Date
	})
}

// number numbers the purchases of a day.
func (m *sharewise) number(day portfolio.Date) {
	numbers := map[int]int{}
	for _, s := range m.shares {
		if s.bought == day && !s.come {
			if numbers[s.origin] == 0 {
				m.purchases++
				numbers[s.origin] = m.purchases
			}
			s.purchase = numbers[s.origin]
		}
	}
}

// held are an account's shares of a symbol, oldest first; those of all accounts if it is empty.
func (m *sharewise) held(account, symbol string) (list []*share) {
	for _, s := range m.shares {
		if s.come && !s.gone && s.symbol == symbol && (account == "" || s.account == account) {
			list = append(list, s)
		}
	}
	rank := func(s *share) int { // of a day, what may have been bought before it comes first
		switch {
		case !s.unknown:
			return 2
		case s.told:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b *share) int {
		return cmp.Or(a.acquired.Compare(b.acquired), rank(a)-rank(b), a.seq-b.seq)
	})
	return list
}

func (m *sharewise) come(i int) {
	m.seq++
	for _, s := range m.shares {
		if s.row == i && !s.come {
			s.come, s.seq = true, m.seq
		}
	}
}

// pick takes shares of an account; if they are not there, later rows of the day bring them.
func (m *sharewise) pick(i, last int) (taken []*share) {
	row := m.rows[i]
	named, naming := row.NamedLot()
	missing := int(row.Quantity.Float())
	early := naming && named == row.Date
	for {
		list := m.held(row.Account, row.Symbol)
		if row.Account == "C" {
			each := map[*share]portfolio.Decimal{}
			for _, s := range list {
				each[s] = s.basis.Round(4)
			}
			slices.SortStableFunc(list, func(a, b *share) int {
				if a.unknown != b.unknown {
					return map[bool]int{true: 1, false: -1}[a.unknown]
				}
				return each[b].Cmp(each[a])
			})
		}
		count := 0
		if naming {
			of := slices.DeleteFunc(slices.Clone(list), func(s *share) bool { return s.unknown || s.acquired != named })
			count = len(of)
			list = slices.Concat(of, slices.DeleteFunc(list, func(s *share) bool { return !s.unknown && s.acquired == named }))
		}
		early = early && count < missing // the named shares come later
		for len(list) > 0 && missing > 0 && !early {
			list[0].gone = true
			taken, list = append(taken, list[0]), list[1:]
			missing--
		}
		later := i + 1
		for later < last && !m.waits(later, row) {
			later++
		}
		switch {
		case missing == 0:
			m.doubt(row, taken)
			return taken
		case later < last:
			m.come(later)
		case early:
			early = false
		default:
			return taken
		}
	}
}

// doubt counts a row after which a share of unknown cost stays that may have to go before one that
// went and that nobody named.
func (m *sharewise) doubt(row portfolio.Transaction, taken []*share) {
	named, naming := row.NamedLot()
	stay := slices.DeleteFunc(m.held(row.Account, row.Symbol), func(s *share) bool { return !s.unknown || !taxable(row.Account) })
	for _, s := range taken {
		for _, u := range stay {
			if !s.unknown && (!naming || s.acquired != named) && (row.Account == "C" || !u.told && s.acquired.Before(u.acquired)) {
				m.doubts++
				return
			}
		}
	}
}

// waits tells of a row that brings shares to the same place and has not come yet.
func (m *sharewise) waits(i int, row portfolio.Transaction) bool {
	t := m.rows[i]
	return t.Account == row.Account && t.Symbol == row.Symbol &&
		slices.ContainsFunc(m.shares, func(s *share) bool { return s.row == i && !s.come })
}

// tell adds what a row of gains says.
func (m *sharewise) tell(i int, long bool, gain portfolio.Decimal, disallowed, permanent portfolio.Decimal) {
	row := m.rows[i]
	key := fmt.Sprint(row.Date, " ", row.Account, " ", row.Symbol, " ", row.Action)
	if m.told[key] == nil {
		m.told[key] = &[4]portfolio.Decimal{}
	}
	t := m.told[key]
	if long {
		t[0] = t[0].Add(gain)
	} else {
		t[1] = t[1].Add(gain)
	}
	t[2], t[3] = t[2].Add(disallowed), t[3].Add(permanent)
}

// hide adds what was paid for a share of unknown cost.
func (m *sharewise) hide(row portfolio.Transaction, paid portfolio.Decimal) {
	key := fmt.Sprint(row.Date, " ", row.Account, " ", row.Symbol, " untold")
	m.untold[key] = m.untold[key].Add(paid)
}

func (s *share) long(on portfolio.Date) bool { return !on.Before(s.since.LongTermFrom()) }

func (m *sharewise) sell(i int, taken []*share) {
	row := m.rows[i]
	if !taxable(row.Account) {
		return
	}
	price := row.Proceeds().Over(row.Quantity, 12)
	for _, s := range taken {
		if s.unknown {
			m.hide(row, price)
			continue
		}
		m.tell(i, s.long(row.Date), price.Sub(s.basis), portfolio.Decimal{}, portfolio.Decimal{})
		if loss := s.basis.Sub(price); loss.Round(5).Sign() > 0 { // less is the rounding of this model
			m.losses = append(m.losses, unit{share: *s, loss: loss, sale: i})
		}
	}
}

// insert puts more shares after one, in its place.
func (m *sharewise) insert(after *share, more ...*share) {
	m.shares = slices.Insert(m.shares, slices.Index(m.shares, after)+1, more...)
}

func (m *sharewise) do(i, last int) {
	row := m.rows[i]
	whole := func(d portfolio.Decimal) int { return int(d.Float()) }
	switch row.Action {
	case portfolio.Buy, portfolio.Reinvest, portfolio.TransferIn:
		m.come(i)
	case portfolio.Sell:
		m.sell(i, m.pick(i, last))
	case portfolio.TransferOut:
		for _, s := range m.pick(i, last) {
			m.seq++
			s.gone, s.account, s.seq = false, map[string]string{"A": "C", "C": "A"}[row.Account], m.seq
		}
	case portfolio.Split:
		for _, s := range m.held("", row.Symbol) {
			s.basis = s.basis.Over(row.Quantity, 12)
			for n := whole(row.Quantity) - 1; n > 0; n-- {
				twin := *s
				m.insert(s, &twin)
			}
		}
	case portfolio.Rename:
		for _, s := range m.held("", row.Symbol) {
			m.seq++
			s.symbol, s.seq = row.Into, m.seq
		}
	case portfolio.Spinoff:
		m.spinOff(row, whole(row.Ratio))
	case portfolio.Merger:
		m.merge(i, row, whole(row.Ratio))
	case portfolio.ReturnOfCapital:
		each := row.Proceeds().Over(row.Quantity, 12)
		for _, s := range m.held(row.Account, row.Symbol)[:whole(row.Quantity)] {
			if s.unknown {
				continue
			}
			s.basis = s.basis.Sub(each)
			if s.basis.Sign() < 0 {
				if taxable(row.Account) {
					m.tell(i, s.long(row.Date), s.basis.Neg(), portfolio.Decimal{}, portfolio.Decimal{})
				}
				s.basis = portfolio.Decimal{}
			}
		}
	case portfolio.Dividend, portfolio.BuyCall:
	}
}

func (m *sharewise) spinOff(row portfolio.Transaction, ratio int) {
	numbers := map[int]int{}
	for _, account := range []string{"A", "C", "R", "K"} {
		for _, s := range m.held(account, row.Symbol) {
			if numbers[s.purchase] == 0 {
				m.purchases++
				numbers[s.purchase] = m.purchases
			}
			part := s.basis.Mul(row.BasisShare).Round(12)
			s.basis = s.basis.Sub(part)
			m.seq++
			for range ratio {
				other := *s
				other.symbol, other.basis, other.seq, other.bought, other.purchase = row.Into, part.Over(portfolio.NewDecimal(int64(ratio), 0), 12), m.seq, portfolio.Date{}, numbers[s.purchase]
				other.origin = -other.purchase // the old shares can replace them, should they get the same name
				m.insert(s, &other)
			}
		}
	}
}

func (m *sharewise) merge(i int, row portfolio.Transaction, ratio int) {
	list := m.held(row.Account, row.Symbol)
	for _, s := range list {
		s.gone = true
	}
	if row.Into == "" {
		if row.Account == "C" { // the order in which the sale takes them is that of its losses
			slices.SortStableFunc(list, func(a, b *share) int { return b.basis.Round(4).Cmp(a.basis.Round(4)) })
		}
		m.sell(i, list)
		return
	}
	paid := row.Proceeds().Over(row.Quantity, 12)
	for _, s := range list {
		gain := row.IntoPrice.Mul(row.Ratio).Add(paid).Sub(s.basis)
		if gain.Sign() < 0 {
			gain = portfolio.Decimal{}
		}
		switch gain = gain.Min(paid); {
		case !taxable(row.Account):
		case s.unknown:
			m.hide(row, paid)
		default:
			m.tell(i, s.long(row.Date), gain, portfolio.Decimal{}, portfolio.Decimal{})
		}
		m.seq++
		for range ratio {
			other := *s
			other.gone, other.symbol, other.bought, other.seq = false, row.Into, portfolio.Date{}, m.seq
			other.basis = s.basis.Sub(paid).Add(gain).Over(row.Ratio, 12)
			m.insert(s, &other)
		}
	}
}

// later is what a symbol is called on a day that comes, and how many shares one is then.
func (m *sharewise) later(symbol string, from, to portfolio.Date) (string, int) {
	shares := 1
	for _, row := range m.rows {
		if row.Date.After(from) && !row.Date.After(to) && row.Symbol == symbol {
			switch row.Action {
			case portfolio.Split:
				shares *= int(row.Quantity.Float())
			case portfolio.Rename:
				symbol = row.Into
			}
		}
	}
	return symbol, shares
}

func (m *sharewise) wash(day portfolio.Date) {
	type key struct {
		sale, purchase int
		since          portfolio.Date
	}
	first, sums, counts := map[key]int{}, map[key]portfolio.Decimal{}, map[key]int64{}
	for i, l := range m.losses {
		k := key{l.sale, l.purchase, l.since}
		if _, ok := first[k]; !ok {
			first[k] = i
		}
		sums[k], counts[k] = sums[k].Add(l.loss), counts[k]+1
	}
	for i := range m.losses { // what a sale took of a purchase, held for the same time, lost the same each
		l := &m.losses[i]
		k := key{l.sale, l.purchase, l.since}
		l.group, l.loss = first[k], sums[k].Over(portfolio.NewDecimal(counts[k], 0), 12)
	}
	slices.SortStableFunc(m.losses, func(a, b unit) int {
		return cmp.Or(a.acquired.Compare(b.acquired), a.purchase-b.purchase, a.group-b.group)
	})
	for _, l := range m.losses {
		left := units
		for _, r := range m.shares {
			if r.used || r.gone || r.bought.IsZero() || r.origin == l.origin || r.account == "K" || abs(r.bought.Sub(day)) > 30 {
				continue
			}
			symbol, n := l.symbol, 1
			if !r.come {
				symbol, n = m.later(l.symbol, day, r.bought)
			}
			if r.symbol != symbol {
				continue
			}
			r.used = true
			left -= units / n
			loss := l.loss.Over(portfolio.NewDecimal(int64(n), 0), 12)
			if r.untaxed {
				m.tell(l.sale, false, portfolio.Decimal{}, loss, loss)
			} else {
				m.tell(l.sale, false, portfolio.Decimal{}, loss, portfolio.Decimal{})
				r.basis, r.since = r.basis.Add(loss), r.since.Add(-day.Sub(l.since))
			}
			if left <= 0 {
				break
			}
		}
	}
	m.losses = nil
}

// A money is what two readings may differ in by how they round.
type money struct {
	label  string
	amount portfolio.Decimal
}

func compareMoney(want, got []money) string {
	for _, list := range [][]money{want, got} {
		slices.SortFunc(list, func(a, b money) int { return cmp.Or(strings.Compare(a.label, b.label), a.amount.Cmp(b.amount)) })
	}
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("missing %v", want[i])
		case i >= len(want):
			return fmt.Sprintf("not wanted %v", got[i])
		case want[i].label != got[i].label || want[i].amount.Sub(got[i].amount).Abs().Cmp(portfolio.NewDecimal(1, -3)) > 0:
			return fmt.Sprintf("got %v, want %v", got[i], want[i])
		}
	}
	return ""
}

// namesJoin tells of a history in which a symbol gets a name under which shares were traded in the days
// before: those turn out to be the same security then, which the reference can't know. The cases do.
func namesJoin(history []portfolio.Transaction) bool {
	for _, r := range history {
		if r.Action == portfolio.Rename && slices.ContainsFunc(history, func(t portfolio.Transaction) bool {
			return (t.Symbol == r.Into || t.Into == r.Into && t != r) && !t.Date.After(r.Date) && r.Date.Sub(t.Date) <= 2*WashDays
		}) {
			return true
		}
	}
	return false
}

func TestReference(t *testing.T) {
	washed, untold, doubted, compared := 0, 0, 0, 0
	for seed := range 4 * uint64(count()) {
		history := generate(seed, true, 1)
		if compared == count() {
			break
		}
		if namesJoin(history) {
			continue
		}
		compared++
		b := Build(history, household, endOf(history))
		m := reference(history)
		var want, got []money
		add := func(list *[]money, label string, amount portfolio.Decimal) {
			if amount.Abs().Cmp(portfolio.NewDecimal(1, -3)) > 0 {
				*list = append(*list, money{label, amount})
			}
		}
		columns := []string{" long", " short", " disallowed", " permanent"}
		for key, told := range m.told {
			for i, column := range columns {
				add(&want, key+column, told[i])
			}
			if told[2].Sign() > 0 {
				washed++
			}
		}
		sums := map[string]portfolio.Decimal{}
		for key, paid := range m.untold {
			add(&want, key, paid)
			untold++
		}
		for _, u := range b.Untold {
			key := fmt.Sprint(u.Sold, " ", u.Account, " ", u.Symbol, " untold")
			sums[key] = sums[key].Add(u.Proceeds)
		}
		for _, d := range b.Disposals {
			key := fmt.Sprint(d.Sold, " ", d.Account, " ", d.Symbol, " ", d.Action)
			term := columns[1]
			if d.Long() {
				term = columns[0]
			}
			sums[key+term] = sums[key+term].Add(d.Gain())
			sums[key+columns[2]] = sums[key+columns[2]].Add(d.Disallowed)
			sums[key+columns[3]] = sums[key+columns[3]].Add(d.Permanent)
		}
		for key, amount := range sums {
			add(&got, key, amount)
		}
		wrong := compareMoney(want, got)
		want, got = nil, nil
		type kind struct {
			account, symbol string
			acquired, since portfolio.Date
		}
		labels := map[kind]string{}
		for _, s := range m.shares {
			if s.come && !s.gone && !s.unknown {
				k := kind{s.account, s.symbol, s.acquired, s.since}
				if labels[k] == "" {
					labels[k] = fmt.Sprint(k)
				}
				want = append(want, money{labels[k], s.basis})
			}
		}
		for _, l := range b.Lots {
			one := money{fmt.Sprint(kind{l.Account, l.Symbol, l.Acquired, l.HoldingSince}), l.Basis.Over(l.Quantity, 6)}
			for n := l.Quantity.Float(); n > 0; n-- {
				got = append(got, one)
			}
		}
		wrong += compareMoney(want, got) + m.compareUnknown(b)
		if doubtful := func(p Problem) bool { return strings.Contains(p.Text, toName) }; len(slices.DeleteFunc(b.Problems, func(p Problem) bool { return !doubtful(p) })) != m.doubts {
			wrong += fmt.Sprintf("; %d doubted sales wanted, problems: %v", m.doubts, b.Problems)
		}
		doubted += m.doubts
		if wrong != "" {
			t.Fatalf("seed %d: %s\n%s", seed, wrong, lines(history))
		}
	}
	if compared < count() {
		t.Errorf("only %d of %d histories compared", compared, count())
	}
	if washed < count()/2 || untold < count()/10 || doubted < count()/10 {
		t.Errorf("only %d washed, %d untold, %d doubted sales in %d histories", washed, untold, doubted, count())
	}
}

// compareUnknown tells of shares of unknown cost where the book differs, and of lots that go before or
// after them.
func (m *sharewise) compareUnknown(b *Book) string {
	for _, p := range b.Positions {
		unknown := slices.DeleteFunc(m.held(p.Account, p.Symbol), func(s *share) bool { return !s.unknown })
		if got := int(p.Quantity.Sub(p.InLots).Float()); got != len(unknown) {
			return fmt.Sprintf("; %+v, want %d shares of unknown cost", p, len(unknown))
		}
		for _, l := range b.Lots {
			want := p.Account != "C" && slices.ContainsFunc(unknown, func(s *share) bool { return !s.acquired.After(l.Acquired) })
			if l.Account == p.Account && l.Symbol == p.Symbol && b.UnknownBefore(l.Account, l.Symbol, l.Acquired) != want {
				return fmt.Sprintf("; unknown before %+v: want %v", l, want)
			}
		}
	}
	return ""
}
