package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "See whether everything is there to deliver a plan",
		Long: `Doctor looks at what a delivery needs: git and the checkout, the settings, the agents'
programs, room on the disk, the box. It changes nothing. Exit code 1 if something is missing.
With --json it prints a list of name, state (ok, warning, missing) and text.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.diagnose(cmd.Context())
			bad := false
			for _, d := range found {
				bad = bad || d.State == missing
			}
			if a.json {
				if err := writeJSON(a.Out, found); err != nil {
					return err
				}
			} else {
				a.sayDiagnosis(found)
			}
			if bad {
				return errQuiet
			}
			return nil
		},
	}
}

// diagnosis is what doctor found about one thing.
type diagnosis struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Text  string `json:"text"`
}

const (
	fine    = "ok"
	warning = "warning"
	missing = "missing"
)

func (a *app) sayDiagnosis(found []diagnosis) {
	colours := map[string]string{fine: green, warning: yellow, missing: red}
	for _, d := range found {
		text := strings.ReplaceAll(agentsig.EscapeLines(d.Text), "\n", "\n"+strings.Repeat(" ", 25))
		fmt.Fprintf(a.Out, "%s  %-14s  %s\n", a.paint(colours[d.State], fmt.Sprintf("%-7s", d.State)), d.Name, text)
	}
}

// uncommitted counts the changes in the checkout that are not committed.
func (a *app) uncommitted(ctx context.Context) (int, error) {
	repo, err := worktree.Open(ctx, a.home)
	if err != nil {
		return 0, err
	}
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return 0, err
	}
	found, err := repo.Fingerprint(ctx, repo.Top(dir))
	return len(found.Files) + found.Unseen, err
}

func (a *app) diagnose(ctx context.Context) []diagnosis {
	var all []diagnosis
	say := func(name, state, format string, args ...any) {
		all = append(all, diagnosis{name, state, fmt.Sprintf(format, args...)})
	}
	repo, err := worktree.Open(ctx, a.home)
	if err != nil {
		say("git", missing, "%v", err)
	} else {
		a.diagnoseCheckout(ctx, repo, say)
	}
	c, err := a.settings("")
	if err != nil {
		say("settings", missing, "%v", err)
	} else {
		a.diagnoseSettings(c, say)
	}
	if free, err := freeSpace(a.dir); err == nil {
		state := fine
		if free < 1<<30 {
			state = warning
		}
		say("disk", state, "%.1f GB free", float64(free)/1e9)
	}
	a.diagnoseBox(ctx, say)
	return all
}

func (a *app) diagnoseCheckout(ctx context.Context, repo *worktree.Repo, say func(name, state, format string, args ...any)) {
	branch, commit, err := repo.Head(ctx)
	if err != nil {
		say("git", missing, "%v", err)
		return
	}
	if branch == "" {
		branch = "no branch"
	}
	say("git", fine, "%s at %.7s", branch, commit)
	switch n, err := a.uncommitted(ctx); {
	case err != nil:
		say("checkout", warning, "%v", err)
	case n > 0:
		say("checkout", warning, "%s not committed: agents start from the last commit", count(n, "change"))
	default:
		say("checkout", fine, "clean")
	}
}

func (a *app) diagnoseSettings(c config.Config, say func(name, state, format string, args ...any)) {
	if len(c.Agents) == 0 {
		say("settings", missing, "there are no agents: name some in %s (`signalbox init` writes one)", filepath.Join(a.home, config.File))
		return
	}
	say("settings", fine, "%s, %s", count(len(c.Agents), "agent"), count(len(c.Checks), "check"))
	if len(c.Checks) == 0 {
		say("checks", warning, "the gate runs nothing: add checks to %s, or a Verification section to the plan", config.File)
	}
	for _, role := range agentsig.Roles() {
		name := c.Role(role).Agent
		agent, ok := c.Agents[name]
		if !ok {
			say(string(role), missing, "nobody plays it")
			continue
		}
		if path, err := agent.Find(c.Dir); err != nil {
			say(string(role), missing, "%s: %v", name, err)
		} else {
			say(string(role), fine, "%s: %s", name, path)
		}
	}
}

func (a *app) diagnoseBox(ctx context.Context, say func(name, state, format string, args ...any)) {
	if _, err := os.Stat(a.dir); errors.Is(err, os.ErrNotExist) {
		say("box", fine, "none yet; `signalbox run` makes one in %s", a.dir)
		return
	}
	if !a.running() {
		say("box", fine, "not running; `signalbox run` or `signalbox up` starts it")
		return
	}
	status, err := ask(ctx, a, box.Dir.APIToken, func(c *api.Client) (api.Status, error) { return c.Status(ctx) })
	if err != nil {
		say("box", missing, "%v", err)
		return
	}
	say("box", fine, "running; %s", count(int(status.Events), "event"))
}
