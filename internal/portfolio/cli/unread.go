package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) unreadCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "unread",
		Short: "List the rows that could not be read, and settle them",
		Long: `Unread lists the rows of your files that do something, though nobody could read what: a merger, a
short sale, an action that is not known. As long as such a row is open, there is no advice on its
ticker: it is no candidate of harvest, and exit-signals gives no orders for it. A row that names no
ticker is told with its account: any position of it may be affected.

For each row, write what it did into a plain CSV (portfolio import --help) and import that; or find that
it did nothing. Then settle the row by its id. Reopen takes that back. Removing an import removes its
rows, and importing the file again brings them back, open.

With --json it prints a list of id, date, account, symbol, file, import, line, text, reason and
settled_at; what a row does not say is left out.`,
		Example: `  portfolio unread
  portfolio unread settle 3 4
  portfolio unread reopen 4`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s *answer.Service) error { return a.sayUnread(cmd.Context(), s, all) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list those that are settled, too")
	c.AddCommand(a.markCommand("settle", "Say that rows are dealt with",
		`Settle says of rows that you wrote what they did into a file of your own and imported it, or that
they did nothing. From then on they stand in the way of no advice. All ids are settled, or none.`,
		"settled", func(ctx context.Context, s *answer.Service, ids []int64) error {
			return s.Store.Settle(ctx, s.Now(), ids...)
		}))
	c.AddCommand(a.markCommand("reopen", "Take back that rows are dealt with",
		`Reopen takes back what settle said: there is no advice on the rows' tickers again.`,
		"open again", func(ctx context.Context, s *answer.Service, ids []int64) error { return s.Store.Reopen(ctx, ids...) }))
	return c
}

// markCommand is settle or reopen.
func (a *app) markCommand(name, short, long, done string, mark func(context.Context, *answer.Service, []int64) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " ID...", Short: short, Long: long,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("name the rows by their ids; `portfolio unread` lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var ids []int64
			for _, arg := range args {
				id, err := strconv.ParseInt(arg, 10, 64)
				if err != nil {
					return a.UsageError("%.40q is no id of an unread row; `portfolio unread` lists them", arg)
				}
				ids = append(ids, id)
			}
			return a.with(cmd.Context(), func(s *answer.Service) error {
				if err := mark(cmd.Context(), s, ids); err != nil {
					return fmt.Errorf("row %w; `portfolio unread --all` lists them, and nothing was changed", err)
				}
				if a.JSON {
					return command.WriteJSON(a.Out, map[string][]int64{strings.ReplaceAll(done, " ", "_"): ids})
				}
				fmt.Fprintf(a.Out, "%s %s.\n", english.Count(len(ids), "row"), done)
				return nil
			})
		},
	}
}

// An unreadRow is a row that could not be read as JSON has it.
type unreadRow struct {
	ID        int64          `json:"id"`
	Date      portfolio.Date `json:"date,omitzero"`
	Account   string         `json:"account,omitempty"`
	Symbol    string         `json:"symbol,omitempty"`
	File      string         `json:"file"`
	Import    int64          `json:"import"`
	Line      int            `json:"line"`
	Text      string         `json:"text"`
	Reason    string         `json:"reason"`
	SettledAt string         `json:"settled_at,omitempty"`
}

// lastDay is a day that no row is after.
func (a *app) lastDay() portfolio.Date {
	if a.day.IsZero() {
		return portfolio.NewDate(9999, time.December, 31)
	}
	return a.day
}

func (a *app) sayUnread(ctx context.Context, s *answer.Service, all bool) error {
	rows, err := s.Store.Unread(ctx, a.lastDay())
	if err != nil {
		return err
	}
	imports, err := s.Store.Imports(ctx)
	if err != nil {
		return err
	}
	if !all {
		rows = slices.DeleteFunc(rows, func(row store.UnreadRow) bool { return !row.Settled.IsZero() })
	}
	if a.JSON {
		list := []unreadRow{}
		for _, row := range rows {
			one := unreadRow{row.ID, row.Date, row.Account, row.Symbol, row.File, row.Import, row.Line, row.Text, row.Reason, ""}
			if !row.Settled.IsZero() {
				one.SettledAt = row.Settled.Format(time.RFC3339)
			}
			list = append(list, one)
		}
		if err := command.WriteJSON(a.Out, list); err != nil {
			return err
		}
		a.sayUnkept(imports)
		return nil
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.Out, "No row is open: what the files say was read, or is settled.")
	} else {
		a.sayUnreadTable(rows)
	}
	a.sayUnkept(imports)
	return nil
}

func (a *app) sayUnreadTable(rows []store.UnreadRow) {
	t := command.NewTable(">id", "date", "symbol", "account", "state", "line of")
	open := 0
	for _, row := range rows {
		day, state := "", "open"
		if !row.Date.IsZero() {
			day = row.Date.String()
		}
		if row.Settled.IsZero() {
			open++
		} else {
			state = "settled"
		}
		t.Add(fmt.Sprint(row.ID), day, safetext.Escape(row.Symbol), safetext.Escape(row.Account), state, fmt.Sprintf("%d of %s", row.Line, safetext.Escape(row.File)))
		t.Remark(safetext.Escape(row.Reason), "row: "+safetext.Escape(row.Text))
	}
	t.Write(a.Out, a.Columns())
	if open > 0 {
		fmt.Fprintf(a.Out, "\nThere is no advice on the ticker of an open row. Write what it did into a plain\nCSV and import that, or find that it did nothing. Then `portfolio unread settle ID`.\n")
	}
}

// sayUnkept tells of rows that nobody can list any more.
func (a *app) sayUnkept(imports []store.ImportRow) {
	for _, i := range imports {
		if i.Unkept > 0 {
			fmt.Fprintf(a.Err, "portfolio: %s\n", answer.Unkept(i))
		}
	}
}

// warnUnread tells beside a result of which tickers, and in which accounts, rows are open.
func (a *app) warnUnread(rows []portfolio.Unread) {
	if len(rows) == 0 {
		return
	}
	const most = 8
	concerned := map[string]bool{}
	for _, row := range rows {
		switch {
		case row.Symbol != "":
			concerned[row.Symbol] = true
		case row.Account != "":
			concerned["account "+row.Account] = true // after the tickers, which are in capitals
		}
	}
	names := slices.Sorted(maps.Keys(concerned))
	about := ""
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		about = " (" + safetext.Escape(strings.Join(names, ", ")) + ")"
	}
	fmt.Fprintf(a.Err, "portfolio: %s could not be read%s, so what is said of that may be wrong; see `portfolio unread`\n", english.Count(len(rows), "row"), about)
}

// unreadRemark is what a table says below a ticker with an open row.
const unreadRemark = "rows of it could not be read, so this may be wrong: see `portfolio unread`"
