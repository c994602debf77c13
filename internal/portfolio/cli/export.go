package cli

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/beancount"
)

func (a *app) exportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the history for another program",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.beancountCommand())
	return c
}

func (a *app) beancountCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "beancount",
		Short: "Write the history as a file of beancount",
		Long: `Beancount writes what was imported as a file for beancount and Fava: accounts, commodities, purchases
as lots with cost and day, sales of named lots, dividends, transfers, and what companies decided.

Costs are what was paid. Wash sales are not booked: a sale's metadata says what of its loss was
disallowed. Deposits are not known, so cash is not what the account has. What nobody could read, and
what the history does not explain, is a comment ("; not read:", "; not told:").`,
		Example: `  portfolio export beancount > portfolio.beancount
  portfolio export beancount --output portfolio.beancount`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.needsData = true
			state, err := a.load(cmd.Context())
			if err != nil {
				return err
			}
			return a.export(state, output)
		},
	}
	c.Flags().StringVar(&output, "output", "", "write to this `FILE` instead of standard output")
	return c
}

func (a *app) export(state answer.State, output string) error {
	in := beancount.Input{AsOf: state.AsOf, History: state.History, Book: state.Book, Rules: state.Settings.Rules(), Unread: state.Unread}
	if output == "" {
		return beancount.Write(a.Out, in)
	}
	var text bytes.Buffer
	if err := beancount.Write(&text, in); err != nil {
		return err
	}
	return a.writeFile(output, "export", text.Bytes())
}
