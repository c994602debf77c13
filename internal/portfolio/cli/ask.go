package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/safetext"
)

// asked are the flags that both tools have.
type asked struct{ account, format, output string }

func (a *app) askFlags(c *cobra.Command, formats string) *asked {
	var q asked
	c.Flags().StringVar(&q.account, "account", "", "only the account with this `ID`")
	c.Flags().StringVar(&q.format, "format", "", "print the reply that an agent gets in this `FORMAT`: "+formats)
	c.Flags().StringVar(&q.output, "output", reply.OutputInline, "file also writes the full result to a file; `WHERE` is inline or file")
	c.Flags().StringVar(&a.logs, "logs", "logs", "the `DIRECTORY` for such files")
	return &q
}

func (a *app) exitSignalsCommand() *cobra.Command {
	var shares string
	var q *asked
	c := &cobra.Command{
		Use:   "exit-signals [TICKER]",
		Short: "Which positions your rules say to leave",
		Long: `Exit-signals checks the exit rules for a ticker: by default the trend (the last month's end below
its 10-month mean) and the market's regime (the index below its 200-day mean). It says what that
comes to, how much to sell in which account, where a stop goes, and what the sale would mean in tax.
Without a ticker it checks all that are held, and shows those to leave first. It recommends, and
places no orders.

Too little history and old prices are an error, never a reason to hold. With --format or --json it
prints the reply that an agent gets.`,
		Example: `  portfolio exit-signals
  portfolio exit-signals SLV
  portfolio exit-signals SLV --format agent --output file`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := exitsignal.Params{AccountID: q.account, Format: q.format, Output: q.output}
			if len(args) > 0 {
				p.Ticker = args[0]
			}
			if shares != "" {
				n, err := portfolio.ParseDecimal(shares)
				if err != nil {
					return a.UsageError("--shares: %w", err)
				}
				p.Shares = &n
			}
			return a.with(cmd.Context(), func(s *answer.Service) error {
				if p.Format != "" || a.JSON {
					return a.sayReply(s.CheckExitSignals(cmd.Context(), p))
				}
				if p.Ticker == "" {
					return a.saySurvey(s.Survey(cmd.Context(), p))
				}
				return a.sayExit(s.Exit(cmd.Context(), p))
			})
		},
	}
	q = a.askFlags(c, "summary (default), full or agent")
	c.Flags().StringVar(&shares, "shares", "", "how many shares to decide on, if not all that are held (`N`)")
	return c
}

func (a *app) harvestCommand() *cobra.Command {
	var least, carried, order string
	var q *asked
	c := &cobra.Command{
		Use:   "harvest",
		Short: "Which losses could be realised, and what would be washed",
		Long: `Harvest lists the lots in taxable accounts that are at a loss: how much, short- or long-term, what
a sale today would lose to the wash-sale rule and by which purchase, from which day buying again is
safe, and whether a sale has to name the lot because another would be sold first.

Losses offset the gains of the year first. What was realised in it so far is counted; losses of
earlier years are counted if --carryover says them. They are taken as one amount, short- and
long-term together: the sums are right, the rates of tax are not looked at.

With --format or --json it prints the reply that an agent gets; --format report prints Markdown.`,
		Example: `  portfolio harvest --min-loss 100
  portfolio harvest --carryover 4200
  portfolio harvest --format agent`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := harvest.Params{SortBy: order, AccountID: q.account, Format: q.format, Output: q.output}
			if least != "" {
				n, err := portfolio.ParseDecimal(least)
				if err != nil {
					return a.UsageError("--min-loss: %w", err)
				}
				p.MinLoss = &n
			}
			if carried != "" {
				n, err := portfolio.ParseDecimal(carried)
				if err != nil {
					return a.UsageError("--carryover: %w", err)
				}
				p.Carryover = &n
			}
			return a.with(cmd.Context(), func(s *answer.Service) error {
				switch {
				case p.Format == reply.FormatReport && !a.JSON:
					return a.sayMarkdown(s.Harvest(cmd.Context(), p))
				case p.Format != "" || a.JSON:
					return a.sayReply(s.SuggestTaxLossHarvest(cmd.Context(), p))
				}
				return a.sayHarvest(s.Harvest(cmd.Context(), p))
			})
		},
	}
	q = a.askFlags(c, "summary (default), full, report or agent")
	c.Flags().StringVar(&least, "min-loss", "", "leave out lots that lost less than this `AMOUNT`")
	c.Flags().StringVar(&carried, "carryover", "", "losses carried over from earlier years, as an `AMOUNT` of zero or more")
	c.Flags().StringVar(&order, "sort-by", "", "`ORDER` of the lots: loss (default), ticker, date or term")
	return c
}

// sayReply prints a tool's reply as it is.
func (a *app) sayReply(r reply.Reply) error {
	if err := command.WriteJSON(a.Out, r.Body); err != nil {
		return err
	}
	if r.Failed {
		return errQuiet
	}
	return nil
}

// sayFlags shows what to know first.
func (a *app) sayFlags(flags []agentformat.Flag) {
	colours := map[agentformat.Severity]string{
		agentformat.Error: command.Red, agentformat.Warning: command.Yellow, agentformat.Success: command.Green,
	}
	for _, f := range flags {
		fmt.Fprintf(a.Out, "  %s  %s\n", a.Paint(colours[f.Severity], fmt.Sprintf("%-7s", f.Severity)), safetext.Escape(f.Message))
	}
}

func (a *app) sayFile(file agentformat.File) {
	if file.Err != nil {
		fmt.Fprintf(a.Err, "portfolio: the full result could not be written: %s\n", safetext.EscapeLines(file.Err.Error()))
	} else if file.Path != "" {
		fmt.Fprintf(a.Out, "\nThe full result is in %s\n", safetext.Escape(file.Path))
	}
}

// sayVerdict shows a snapshot's first line and its flags.
func (a *app) sayVerdict(status, verdict string, flags []agentformat.Flag) error {
	if status != agentformat.StatusSuccess {
		return errors.New(verdict)
	}
	fmt.Fprintln(a.Out, a.Paint(command.Bold, safetext.Escape(verdict)))
	a.sayFlags(flags)
	return nil
}

func (a *app) sayExit(result *exitsignal.Result, file agentformat.File) error {
	snapshot := result.Snapshot()
	defer a.sayFile(file)
	if err := a.sayVerdict(result.Status, snapshot.Verdict, snapshot.Flags()); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	t := command.NewTable("rule", "", "says", ">severity", "why")
	for _, s := range result.Signals {
		says := map[bool]string{true: "exit", false: "stay"}[s.Triggered]
		if s.Status != exitrule.StatusOK {
			says = "can't say"
		}
		t.Add(s.RuleName, map[bool]string{true: "primary", false: ""}[s.IsPrimary], says, fmt.Sprintf("%.2f", s.Severity), s.Message)
	}
	t.Write(a.Out, a.Columns())
	lines := result.Lines()
	if len(lines) > 0 {
		fmt.Fprintln(a.Out)
	}
	for _, line := range lines {
		fmt.Fprintln(a.Out, safetext.Escape(line))
	}
	fmt.Fprintf(a.Out, "\n%s\n", a.Paint(command.Faint, result.Disclaimer))
	return nil
}

func (a *app) sayHarvest(result *harvest.Result, file agentformat.File) error {
	snapshot := result.Snapshot()
	defer a.sayFile(file)
	if err := a.sayVerdict(result.Status, snapshot.Verdict, snapshot.Flags()); err != nil {
		return err
	}
	if len(result.Candidates) > 0 {
		fmt.Fprintln(a.Out)
		t := command.NewTable("ticker", "account", "acquired", ">quantity", ">basis", ">value", ">loss", "term")
		for _, c := range result.Candidates {
			t.Add(c.Ticker, c.Account, c.Acquired.String(), c.Quantity.String(), c.Basis.Cents(), c.Value.Cents(), c.UnrealizedLoss.Cents(), c.Term)
			t.Remark(remarks(c)...)
		}
		t.Write(a.Out, a.Columns())
		fmt.Fprintf(a.Out, "\nEach lot's remarks hold if it is sold alone today.\nAll of them together would lose %s to the wash-sale rule, %s for good.\nBuying any of these again before %s washes the loss.\n",
			result.IfAllSold.Disallowed.Cents(), result.IfAllSold.Permanent.Cents(), result.Candidates[0].NoBuyUntil)
		for _, line := range result.YearLines() {
			fmt.Fprintln(a.Out, line)
		}
	}
	fmt.Fprintf(a.Out, "\n%s\n", a.Paint(command.Faint, result.Disclaimer))
	return nil
}

func (a *app) sayMarkdown(result *harvest.Result, file agentformat.File) error {
	defer a.sayFile(file)
	if result.Status != agentformat.StatusSuccess {
		return errors.New(result.Error)
	}
	fmt.Fprint(a.Out, safetext.EscapeLines(result.Markdown()))
	return nil
}

// remarks are what to know before a lot is sold.
func remarks(c harvest.Candidate) (list []string) {
	if !c.Disallowed.IsZero() {
		washed := c.Disallowed.Cents() + " would be washed"
		switch {
		case c.Permanent.Cmp(c.Disallowed) == 0:
			washed += " for good"
		case !c.Permanent.IsZero():
			washed += ", " + c.Permanent.Cents() + " of it for good"
		}
		list = append(list, washed+"; nothing from "+c.WashFreeFrom.String()+" on")
	}
	if !c.Unsettled.IsZero() {
		list = append(list, "whether "+c.Unsettled.Cents()+" would be washed is unsettled; nothing from "+c.WashFreeFrom.String()+" on")
	}
	for _, p := range c.Projected {
		list = append(list, "a dividend may buy on "+p.Date.String())
	}
	if c.SoldFirst != nil {
		list = append(list, "name this lot in the sale, or the account sells first: "+c.SoldFirst.String())
	}
	if c.StalePrice {
		list = append(list, "the price is of "+c.PriceDate.String()+", so the loss is not known: import newer ones")
	}
	return list
}
