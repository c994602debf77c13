package boxtools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/mcpserver"
	"github.com/signalbox-dev/signalbox/internal/plan"
)

// change calls the box to have something recorded, and answers with what was done and the run as it is then.
func (t *tools) change(ctx context.Context, call func(Box) (did string, r api.Run, err error)) (mcpserver.Result, error) {
	var did string
	var r api.Run
	err := t.host.With(ctx, true, func(b Box) (err error) {
		did, r, err = call(b)
		return err
	})
	if err != nil {
		return mcpserver.Result{}, err
	}
	return t.done(did, r), nil
}

// done is the reply to a command.
func (t *tools) done(did string, r api.Run) mcpserver.Result {
	r = t.standing(r)
	t.remember(r)
	return result(t.reader().Done(did, r, now()))
}

// readPlan reads the plan of a call: its text, or that of a file.
func (t *tools) readPlan(a *mcpserver.Arguments) func(context.Context) (api.StartRun, error) {
	written, path := a.Text("plan"), a.Text("path")
	if (written == "") == (path == "") {
		a.Say("give the plan's text as plan, or the path of its file, and one of them only")
	}
	if line := strings.TrimSpace(written); strings.HasSuffix(line, ".md") && !strings.Contains(line, "\n") {
		a.Say("plan is the plan's text, and this looks like a path: give it as path")
	}
	if len(written) > api.MaxPlan {
		a.Say("the plan has %d bytes of at most %d: make two plans of it", len(written), api.MaxPlan)
	}
	return func(ctx context.Context) (api.StartRun, error) {
		if path == "" {
			return api.StartRun{Plan: written}, nil
		}
		text, at, err := t.host.ReadPlan(ctx, path)
		return api.StartRun{Plan: string(text), Path: at}, err
	}
}

func (t *tools) checkPlan(a *mcpserver.Arguments) run {
	read := t.readPlan(a)
	return func(ctx context.Context) (mcpserver.Result, error) {
		q, err := read(ctx)
		if err != nil {
			return mcpserver.Result{}, err
		}
		if _, err := plan.Parse([]byte(q.Plan)); err != nil {
			return t.wrongPlan(err), nil
		}
		r, err := t.host.Check(ctx, q)
		if err != nil {
			return mcpserver.Result{}, err
		}
		return result(t.reader().Plan(r, nil, now())), nil
	}
}

// wrongPlan is the reply to a plan that can't be read.
func (t *tools) wrongPlan(err error) mcpserver.Result {
	findings := []agentreply.Finding{}
	var all *plan.Errors
	if errors.As(err, &all) {
		for _, e := range all.List {
			findings = append(findings, agentreply.Finding{Line: e.Line, Text: e.Text})
		}
	} else {
		findings = append(findings, agentreply.Finding{Text: err.Error()})
	}
	return result(t.reader().Plan(api.Run{}, findings, now()))
}

func (t *tools) startRun(a *mcpserver.Arguments) run {
	read, amend, beside := t.readPlan(a), a.Flag("amend"), a.Flag("beside")
	if amend && beside {
		a.Say("amend and beside are two different things: choose one")
	}
	return func(ctx context.Context) (mcpserver.Result, error) {
		q, err := read(ctx)
		if err != nil {
			return mcpserver.Result{}, err
		}
		p, err := plan.Parse([]byte(q.Plan))
		if err != nil {
			return t.wrongPlan(err), nil
		}
		q.Amend, q.Beside = amend, beside
		r, err := t.host.Start(ctx, q)
		if err != nil {
			return mcpserver.Result{}, err
		}
		words := " delivers the plan, which has 1 task"
		if n := len(p.Tasks); n != 1 {
			words = fmt.Sprintf(" delivers the plan, which has %d tasks", n)
		}
		return t.done(r.ID+words, r), nil
	}
}

func (t *tools) tell(a *mcpserver.Arguments) run {
	work, text := id(a, "work"), a.Text("text")
	return func(ctx context.Context) (mcpserver.Result, error) {
		return t.change(ctx, func(b Box) (string, api.Run, error) {
			told, err := b.Tell(ctx, work, api.Message{Text: text})
			if err != nil {
				return "", api.Run{}, err
			}
			did := "the next agent on " + told.Work + " is told"
			if told.Now {
				did = "the agent on " + told.Work + " is told"
			}
			r, err := b.Run(ctx, runOf(told.Work))
			return did, r, err
		})
	}
}

// runOf is the run of a task's item.
func runOf(work string) string {
	run, _, _ := strings.Cut(work, ".")
	return run
}

func (t *tools) retry(a *mcpserver.Arguments) run {
	work, text := id(a, "work"), a.Text("text")
	return func(ctx context.Context) (mcpserver.Result, error) {
		return t.change(ctx, func(b Box) (string, api.Run, error) {
			r, err := b.RetryTask(ctx, work, api.Message{Text: text})
			return work + " is tried again", r, err
		})
	}
}

// errDistrusted refuses to resume a run for an agent. What the box paused it for may be that agent's own change.
var errDistrusted = &api.Problem{Code: api.CodeConflict, Message: "the box paused the run, because something that its agents follow was changed: only a person resumes it, with `signalbox pause --resume`"}

func (t *tools) pause(a *mcpserver.Arguments) run {
	name, resume, why := cmp.Or(id(a, "run"), api.LatestRun), a.Flag("resume"), api.Message{Text: a.Text("reason")}
	return func(ctx context.Context) (mcpserver.Result, error) {
		return t.change(ctx, func(b Box) (did string, r api.Run, err error) {
			if r, err = b.Run(ctx, name); err != nil {
				return "", r, err
			}
			if resume && r.Distrust != "" {
				return "", r, errDistrusted
			}
			if resume {
				r, err = b.ResumeRun(ctx, r.ID, why)
				return r.ID + " goes on", r, err
			}
			r, err = b.PauseRun(ctx, r.ID, why)
			return r.ID + " is paused", r, err
		})
	}
}

func (t *tools) cancel(a *mcpserver.Arguments) run {
	name, why := id(a, "id"), api.Message{Text: a.Text("reason")}
	if name == "" {
		a.Say("id is that of a task or a run")
	}
	return func(ctx context.Context) (mcpserver.Result, error) {
		return t.change(ctx, func(b Box) (did string, r api.Run, err error) {
			if r, err = b.Run(ctx, name); err == nil && r.ID == name {
				r, err = b.CancelRun(ctx, name, why)
			} else {
				r, err = b.CancelTask(ctx, name, why)
			}
			return name + " is cancelled", r, err
		})
	}
}

func (t *tools) answerQuestion(a *mcpserver.Arguments) run {
	name, text := id(a, "question"), a.Text("answer")
	if strings.TrimSpace(text) == "" {
		a.Say("the answer is empty")
	}
	return func(ctx context.Context) (mcpserver.Result, error) {
		var left []api.Question
		var q api.Question
		var r api.Run
		err := t.host.With(ctx, true, func(b Box) (err error) {
			all, err := b.Questions(ctx)
			if err != nil {
				return err
			}
			for _, asked := range all {
				if asked.ID == name {
					err = errors.Join(err, asked.Fits(text))
				}
			}
			if err != nil {
				return err
			}
			if q, err = b.Answer(ctx, name, api.Answer{Text: text}); err != nil {
				return err
			}
			if q.Run == "" { // about work that stands alone
				left, err = b.Questions(ctx)
				return err
			}
			r, err = b.Run(ctx, q.Run)
			return err
		})
		switch {
		case err != nil:
			return mcpserver.Result{}, err
		case q.Run == "":
			return result(t.reader().Inbox(left, now(), agentformat.File{})), nil
		}
		return t.done(name+" is answered", r), nil
	}
}

func (t *tools) reviewTask(a *mcpserver.Arguments) run {
	work, accept, commit := id(a, "work"), a.Flag("accept"), a.Text("commit")
	var comments []string
	for line := range strings.Lines(a.Text("comments")) {
		if line = strings.TrimSpace(line); line != "" {
			comments = append(comments, line)
		}
	}
	if !accept && len(comments) == 0 {
		a.Say("to send work back, say why in comments")
	}
	const least = 7
	if len(commit) < least || !isID(commit) {
		a.Say("commit is the one that the person saw, by %d of its digits at least", least)
	}
	return func(ctx context.Context) (mcpserver.Result, error) {
		return t.change(ctx, func(b Box) (string, api.Run, error) {
			s, err := b.Sight(ctx, work)
			if err != nil {
				return "", api.Run{}, err
			}
			if !strings.HasPrefix(s.Commit, commit) {
				return "", api.Run{}, &api.Problem{Code: api.CodeConflict, Message: fmt.Sprintf(
					"the work has changed since: %.12s is to be reviewed now; show the person its diff, and review that", s.Commit)}
			}
			r, err := b.Review(ctx, s.Work, api.Verdict{Accept: accept, Comments: comments, Role: s.Role, Commit: s.Commit, Tree: s.Tree, Base: s.Base})
			if accept {
				return s.Work + " is accepted", r, err
			}
			return s.Work + " is sent back", r, err
		})
	}
}
