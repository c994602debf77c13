// Package cli is the portfolio command line: it reads flags, calls one function for each command,
// and shows the result to a person or, with --json, to a program.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
	"github.com/signalbox-dev/signalbox/safetext"
)

// errQuiet ends a command with exit code 1 when all has been said.
const errQuiet = command.Exit(command.ExitFailure)

// app is one run of the program.
type app struct {
	command.Program
	db   string
	asOf string
	logs string
	now  func() time.Time
	day  portfolio.Date // of asOf; no day is today
	// needsData is a command that has nothing to say without data.
	needsData bool
}

// Run runs the command line and returns its exit code.
func Run(ctx context.Context, args []string, env command.Env) int {
	a := &app{Program: command.Program{Env: env}, now: time.Now}
	ended := make(chan int, 1)
	go func() {
		ended <- a.Execute(ctx, a.root(), args, func(err error) any {
			return map[string]string{"status": "error", "error": err.Error()}
		})
	}()
	select {
	case code := <-ended:
		return code
	case <-ctx.Done():
	}
	// What computes does not look at the context. It has no side effects that could be left half
	// done, so it need not be waited for.
	select {
	case code := <-ended:
		return code
	case <-time.After(grace):
		return command.ExitInterrupted
	}
}

// grace is how long a command may take to end once it is interrupted.
const grace = 5 * time.Second

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "portfolio",
		Short: "Lots, wash sales and exit signals of your own portfolio, offline",
		Long: `Portfolio reads the files that your brokers give you and keeps them in one file on this
machine. From them it works out what you hold in which lots, what you realised and what the
wash-sale rule took of it (positions, gains), which positions your rules say to leave
(exit-signals), and which losses could be realised without being washed (harvest).

Nothing leaves the machine, and no orders are placed. Agents ask the same questions over the
Model Context Protocol (mcp).

It informs; it is no tax or investment advice.

Exit codes: 0 ok, 1 failure, 2 wrong usage, 130 interrupted. With --json a failure is an object
with status and error.`,
		Example: `  portfolio accounts import accounts.yaml
  portfolio import schwab.csv fidelity.csv ibkr.xml
  portfolio prices import prices.csv
  portfolio harvest
  portfolio exit-signals SLV
  portfolio report report.html`,
		Version:       command.BuildVersion().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if a.asOf != "" {
				day, err := portfolio.ParseDate(a.asOf)
				if err != nil {
					return fmt.Errorf("--as-of: %w", err)
				}
				a.day = day
			}
			a.Started = true
			return nil
		},
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&a.JSON, "json", false, "print JSON for programs instead of text for people")
	flags.StringVar(&a.asOf, "as-of", "", "look at the portfolio as it was on this `DATE`, as YYYY-MM-DD (default today)")
	flags.StringVar(&a.db, "db", "", "the database `FILE` (default $PORTFOLIO_DB, else portfolio/portfolio.db in your configuration directory)")
	command.Group(root, "Bring data in", a.importCommand(), a.importsCommand(), a.unreadCommand(), a.accountsCommand(), a.pricesCommand(), a.doctorCommand())
	command.Group(root, "Look at it", a.positionsCommand(), a.gainsCommand(), a.exitSignalsCommand(), a.harvestCommand(), a.reportCommand(), a.exportCommand())
	command.Group(root, "For agents, and about the program", a.mcpCommand(), a.benchCommand(), a.VersionCommand("portfolio"), a.ManualCommand("portfolio"))
	command.Dress(root)
	return root
}

// one is for commands that take one argument.
func one(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("name %s, and nothing else", what)
		}
		return nil
	}
}

// database is the file that is used.
func (a *app) database() (string, error) {
	if a.db != "" {
		return a.db, nil
	}
	if db := os.Getenv("PORTFOLIO_DB"); db != "" {
		return db, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no configuration directory for the database: %w; name one with --db", err)
	}
	return filepath.Join(dir, "portfolio", "portfolio.db"), nil
}

// with opens the portfolio for one command. Where there is none yet, it says so: it may be the wrong file.
func (a *app) with(ctx context.Context, use func(*answer.Service) error) error {
	path, err := a.database()
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if a.needsData {
			return fmt.Errorf("there is no database at %s: import something first, or name another with --db or PORTFOLIO_DB", safetext.Escape(path))
		}
		fmt.Fprintf(a.Err, "portfolio: %s is a new, empty database; --db or PORTFOLIO_DB names another\n", safetext.Escape(path))
	}
	s, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(use(&answer.Service{Store: s, Logs: a.logs, AsOf: a.day, Now: a.now}), s.Close())
}

// load reads the portfolio, and says to people what is odd about its history.
func (a *app) load(ctx context.Context) (state answer.State, err error) {
	err = a.with(ctx, func(s *answer.Service) error {
		state, err = s.Load(ctx, portfolio.Date{})
		return err
	})
	return state, err
}

// warn tells of what the history does not explain, beside the result.
func (a *app) warn(state answer.State) {
	const most = 5
	a.warnUnread(state.Unread)
	problems := state.Book.Problems
	for i, p := range problems {
		if i == most {
			fmt.Fprintf(a.Err, "portfolio: %d more; see `portfolio doctor`\n", len(problems)-most)
			break
		}
		fmt.Fprintf(a.Err, "portfolio: %s %s %s: %s\n", p.Date, p.Account, p.Symbol, safetext.EscapeLines(p.Text))
	}
}
