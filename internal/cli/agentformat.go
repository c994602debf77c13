package cli

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/boxtools"
)

// The values of --format.
const (
	formatText  = "text"
	formatAgent = "agent"
)

// agentHelp says the same of every command that has the flag.
const agentHelp = `With --format agent it prints what an agent gets that asks over the tool server: one JSON object of at most 3,072 bytes with a verdict, what
to do next, flags (docs/flags.md), and the path of a file with the rest, which is written only if something was left out.`

// formatFlag adds the flag --format.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", formatText, "text for people, or agent: what an agent gets (`FORMAT`)")
}

// forAgent reports whether a reply in agent format is asked for.
func (a *app) forAgent(format string) (bool, error) {
	switch {
	case format == formatText:
		return false, nil
	case format != formatAgent:
		return false, a.UsageError("--format %q: give text or agent", format)
	case a.JSON:
		return false, a.UsageError("--format agent goes without --json: it is JSON by itself")
	}
	return true, nil
}

// tellAgent prints a reply in agent format, or what went wrong in the same format. All text in it is escaped already.
func (a *app) tellAgent(reply any, err error) error {
	if err != nil {
		reply = agentreply.Failed(err)
	}
	data, wrong := json.Marshal(reply)
	if wrong == nil {
		_, wrong = a.Out.Write(append(data, '\n'))
	}
	if wrong == nil && err != nil {
		return errQuiet
	}
	return wrong
}

// keepWhole saves the whole of which a reply has a part.
func (a *app) keepWhole(name string, now time.Time, whole any) agentformat.File {
	return boxtools.Save(filepath.Join(a.dir, agentreply.Directory), name, now, whole)
}

// statusForAgent is the reply about a run; it says so if there is none, or if the box can't write.
func (a *app) statusForAgent(s status, running bool, now time.Time) (any, error) {
	switch {
	case !s.Box.Writable:
		return nil, &api.Problem{Code: api.CodeCannotWrite, Message: s.Box.Reason}
	case s.Run == nil:
		return agentreply.Everything.Runs(nil, false, now), nil
	}
	r := agentreply.Standing(*s.Run, running)
	return agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.RunSnapshot] {
		return agentreply.Everything.Run(r, now, f)
	}, func() agentformat.File { return a.keepWhole("run_"+r.ID, now, agentreply.Everything.WholeRun(r, now)) }), nil
}

func (a *app) inboxForAgent(questions []api.Question, now time.Time) any {
	return agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.InboxSnapshot] {
		return agentreply.Everything.Inbox(questions, now, f)
	}, func() agentformat.File {
		return a.keepWhole("inbox", now, agentreply.Everything.WholeInbox(questions, now))
	})
}

// showForAgent is the reply about a task, or about work by hand.
func (a *app) showForAgent(ctx context.Context, name string, now time.Time) (any, error) {
	v, err := look(ctx, a, func(c *api.Client) (agentreply.TaskView, error) { return askTask(ctx, c, name) })
	if err != nil {
		return nil, err
	}
	v.Run = agentreply.Standing(v.Run, a.running())
	return agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.TaskSnapshot] {
		return agentreply.Everything.Task(v, now, f)
	}, func() agentformat.File {
		return a.keepWhole("task_"+v.Work.ID, now, agentreply.Everything.WholeTask(v, now))
	}), nil
}

// askTask asks a box for a task, its run and its item.
func askTask(ctx context.Context, c *api.Client, name string) (v agentreply.TaskView, err error) {
	if v.Work, err = workNamed(ctx, c, name); err != nil {
		return v, err
	}
	r, err := runWith(ctx, c, v.Work.ID)
	if err != nil || r == nil {
		return v, err
	}
	v.Run = *r
	if i := slices.IndexFunc(r.Tasks, func(t api.Task) bool { return t.Work == v.Work.ID }); i >= 0 {
		v.Task = r.Tasks[i]
	}
	return v, nil
}
