// Eval delivers small tasks twice, by one agent alone and by Signalbox with the same agent, and holds both against checks that
// neither was shown: how often is a task said to be done that is not, what did it cost, how long did it take?
//
//	eval/run --model-server    a script plays the model: no key is needed, and nothing is spent
//	eval/run --agent claude --yes
//
// A task is a directory: task.md is a plan of one task, with the checks that the agent is told; repo is what it begins from;
// hidden/check, a program in shell, says whether the result is right. hidden/solution.patch is a result that is right;
// instead of it hidden/as-it-is says why nothing has to be changed, or hidden/impossible why nobody can do it.
// hidden/wrong.patch is a result that is wrong. script.txt is what the model says if a script plays it (package modeltest).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/redact"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := exitCode(ctx, start(ctx))
	stop()
	os.Exit(code)
}

// start evaluates, or is the minimal agent of an evaluation.
func start(ctx context.Context) error {
	if len(os.Args) > 1 && os.Args[1] == minimalWord {
		return minimal(ctx, os.Getenv(minimalURL), os.Stdin, os.Stdout)
	}
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// exitCode says what went wrong, if anything did, and how the program ends. A false claim is a result, and no failure of the evaluation.
func exitCode(ctx context.Context, err error) int {
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return command.ExitOK
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "eval: interrupted")
		return command.ExitInterrupted
	}
	fmt.Fprintln(os.Stderr, "eval:", err)
	if errors.As(err, &usage) {
		return command.ExitUsage
	}
	return command.ExitFailure
}

// usageError is about how the program was called.
type usageError struct{ error }

func wrongUsage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// options are what can be asked for.
type options struct {
	agent, model string
	tasks        string
	rounds       int
	modelServer  bool
	may          delivery.Spend // which a task may use in one round of one way
	limit        time.Duration  // of the same
	yes, json    bool
	keep         string
	signalbox    string
}

// parse reads the command line.
func parse(args []string, errs io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("eval", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.agent, "agent", "", "the program that does the work: "+strings.Join(programNames(), ", ")+"; claude if none is named, minimal with --model-server")
	f.StringVar(&o.model, "model", "", "the model, as the program calls it; its own choice if none is named")
	f.StringVar(&o.tasks, "tasks", "", "only these tasks, by their numbers: 01,02")
	f.IntVar(&o.rounds, "rounds", 1, "how often each task is delivered in each way; the table has medians")
	f.BoolVar(&o.modelServer, "model-server", false, "a script plays the model: no key is needed, and nothing is spent")
	f.Float64Var(&o.may.CostUSD, "usd", 2, "US dollars that a task may cost in one round of one way; 0 for no bound")
	f.Int64Var(&o.may.Tokens, "tokens", 3_000_000, "tokens that it may use; 0 for no bound")
	f.DurationVar(&o.limit, "time", 30*time.Minute, "how long it may take")
	f.BoolVar(&o.yes, "yes", false, "spend what it may cost, without being asked")
	f.BoolVar(&o.json, "json", false, "print JSON and no table")
	f.StringVar(&o.keep, "keep", "", "a directory, which must not be there yet, that all repositories and logs are left in")
	f.StringVar(&o.signalbox, "signalbox", "", "the signalbox program; built from these sources if none is named")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, usageError{err}
	}
	if o.agent == "" {
		o.agent = "claude"
		if o.modelServer {
			o.agent = minimalName
		}
	}
	switch {
	case f.NArg() > 0:
		return o, wrongUsage("%q is no flag: there are only flags; --help names them", f.Arg(0))
	case o.rounds < 1 || o.rounds > 100:
		return o, wrongUsage("--rounds is a number from 1 to 100, not %d", o.rounds)
	case o.may.CostUSD < 0 || o.may.Tokens < 0:
		return o, wrongUsage("--usd and --tokens can't be less than 0")
	case o.limit < time.Second:
		return o, wrongUsage("--time is at least a second, not %s", o.limit)
	}
	return o, nil
}

// run evaluates, and prints what came of it.
func run(ctx context.Context, args []string, out, errs io.Writer) (err error) {
	o, err := parse(args, errs)
	if err != nil {
		return err
	}
	p, err := findProgram(o)
	if err != nil {
		return err
	}
	tasks, err := loadTasks(filepath.Join("eval", "tasks"), o.tasks)
	if err != nil {
		return err
	}
	fmt.Fprintln(errs, intent(o, len(tasks)))
	if !o.modelServer && !o.yes {
		return wrongUsage("this uses your login or key, and costs money: say --yes, or --model-server for a script in place of the model")
	}
	dir, done, err := workplace(o.keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	e := evaluation{options: o, program: p, dir: dir}
	if e.redact, err = redact.New(nil); err != nil {
		return err
	}
	if e.signalbox, err = findSignalbox(ctx, o.signalbox, dir); err != nil {
		return err
	}
	results, err := e.all(ctx, tasks, errs)
	if err != nil {
		return err
	}
	if o.json {
		return command.WriteJSON(out, report{Agent: o.agent, Model: o.model, Scripted: o.modelServer, Rounds: o.rounds, Results: results,
			Alone: sum(results, byAlone), Signalbox: sum(results, bySignalbox)})
	}
	_, err = io.WriteString(out, table(results)+"\n"+summary(results)+"\n"+remark(o))
	return err
}

// intent says what will be done, and what it can cost.
func intent(o options, tasks int) string {
	n := tasks * o.rounds * 2
	text := fmt.Sprintf("%d deliveries with %s: tasks %d, rounds %d, each alone and by Signalbox; each takes %s at most.", n, o.agent, tasks, o.rounds, o.limit)
	switch {
	case o.modelServer:
		return text + " A script plays the model: what is called cost is none."
	case o.may.CostUSD > 0:
		return text + fmt.Sprintf(" Each may cost %.2f USD and use %d tokens, so all cost %.2f USD at most, as far as the program tells its cost while it works.", o.may.CostUSD, o.may.Tokens, o.may.CostUSD*float64(n))
	}
	return text + " Nothing bounds what it costs."
}

// remark says what the figures are worth.
func remark(o options) string {
	if o.modelServer {
		return "A script has played the model, with mistakes that its author chose: this shows that the evaluation works, and nothing about models, agents or Signalbox.\n"
	}
	return "These are few, small tasks: a difference of one or two false claims can be chance.\n"
}

// workplace makes the directory that all work is done in. It lies in the home directory, since Codex refuses to work below /tmp.
func workplace(keep string) (dir string, done func() error, err error) {
	if keep != "" {
		if dir, err = filepath.Abs(keep); err != nil {
			return "", nil, err
		}
		if err = os.Mkdir(dir, 0o700); err != nil {
			return "", nil, fmt.Errorf("--keep names a new directory: %w", err)
		}
		return dir, func() error { return nil }, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(home, ".signalbox-eval-"); err != nil {
		return "", nil, err
	}
	return dir, func() error { return removeAll(dir) }, nil
}

// removeAll removes a directory, also if directories in it are read-only, as those of Go's module cache are.
func removeAll(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}

// findSignalbox returns the path of the program that is evaluated.
func findSignalbox(ctx context.Context, named, dir string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	path := filepath.Join(dir, "signalbox")
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	built, err := execute(ctx, here, os.Environ(), "go", "build", "-o", path, "./cmd/signalbox")
	if err == nil && built.exit != 0 {
		err = errors.New(built.text())
	}
	if err != nil {
		return "", fmt.Errorf("signalbox can't be built: %w", err)
	}
	return path, nil
}
