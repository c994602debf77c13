package exitrule

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// What an order does, and how.
const (
	ActionSell = "sell"
	ActionStop = "stop"

	OrderMarket = "market"
	OrderStop   = "stop"

	ForDay            = "day"
	GoodTillCancelled = "good_till_cancelled"
)

// An Order is one that is recommended. Nothing here places it.
type Order struct {
	Action      string             `json:"action"`               // ActionSell or ActionStop
	AccountID   string             `json:"account_id,omitempty"` // empty if nobody knows where the shares are
	Ticker      string             `json:"ticker"`
	Quantity    portfolio.Decimal  `json:"quantity"`   // more than zero
	OrderType   string             `json:"order_type"` // OrderMarket or OrderStop
	TimeInForce string             `json:"time_in_force"`
	StopPrice   *portfolio.Decimal `json:"stop_price,omitempty"`
	Condition   string             `json:"condition,omitempty"` // what has to come first
	ReviewDate  portfolio.Date     `json:"review_date,omitzero"`
}

// A Plan is how much to sell, and by which orders: first a sale, then a stop on the rest. If it
// has no orders, Note says why; otherwise Note says what is missing from them, if anything is.
type Plan struct {
	Method   string            `json:"method"`
	Fraction portfolio.Decimal `json:"fraction"` // of the position
	Gap      float64           `json:"gap"`
	Sell     portfolio.Decimal `json:"sell_quantity"`
	Keep     portfolio.Decimal `json:"keep_quantity"`
	Note     string            `json:"note,omitempty"`
	Orders   []Order           `json:"-"`

	// Sales is how much of Sell comes from each part of the position, Stops how much of the stop.
	Sales []portfolio.Decimal `json:"-"`
	Stops []portfolio.Decimal `json:"-"`
}

// ByAccount are the plan's orders as a broker takes them: each is for one account. The accounts are
// those of the parts, in their order; first come all sales, then all stops.
func (p Plan) ByAccount(accounts ...string) (orders []Order) {
	for _, whole := range p.Orders {
		parts := p.Sales
		if whole.Action == ActionStop {
			parts = p.Stops
		}
		for i, quantity := range parts {
			if !quantity.IsZero() {
				order := whole
				order.AccountID, order.Quantity = accounts[i], quantity
				orders = append(orders, order)
			}
		}
	}
	return orders
}

// fractionDecimals is how fine shares are sold where fractions are allowed.
const fractionDecimals = 6

// Size makes the plan of a verdict for a position, whose parts are in several accounts, in the
// order in which they are to be sold. It sells nothing unless the verdict is an exit, never more
// of a part than there is, and never orders zero shares. Whole shares are rounded down, but one is
// sold at least.
func Size(config Config, verdict Verdict, ticker string, parts ...portfolio.Decimal) Plan {
	plan := Plan{Method: config.Sizing.Method, Gap: verdict.Gap, Sales: make([]portfolio.Decimal, len(parts)), Stops: make([]portfolio.Decimal, len(parts))}
	var sellable portfolio.Decimal
	short := false
	for _, part := range parts {
		plan.Keep = plan.Keep.Add(part)
		sellable = sellable.Add(config.orderable(part))
		short = short || part.Sign() < 0
	}
	held := plan.Keep
	switch {
	case !verdict.Exits():
		plan.Note = "there is no exit, so nothing is to be sold"
		return plan
	case short:
		plan.Note = "the position is short; exits are worked out for shares that are held"
		return plan
	case held.IsZero():
		plan.Note = "nothing is held"
		return plan
	case sellable.IsZero():
		plan.Note = fmt.Sprintf("only %s of a share is held, and the least that can be sold in an account is %s", held, config.smallest())
		return plan
	}
	plan.Fraction = config.Sizing.fraction(verdict)
	plan.Sell = config.orderable(held.Mul(plan.Fraction)).Min(sellable)
	if plan.Sell.IsZero() {
		plan.Sell = config.smallest()
	}
	plan.Keep = held.Sub(plan.Sell)
	plan.Orders = []Order{{
		Action: ActionSell, Ticker: ticker, Quantity: plan.Sell, OrderType: OrderMarket, TimeInForce: ForDay,
	}}
	var rest portfolio.Decimal
	open := plan.Sell
	for i, part := range parts {
		plan.Sales[i] = config.orderable(part).Min(open)
		open = open.Sub(plan.Sales[i])
		plan.Stops[i] = config.orderable(part.Sub(plan.Sales[i]))
		rest = rest.Add(plan.Stops[i])
	}
	plan.stop(verdict, ticker, rest)
	return plan
}

// stop adds the stop on what is left, as far as it can be ordered.
func (p *Plan) stop(verdict Verdict, ticker string, rest portfolio.Decimal) {
	switch {
	case rest.IsZero():
		return
	case verdict.Stop.Sign() <= 0:
		p.Note = "the price is too low for a stop below it"
		return
	}
	p.Orders = append(p.Orders, Order{
		Action: ActionStop, Ticker: ticker, Quantity: rest, OrderType: OrderStop, TimeInForce: GoodTillCancelled,
		StopPrice: &verdict.Stop, Condition: "after the sale is filled", ReviewDate: review(verdict.AsOf),
	})
}

// smallest is the least that an order can have.
func (c Config) smallest() portfolio.Decimal {
	if c.Fractional {
		return portfolio.NewDecimal(1, -fractionDecimals)
	}
	return portfolio.NewDecimal(1, 0)
}

// orderable is as much of a quantity as an order can have.
func (c Config) orderable(quantity portfolio.Decimal) portfolio.Decimal {
	if c.Fractional {
		return quantity.Floor(fractionDecimals)
	}
	return quantity.Floor(0)
}

// fraction is how much of a position to sell.
func (s Sizing) fraction(verdict Verdict) portfolio.Decimal {
	wide := s.WideGap.Float()
	switch {
	case s.Method == Linear:
		return s.Fraction.Add(s.WideFraction.Sub(s.Fraction).Mul(portion(verdict.Gap / wide)))
	case s.Method == VolatilityTarget && verdict.Volatility > 0:
		excess := portion(1 - s.TargetVolatility.Float()/verdict.Volatility)
		if excess.Cmp(s.Fraction) > 0 {
			return excess
		}
		return s.Fraction
	case s.Method == Steps && verdict.Gap > wide+hair:
		return s.WideFraction
	}
	return s.Fraction
}

// portion is a float between 0 and 1 to four decimals.
func portion(f float64) portfolio.Decimal {
	return portfolio.NewDecimal(int64(min(max(f, 0), 1)*10_000), -4)
}
