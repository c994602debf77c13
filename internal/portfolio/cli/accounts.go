package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/settings"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) accountsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "accounts",
		Short: "List the accounts, and say what they are",
		Long: `Accounts lists the accounts of the portfolio. What kind an account is decides how its gains
and losses count, so say it in a YAML file and import it:

  accounts:
    - {id: schwab-1234, kind: taxable, owner: me, method: fifo, reinvest: true}
    - {id: fidelity-ira, kind: ira, owner: me}

The kind is taxable, ira, roth or 401k; the method by which a sale picks its lots is fifo or hifo;
reinvest says whether dividends buy shares. An account that nobody described is taken for taxable,
fifo. The file may also have groups of symbols that are one for the wash-sale rule (identical) or
may be (similar), filing (single, joint, married_separately) and the exit rules (exit):
docs/portfolio.md has them all.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, err := a.load(cmd.Context())
			if err != nil {
				return err
			}
			accounts := state.Accounts()
			if a.JSON {
				return command.WriteJSON(a.Out, accounts)
			}
			a.sayAccounts(accounts)
			return nil
		},
	}
	c.AddCommand(&cobra.Command{
		Use:   "import FILE",
		Short: "Say what the accounts are, from a YAML file",
		Long: `Import reads a YAML file of accounts and rules and puts it in the place of the one before, as a
whole: what is not in it is forgotten.`,
		Args: one("a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := safetext.Escape(args[0])
			f, err := os.Open(args[0])
			if err != nil {
				return errors.New(safetext.Escape(err.Error()))
			}
			file, err := settings.Read(f)
			if err := errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			var accounts []answer.Account
			err = a.with(cmd.Context(), func(s *answer.Service) error {
				accounts, err = s.ImportAccounts(cmd.Context(), args[0], file)
				return err
			})
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, accounts)
			}
			fmt.Fprintf(a.Out, "%s and the rules of %s are in place of those before.\n", english.Count(len(file.Accounts), "account"), name)
			begun := slices.ContainsFunc(accounts, func(l answer.Account) bool { return l.Transactions > 0 })
			for _, l := range accounts {
				switch {
				case !l.Listed:
					fmt.Fprintf(a.Out, "%s is not described, so it is taken for taxable, fifo.\n", l.ID)
				case l.Transactions == 0 && begun: // its id may be misspelt
					fmt.Fprintf(a.Out, "%s has no transactions yet.\n", l.ID)
				}
			}
			return nil
		},
	})
	return c
}

func (a *app) sayAccounts(accounts []answer.Account) {
	if len(accounts) == 0 {
		fmt.Fprintln(a.Out, "There are no accounts yet: import a broker's file, or say what they are (portfolio accounts --help).")
		return
	}
	t := command.NewTable("account", "kind", "owner", "method", "reinvests", ">transactions", "")
	for _, l := range accounts {
		reinvests, remark := "not said", ""
		if l.Reinvest != nil {
			reinvests = map[bool]string{true: "yes", false: "no"}[*l.Reinvest]
		}
		if !l.Listed {
			remark = "not described: taken for taxable, fifo"
		}
		t.Add(l.ID, string(l.Kind), l.Owner, string(l.Method), reinvests, fmt.Sprint(l.Transactions), remark)
	}
	t.Write(a.Out, a.Columns())
}
