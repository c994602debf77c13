package cli

import (
	"context"
	"crypto/sha256"
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
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
	"github.com/signalbox-dev/signalbox/safetext"
)

// An imported is what became of one file.
type imported struct {
	File    string    `json:"file"`
	Format  string    `json:"format,omitempty"`
	Added   int       `json:"added"`
	Known   int       `json:"known"`
	Changed int       `json:"changed,omitempty"`
	Skipped []skipped `json:"skipped"`
	// LotsDiffer says where the broker's own lots, if the file has any, are not as ours.
	LotsDiffer []string `json:"lots_differ,omitempty"`
	Error      string   `json:"error,omitempty"`
}

// unread is how many rows somebody has to look at.
func (i imported) unread() (n int) {
	for _, row := range i.Skipped {
		if !row.Known {
			n++
		}
	}
	return n
}

// A skipped is a row that became nothing.
type skipped struct {
	Line   int    `json:"line"`
	Text   string `json:"text"`
	Reason string `json:"reason"`
	Known  bool   `json:"no_effect"` // it was understood; otherwise somebody has to look
}

func (a *app) importCommand() *cobra.Command {
	var account string
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "Read transactions from brokers' files",
		Long: `Import reads transactions from files and keeps them. The format is recognised from what is in
a file: Schwab, Fidelity, Vanguard and E*TRADE CSV, IBKR Flex XML, OFX, and a plain CSV or JSON with
date, account, action, symbol, quantity, price, fees, note (actions BUY, SELL, REINVEST, SPLIT,
DIVIDEND, TRANSFER_IN, TRANSFER_OUT; of a SPLIT the quantity is the new shares for one old).

Every row is read or reported with its line and the reason. Importing a file again, or one that
overlaps with another, adds only what is new.`,
		Example: `  portfolio import schwab.csv fidelity.csv
  portfolio import --account schwab-1234 export.csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.importing("transaction", func(ctx context.Context, s *answer.Service, in *input) (imported, error) {
			return importTransactions(ctx, s, in, account)
		}),
	}
	c.Flags().StringVar(&account, "account", "", "the `ID` of the account, for files that do not name one")
	return c
}

// importing is a command that reads files of transactions or prices.
func (a *app) importing(noun string, read func(context.Context, *answer.Service, *input) (imported, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, files []string) error {
		ctx := cmd.Context()
		a.fills = true
		return a.with(ctx, func(s *answer.Service) error {
			return a.importFiles(ctx, files, func(in *input) (imported, error) { return read(ctx, s, in) }, noun)
		})
	}
}

// importFiles reads one file after the other. One that can't be read does not keep the others out.
func (a *app) importFiles(ctx context.Context, files []string, read func(*input) (imported, error), noun string) error {
	all := make([]imported, 0, len(files))
	failed := false
	for _, file := range files {
		result, err := a.importFile(file, read)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = true
			result.Error = err.Error()
		}
		result.File = file
		if result.Skipped == nil {
			result.Skipped = []skipped{}
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

func (a *app) importFile(path string, read func(*input) (imported, error)) (imported, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return imported{}, errors.New("there is no such file")
	case err != nil:
		return imported{}, errors.New(safetext.Escape(err.Error()))
	case info.IsDir():
		return imported{}, errors.New("it is a directory; name the files in it")
	case !info.Mode().IsRegular():
		return imported{}, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return imported{}, errors.New(safetext.Escape(err.Error()))
	}
	in := &input{app: a, from: f, name: filepath.Base(path), size: info.Size(), began: a.now()}
	result, err := read(in)
	in.done()
	return result, errors.Join(err, f.Close())
}

func importTransactions(ctx context.Context, s *answer.Service, in *input, account string) (imported, error) {
	hash := sha256.New()
	file, err := broker.Read(io.TeeReader(in, hash), broker.Options{Account: account})
	if errors.Is(err, broker.ErrUnknownFormat) {
		err = fmt.Errorf("%w (prices: portfolio prices import; accounts: portfolio accounts import)", err)
	}
	if err != nil {
		return imported{}, err
	}
	result := imported{Format: file.Format}
	for _, row := range file.Skipped {
		result.Skipped = append(result.Skipped, skipped(row))
	}
	if account != "" {
		fmt.Fprintf(hash, "\x00account %s", account)
	}
	counts, err := s.Store.ImportTransactions(ctx, store.Import{
		Name: in.name, Format: file.Format, Hash: [32]byte(hash.Sum(nil)), At: s.Now(), Unread: result.unread(),
	}, file.Transactions, file.Holdings)
	result.Added, result.Known = counts.Added, counts.Known
	if err == nil && len(file.Lots) > 0 {
		var state answer.State
		if state, err = s.Load(ctx, file.Lots[0].AsOf); err == nil {
			result.LotsDiffer = state.CompareLots(file.Lots)
		}
	}
	return result, err
}

// sayImported tells a person what became of a file: each row that has to be looked at, and how
// many of those that have no effect, by their reason.
func (a *app) sayImported(result imported, noun string) {
	name := safetext.Escape(result.File)
	if result.Error != "" {
		fmt.Fprintf(a.Err, "portfolio: %s: %s\n", name, safetext.EscapeLines(result.Error))
		return
	}
	fmt.Fprintf(a.Out, "%s: %s, %s added", name, result.Format, count(result.Added, noun))
	if result.Known > 0 {
		fmt.Fprintf(a.Out, ", %d known already", result.Known)
	}
	if result.Changed > 0 {
		fmt.Fprintf(a.Out, ", %d changed", result.Changed)
	}
	const most = 20
	var reasons []string
	counted, look := map[string]int{}, 0
	if n := result.unread(); n > 0 {
		fmt.Fprintf(a.Out, ", %s", a.Paint(command.Yellow, count(n, "row")+" not read"))
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
	for i, difference := range result.LotsDiffer {
		if i == most {
			fmt.Fprintf(a.Out, "  and %d lots more; --json lists them all\n", len(result.LotsDiffer)-most)
			break
		}
		fmt.Fprintf(a.Out, "  %s %s\n", a.Paint(command.Yellow, "lots differ:"), safetext.Escape(difference))
	}
	for _, reason := range reasons {
		fmt.Fprintf(a.Out, "  no effect: %s, %s\n", count(counted[reason], "row"), reason)
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
