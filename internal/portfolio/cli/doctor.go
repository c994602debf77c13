package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "See whether the data is whole, and what is missing",
		Long: `Doctor looks at the database, the imports, the accounts, the history and the prices, and says
what is missing for the answers to be right. It changes nothing. Exit code 1 if something is missing.
With --json it prints a list of name, state (ok, warning, missing) and text.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var found []command.Finding
			err := a.with(cmd.Context(), func(s *answer.Service) (err error) {
				found, err = a.diagnose(cmd.Context(), s)
				return err
			})
			if err != nil {
				return err
			}
			if a.JSON {
				err = command.WriteJSON(a.Out, found)
			} else {
				a.SayFindings(found)
			}
			for _, f := range found {
				if f.State == command.Missing && err == nil {
					return errQuiet
				}
			}
			return err
		},
	}
}

func (a *app) diagnose(ctx context.Context, s *answer.Service) (found []command.Finding, err error) {
	say := func(name, state, format string, args ...any) {
		found = append(found, command.Finding{Name: name, State: state, Text: fmt.Sprintf(format, args...)})
	}
	if err := s.Store.Check(ctx); err != nil {
		say("database", command.Missing, "%v", err)
		return found, nil
	}
	path, err := a.database()
	if err != nil {
		return nil, err
	}
	say("database", command.Fine, "%s", path)
	imports, err := s.Store.Imports(ctx)
	if err != nil {
		return nil, err
	}
	state, err := s.Load(ctx, a.day)
	if err != nil {
		return nil, err
	}
	unread, err := s.Store.Unread(ctx, a.lastDay())
	if err != nil {
		return nil, err
	}
	sayImports(say, imports, unread)
	all, err := s.Store.Transactions(ctx, portfolio.NewDate(9999, time.December, 31))
	if err != nil {
		return nil, err
	}
	if n := len(all) - len(state.History); n > 0 {
		say("history", command.Warning, "%s dated after %s, and not looked at", english.Count(n, "transaction"), state.AsOf)
	}
	if len(state.History) == 0 {
		return found, nil
	}
	var unlisted []string
	for _, l := range state.Accounts() {
		if !l.Listed {
			unlisted = append(unlisted, l.ID)
		}
	}
	if len(unlisted) > 0 {
		say("accounts", command.Warning, "not described, so taken for taxable, fifo: %s (portfolio accounts --help)", strings.Join(unlisted, ", "))
	} else {
		say("accounts", command.Fine, "%s described", english.Count(len(state.Settings.Accounts), "account"))
	}
	sayBook(say, state)
	return found, nil
}

func sayImports(say func(name, state, format string, args ...any), imports []store.ImportRow, unread []store.UnreadRow) {
	kinds, open := map[store.Kind]int{}, map[int64]int{}
	for _, row := range unread {
		if row.Settled.IsZero() {
			open[row.Import]++
		}
	}
	for _, i := range imports {
		kinds[i.Kind]++
		if n := open[i.ID]; n > 0 {
			say(string(i.Kind), command.Warning, "%s of %s, import %d, could not be read, and there is no advice on what they are about: see `portfolio unread`", english.Count(n, "row"), safetext.Escape(i.Name), i.ID)
		}
		if i.Unkept > 0 {
			say(string(i.Kind), command.Warning, "%s", answer.Unkept(i))
		}
		if i.Kind == store.Prices && i.Unread > 0 {
			say(string(i.Kind), command.Warning, "%s of %s, import %d, could not be read; import it again with --json to see them", english.Count(i.Unread, "row"), safetext.Escape(i.Name), i.ID)
		}
	}
	for _, kind := range []store.Kind{store.Transactions, store.Prices} {
		if kinds[kind] == 0 {
			say(string(kind), command.Missing, "none yet (portfolio %s --help)", map[store.Kind]string{store.Transactions: "import", store.Prices: "prices import"}[kind])
		} else {
			say(string(kind), command.Fine, "%s", english.Count(kinds[kind], "import"))
		}
	}
}

// sayBook says what of the history and the prices makes answers less than right.
func sayBook(say func(name, state, format string, args ...any), state answer.State) {
	for _, p := range state.Book.Problems {
		say("history", command.Warning, "%s, %s in %s: %s", p.Date, p.Symbol, p.Account, p.Text)
	}
	for _, p := range state.Book.Positions {
		if unknown := p.Quantity.Sub(p.InLots); !unknown.IsZero() {
			say("lots", command.Warning, "%s in %s: nothing says what %s of %s shares cost", p.Symbol, p.Account, unknown, p.Quantity)
		}
	}
	losses := state.Harvest(harvest.Params{})
	for _, m := range losses.Unreconciled {
		say("lots", command.Warning, "%s in %s: the lots have %s shares, and the broker reports %s", m.Ticker, m.Account, m.InLots, m.Reported)
	}
	if len(losses.MissingPrices) > 0 {
		say("prices", command.Warning, "none of %s", strings.Join(losses.MissingPrices, ", "))
	}
	for _, p := range losses.StalePrices {
		say("prices", command.Warning, "the last of %s is of %s", p.Ticker, p.Date)
	}
	for _, symbol := range state.Settings.Exit.Symbols() {
		if _, ok := state.Closes[symbol]; !ok {
			say("prices", command.Warning, "none of %s, which the exit rules look at", symbol)
		}
	}
}
