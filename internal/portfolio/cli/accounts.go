package cli

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/settings"
	"github.com/signalbox-dev/signalbox/internal/portfolio/tools"
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
			accounts := accountsOf(state)
			if a.json {
				return command.WriteJSON(a.Out, accounts)
			}
			a.sayAccounts(accounts)
			return nil
		},
	}
	c.AddCommand(&cobra.Command{
		Use:   "import FILE",
		Short: "Say what the accounts are, from a YAML file",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			set, err := settings.Parse(data)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			err = a.with(cmd.Context(), func(s *tools.Service) error { return s.Store.SaveSettings(cmd.Context(), data) })
			if err != nil {
				return err
			}
			if a.json {
				return command.WriteJSON(a.Out, listed(set.Accounts))
			}
			fmt.Fprintf(a.Out, "%s and the rules of %s are in place of those before.\n", count(len(set.Accounts), "account"), args[0])
			return nil
		},
	})
	return c
}

// A listing is an account as it is shown.
type listing struct {
	portfolio.Account
	Listed       bool `json:"listed"` // somebody described it
	Transactions int  `json:"transactions"`
}

func listed(accounts []portfolio.Account) []listing {
	list := make([]listing, 0, len(accounts))
	for _, account := range accounts {
		list = append(list, listing{Account: account, Listed: true})
	}
	return list
}

// accountsOf are the accounts that are described, and those that only have transactions.
func accountsOf(state tools.State) []listing {
	list := listed(state.Settings.Accounts)
	for _, t := range state.History {
		i := slices.IndexFunc(list, func(l listing) bool { return l.ID == t.Account })
		if i < 0 {
			i = len(list)
			list = append(list, listing{Account: portfolio.Unlisted(t.Account)})
		}
		list[i].Transactions++
	}
	return list
}

func (a *app) sayAccounts(accounts []listing) {
	if len(accounts) == 0 {
		fmt.Fprintln(a.Out, "There are no accounts yet: import a broker's file, or say what they are (portfolio accounts --help).")
		return
	}
	t := newTable("account", "kind", "owner", "method", "reinvests", ">transactions", "")
	for _, l := range accounts {
		reinvests, remark := "not said", ""
		if l.Reinvest != nil {
			reinvests = map[bool]string{true: "yes", false: "no"}[*l.Reinvest]
		}
		if !l.Listed {
			remark = "not described: taken for taxable, fifo"
		}
		t.add(l.ID, string(l.Kind), l.Owner, string(l.Method), reinvests, fmt.Sprint(l.Transactions), remark)
	}
	t.write(a.Out)
}
