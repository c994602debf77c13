package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) importCommand() *cobra.Command {
	var account string
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "Read transactions from brokers' files",
		Long: `Import reads transactions from files and keeps them. The format is recognised from what is in
a file: Schwab, Fidelity, Vanguard and E*TRADE CSV, IBKR Flex XML, OFX, and a plain CSV or JSON with
date, account, action, symbol, quantity, price, fees, note (actions BUY, SELL, REINVEST, SPLIT,
DIVIDEND, TRANSFER_IN, TRANSFER_OUT, BUY_CALL; of a SPLIT the quantity is the new shares for one old),
and for RETURN_OF_CAPITAL, SPINOFF, MERGER and RENAME also ratio, basis_share, into and into_price.

Every row is read or reported with its line and the reason. Those that could not be read are kept
(portfolio unread): there is no advice on their tickers before they are settled. Importing a file again, or one that
overlaps with another, adds only what is new.`,
		Example: `  portfolio import schwab.csv fidelity.csv
  portfolio import --account schwab-1234 export.csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.importing(transactionNoun, func(ctx context.Context, s *answer.Service, path string, r io.Reader) (answer.Imported, error) {
			result, err := s.ImportTransactions(ctx, path, r, account)
			if errors.Is(err, broker.ErrUnknownFormat) {
				err = fmt.Errorf("%w (prices: portfolio prices import; accounts: portfolio accounts import)", err)
			}
			return result, err
		}),
	}
	c.Flags().StringVar(&account, "account", "", "the `ID` of the account, for files that do not name one")
	return c
}

// transactionNoun is what an import of transactions counts.
const transactionNoun = "transaction"

// A reading imports what it reads from a file.
type reading func(ctx context.Context, s *answer.Service, path string, r io.Reader) (answer.Imported, error)

// importing is a command that reads files of transactions or prices.
func (a *app) importing(noun string, read reading) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, files []string) error {
		ctx := cmd.Context()
		return a.with(ctx, func(s *answer.Service) error { return a.importFiles(ctx, s, files, read, noun) })
	}
}

// importFiles reads one file after the other. One that can't be read does not keep the others out.
func (a *app) importFiles(ctx context.Context, s *answer.Service, files []string, read reading, noun string) error {
	all := make([]answer.Imported, 0, len(files))
	failed := false
	for _, file := range files {
		result, err := a.importFile(ctx, s, file, read)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = true
			result.Error = err.Error()
		}
		all = append(all, result)
		if !a.JSON {
			a.sayImported(result, noun)
		}
	}
	if a.JSON {
		if err := command.WriteJSON(a.Out, all); err != nil {
			return err
		}
	}
	if failed {
		return errQuiet
	}
	return nil
}

func (a *app) importFile(ctx context.Context, s *answer.Service, path string, read reading) (answer.Imported, error) {
	none := answer.Imported{File: path, Skipped: []answer.Skipped{}}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return none, errors.New("there is no such file")
	case err != nil:
		return none, errors.New(safetext.Escape(err.Error()))
	case info.IsDir():
		return none, errors.New("it is a directory; name the files in it")
	case !info.Mode().IsRegular():
		return none, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return none, errors.New(safetext.Escape(err.Error()))
	}
	in := &input{app: a, from: f, name: filepath.Base(path), size: info.Size(), began: a.now()}
	result, err := read(ctx, s, path, in)
	in.done()
	return result, errors.Join(err, f.Close())
}

// sayImported tells a person what became of a file: each row that has to be looked at, and how
// many of those that have no effect, by their reason.
func (a *app) sayImported(result answer.Imported, noun string) {
	name := safetext.Escape(result.File)
	if result.Error != "" {
		fmt.Fprintf(a.Err, "portfolio: %s: %s\n", name, safetext.EscapeLines(result.Error))
		return
	}
	fmt.Fprintf(a.Out, "%s: %s, %s added", name, result.Format, english.Count(result.Added, noun))
	if result.Known > 0 {
		fmt.Fprintf(a.Out, ", %d known already", result.Known)
	}
	if result.Changed > 0 {
		fmt.Fprintf(a.Out, ", %d changed", result.Changed)
	}
	const most = 20
	var reasons []string
	counted, look := map[string]int{}, 0
	if n := result.Unread(); n > 0 {
		fmt.Fprintf(a.Out, ", %s", a.Paint(command.Yellow, english.Count(n, "row")+" not read"))
	}
	fmt.Fprintln(a.Out)
	for _, row := range result.Skipped {
		if row.Known {
			if counted[row.Reason] == 0 {
				reasons = append(reasons, row.Reason)
			}
			counted[row.Reason]++
			continue
		}
		if look++; look <= most {
			fmt.Fprintf(a.Out, "  %s line %d: %s\n    %s\n", a.Paint(command.Yellow, "not read:"), row.Line, row.Reason, row.Text)
		}
	}
	if look > most {
		fmt.Fprintf(a.Out, "  and %d more that could not be read; --json lists them all\n", look-most)
	}
	if look > 0 && noun == transactionNoun {
		fmt.Fprintln(a.Out, "  There is no advice on the tickers of rows that were not read: see `portfolio unread`.")
	}
	for i, difference := range result.LotsDiffer {
		if i == most {
			fmt.Fprintf(a.Out, "  and %d lots more; --json lists them all\n", len(result.LotsDiffer)-most)
			break
		}
		fmt.Fprintf(a.Out, "  %s %s\n", a.Paint(command.Yellow, "lots differ:"), safetext.Escape(difference))
	}
	for _, reason := range reasons {
		fmt.Fprintf(a.Out, "  no effect: %s, %s\n", english.Count(counted[reason], "row"), reason)
	}
}

// An input is a file that shows on a terminal how far it is read, once that takes over a second.
type input struct {
	app   *app
	from  io.Reader
	name  string
	size  int64
	read  int64
	began time.Time
	shown int64
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.from.Read(p)
	in.read += int64(n)
	if in.app.Live && in.size > 0 && in.app.now().Sub(in.began) > time.Second {
		if percent := in.read * 100 / in.size; percent > in.shown {
			in.shown = percent
			fmt.Fprintf(in.app.Err, "\r%s: %d %%", safetext.Escape(in.name), min(percent, 100))
		}
	}
	return n, err
}

func (in *input) done() {
	if in.shown > 0 {
		fmt.Fprintf(in.app.Err, "\r%s\r", strings.Repeat(" ", len(in.name)+8))
	}
}
