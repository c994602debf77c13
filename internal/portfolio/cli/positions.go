package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
)

func (a *app) positionsCommand() *cobra.Command {
	var byLot bool
	c := &cobra.Command{
		Use:   "positions",
		Short: "What is held, where, at which cost",
		Long: `Positions lists what every account holds. With --lots it lists the open lots: what is left of
each purchase, with its basis (a loss that a wash sale moved here included) and the day from which
its holding counts. Quantities and amounts are strings in JSON, and exact.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, err := a.load(cmd.Context())
			if err != nil {
				return err
			}
			defer a.warn(state)
			if byLot {
				a.warnUnknown(state)
				return a.sayLots(state)
			}
			return a.sayPositions(state)
		},
	}
	c.Flags().BoolVar(&byLot, "lots", false, "list the open lots")
	return c
}

// warnUnknown tells of shares that are in no lot, since nothing says what they cost.
func (a *app) warnUnknown(state answer.State) {
	for _, p := range state.Book.Positions {
		if unknown := p.Quantity.Sub(p.InLots); !unknown.IsZero() {
			fmt.Fprintf(a.Err, "portfolio: %s in %s: %s of %s shares are in no lot, because nothing says what they cost\n", p.Symbol, p.Account, unknown, p.Quantity)
		}
	}
}

// An openLot is a lot as JSON has it.
type openLot struct {
	Account      string            `json:"account"`
	Symbol       string            `json:"symbol"`
	Acquired     portfolio.Date    `json:"acquired"`
	Quantity     portfolio.Decimal `json:"quantity"`
	Basis        string            `json:"basis"`
	HoldingSince portfolio.Date    `json:"holding_since"`
	Deferred     string            `json:"deferred_loss_in_basis"`
	Unread       bool              `json:"unread_rows,omitempty"` // some row of the symbol could not be read: this may be wrong
}

func (a *app) sayLots(state answer.State) error {
	unread := state.UnreadTickers()
	if a.JSON {
		list := []openLot{}
		for _, l := range state.Book.LotRows() {
			list = append(list, openLot{l.Account, l.Symbol, l.Acquired, l.Quantity, l.Basis.Money(), l.HoldingSince, l.Deferred.Money(), unread[l.Symbol]})
		}
		return command.WriteJSON(a.Out, list)
	}
	if len(state.Book.Lots) == 0 {
		fmt.Fprintln(a.Out, "There are no open lots.")
		return nil
	}
	t := command.NewTable("symbol", "account", "acquired", ">quantity", ">basis", ">a share", "long-term from")
	for _, l := range state.Book.LotRows() {
		t.Add(l.Symbol, l.Account, l.Acquired.String(), l.Quantity.String(), l.Basis.Cents(), l.Basis.Over(l.Quantity, 2).Cents(), l.HoldingSince.LongTermFrom().String())
		if !l.Deferred.IsZero() {
			t.Remark(fmt.Sprintf("%s of the basis is a loss that a wash sale moved here; held since %s with it", l.Deferred.Cents(), l.HoldingSince))
		}
		if unread[l.Symbol] {
			t.Remark(unreadRemark)
		}
	}
	t.Write(a.Out, a.Columns())
	return nil
}

// A position is one as JSON has it. What is not known is null.
type position struct {
	Symbol   string            `json:"symbol"`
	Account  string            `json:"account"`
	Quantity portfolio.Decimal `json:"quantity"`
	InLots   portfolio.Decimal `json:"in_lots"`
	Basis    string            `json:"basis"`
	Price    *string           `json:"price"`
	PricedOn *portfolio.Date   `json:"priced_on"`
	Value    *string           `json:"value"`
	Gain     *string           `json:"gain"` // of what is in lots
	Unread   bool              `json:"unread_rows,omitempty"`
}

func (a *app) sayPositions(state answer.State) error {
	list := []position{}
	t := command.NewTable("symbol", "account", ">quantity", ">basis", ">price", "on", ">value", ">gain")
	for _, p := range state.Positions() {
		row := position{Symbol: p.Symbol, Account: p.Account, Quantity: p.Quantity, InLots: p.InLots, Basis: p.Basis.Money(), Unread: p.Unread}
		cells := []string{"", "", "", ""}
		if !p.PricedOn.IsZero() {
			last, value, gain := p.Price.Money(), p.Value().Money(), p.Gain().Money()
			row.Price, row.PricedOn, row.Value, row.Gain = &last, &p.PricedOn, &value, &gain
			cells = []string{p.Price.Cents(), p.PricedOn.String(), p.Value().Cents(), p.Gain().Cents()}
		}
		list = append(list, row)
		t.Add(append([]string{p.Symbol, p.Account, p.Quantity.String(), p.Basis.Cents()}, cells...)...)
		if unknown := p.Quantity.Sub(p.InLots); !unknown.IsZero() {
			t.Remark(fmt.Sprintf("what %s of the shares cost is not known; basis and gain are of the others", unknown))
		}
		if p.Unread {
			t.Remark(unreadRemark)
		}
	}
	if a.JSON {
		return command.WriteJSON(a.Out, list)
	}
	if len(list) == 0 {
		fmt.Fprintf(a.Out, "There are no positions on %s: import a broker's file (portfolio import --help).\n", state.AsOf)
		return nil
	}
	t.Write(a.Out, a.Columns())
	return nil
}
