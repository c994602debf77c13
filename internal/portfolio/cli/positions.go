package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/listing"
)

func (a *app) positionsCommand() *cobra.Command {
	var byLot bool
	var p listing.Params
	c := &cobra.Command{
		Use:   "positions",
		Short: "What is held, where, at which cost",
		Long: `Positions lists what every account holds. With --lots it lists the open lots: what is left of
each purchase, with its basis (a loss that a wash sale moved here included) and the day from which
its holding counts. Quantities and amounts are strings in JSON, and exact; what is not known is null.

With --format it prints the reply that an agent gets of the tool list_positions.`,
		Example: `  portfolio positions
  portfolio positions --lots
  portfolio positions --format agent`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.Format != "" {
				if byLot {
					return a.UsageError("--lots and --format do not go together: --format full has the lots")
				}
				return a.with(cmd.Context(), func(s *answer.Service) error {
					return a.sayReply(s.ListPositions(cmd.Context(), p))
				})
			}
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
	formatFlag(c, &p)
	return c
}

// formatFlag is that of both lists.
func formatFlag(c *cobra.Command, p *listing.Params) {
	c.Flags().StringVar(&p.Format, "format", "", "print the reply that an agent gets in this `FORMAT`: summary, full or agent")
}

// warnUnknown tells of shares that are in no lot, since nothing says what they cost.
func (a *app) warnUnknown(state answer.State) {
	for _, p := range state.Book.Positions {
		if unknown := p.Quantity.Sub(p.InLots); !unknown.IsZero() {
			fmt.Fprintf(a.Err, "portfolio: %s in %s: %s of %s shares are in no lot, because nothing says what they cost\n", p.Symbol, p.Account, unknown, p.Quantity)
		}
	}
}

func (a *app) sayLots(state answer.State) error {
	unread := state.UnreadTickers()
	if a.JSON {
		return command.WriteJSON(a.Out, state.Listing(listing.Params{}).Lots())
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

func (a *app) sayPositions(state answer.State) error {
	list := state.Listing(listing.Params{}).Held()
	if a.JSON {
		return command.WriteJSON(a.Out, list)
	}
	if len(list) == 0 {
		fmt.Fprintf(a.Out, "There are no positions on %s: import a broker's file (portfolio import --help).\n", state.AsOf)
		return nil
	}
	t := command.NewTable("symbol", "account", ">quantity", ">basis", ">price", "on", ">value", ">gain")
	for _, row := range list {
		p := row.Position
		cells := []string{"", "", "", "", ""}
		if row.Price != nil {
			copy(cells[1:], []string{p.Price.Cents(), p.PricedOn.String(), p.Value().Cents()})
		}
		if row.Basis != nil {
			cells[0] = p.Basis.Cents()
		}
		if row.Gain != nil {
			cells[4] = p.Gain().Cents()
		}
		t.Add(append([]string{p.Symbol, p.Account, p.Quantity.String()}, cells...)...)
		switch {
		case row.Unknown.IsZero():
		case row.Basis == nil:
			t.Remark("what the shares cost is not known")
		default:
			t.Remark(fmt.Sprintf("what %s of the shares cost is not known; basis and gain are of the others", row.Unknown))
		}
		if row.UnreadRows {
			t.Remark(unreadRemark)
		}
	}
	t.Write(a.Out, a.Columns())
	return nil
}
