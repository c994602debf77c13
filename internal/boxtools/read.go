package boxtools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/mcpserver"
)

// ask calls the box for something, in a request that changes nothing.
func ask[T any](ctx context.Context, t *tools, call func(Box) (T, error)) (v T, err error) {
	err = t.host.With(ctx, false, func(b Box) error {
		v, err = call(b)
		return err
	})
	return v, err
}

// maxListed is how many runs a reply is made of.
const maxListed = 50

func (t *tools) listRuns(a *mcpserver.Arguments) run {
	all := a.Flag("all")
	return func(ctx context.Context) (mcpserver.Result, error) {
		more := false
		runs, err := ask(ctx, t, func(b Box) (runs []api.Run, err error) {
			_, err = api.Pages(api.From{}, maxListed, func(from api.From) (api.Page[api.Run], error) { return b.Runs(ctx, !all, from) }, func(page []api.Run) error {
				runs = append(runs, page...)
				if n := len(runs) - maxListed; n > 0 {
					more, runs = true, slices.Delete(runs, 0, n)
				}
				return nil
			})
			if err == nil && len(runs) == 0 {
				var latest api.Run
				if latest, err = b.Run(ctx, api.LatestRun); err == nil {
					runs = []api.Run{latest}
				}
			}
			return runs, err
		})
		if err != nil && !notFound(err) { // where no plan was delivered yet there is no box to ask
			return mcpserver.Result{}, err
		}
		for i, r := range runs {
			runs[i] = t.standing(r)
		}
		return result(t.reader().Runs(runs, more, now())), nil
	}
}

// notFound reports whether an error says that there is no such thing.
func notFound(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Code == api.CodeNotFound
}

func (t *tools) getRun(a *mcpserver.Arguments) run {
	name := cmp.Or(id(a, "run"), api.LatestRun)
	return func(ctx context.Context) (mcpserver.Result, error) {
		r, err := ask(ctx, t, func(b Box) (api.Run, error) { return b.Run(ctx, name) })
		if err != nil {
			return mcpserver.Result{}, err
		}
		return t.run(r), nil
	}
}

// standing is a run as it stands with the box that is there, or with none.
func (t *tools) standing(r api.Run) api.Run { return agentreply.Standing(r, t.host.Running()) }

// run is the reply about a run. The client is told of all that stands there.
func (t *tools) run(r api.Run) mcpserver.Result {
	r = t.standing(r)
	t.remember(r)
	at := now()
	return result(agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.RunSnapshot] {
		return t.reader().Run(r, at, f)
	}, func() agentformat.File { return t.save("run_"+r.ID, t.reader().WholeRun(r, at)) }))
}

// save saves what did not go into a reply.
func (t *tools) save(name string, whole any) agentformat.File {
	t.saving.Lock()
	defer t.saving.Unlock()
	return Save(t.host.Replies(), name, now(), whole)
}

// Save saves the whole of which a reply has a part, in the directory that a box has for them. If that is a link, nothing is written
// where it leads, and nothing removed there.
func Save(dir, name string, at time.Time, whole any) agentformat.File {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return agentformat.File{Err: fmt.Errorf("the result could not be saved: %s in the box's directory is no directory: remove it", agentreply.Directory)}
	}
	return agentreply.Kept.Save(dir, name, at, whole)
}

// view asks for a task with its run, or for work by hand, which has none.
func (t *tools) view(ctx context.Context, b Box, name string) (v agentreply.TaskView, err error) {
	if v.Work, err = b.Work(ctx, name); err != nil {
		return v, err
	}
	of, _, isTask := strings.Cut(v.Work.ID, ".")
	if !isTask {
		return v, nil
	}
	if v.Run, err = b.Run(ctx, of); notFound(err) { // work by hand may be named like a task
		return v, nil
	}
	for _, task := range v.Run.Tasks {
		if task.Work == v.Work.ID {
			v.Task = task
		}
	}
	v.Run = t.standing(v.Run)
	return v, err
}

func (t *tools) getTask(a *mcpserver.Arguments) run {
	name := id(a, "work")
	return func(ctx context.Context) (mcpserver.Result, error) {
		v, err := ask(ctx, t, func(b Box) (agentreply.TaskView, error) { return t.view(ctx, b, name) })
		if err != nil {
			return mcpserver.Result{}, err
		}
		at := now()
		return result(agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.TaskSnapshot] {
			return t.reader().Task(v, at, f)
		}, func() agentformat.File { return t.save("task_"+v.Work.ID, t.reader().WholeTask(v, at)) })), nil
	}
}

func (t *tools) explainWait(a *mcpserver.Arguments) run {
	name := id(a, "work")
	return func(ctx context.Context) (mcpserver.Result, error) {
		v, err := ask(ctx, t, func(b Box) (agentreply.TaskView, error) { return t.view(ctx, b, name) })
		if err != nil {
			return mcpserver.Result{}, err
		}
		return result(t.reader().Wait(v, now())), nil
	}
}

func (t *tools) listQuestions(*mcpserver.Arguments) run {
	return func(ctx context.Context) (mcpserver.Result, error) {
		all, err := ask(ctx, t, func(b Box) ([]api.Question, error) { return b.Questions(ctx) })
		if err != nil && !notFound(err) { // as above
			return mcpserver.Result{}, err
		}
		at := now()
		return result(agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.InboxSnapshot] {
			return t.reader().Inbox(all, at, f)
		}, func() agentformat.File { return t.save("inbox", t.reader().WholeInbox(all, at)) })), nil
	}
}

// maxText is how much of a diff or a log pages are made of, in bytes.
const maxText = 32 << 20

func (t *tools) getDiff(a *mcpserver.Arguments) run {
	name, from := id(a, "work"), a.Integer("offset", 0)
	return func(ctx context.Context) (mcpserver.Result, error) {
		return page(ctx, "diff", name, int(from), t.host.Diff)
	}
}

// lastPage is where a log is begun to be shown, in bytes before its end: all of it fits into a reply, as a rule.
const lastPage = 1800

func (t *tools) getLog(a *mcpserver.Arguments) run {
	name, from := id(a, "work"), a.Integer("offset", -lastPage)
	return func(ctx context.Context) (mcpserver.Result, error) {
		return page(ctx, "log", name, int(from), t.host.Log)
	}
}

// page is a page of a text.
func page(ctx context.Context, what, of string, from int, write func(context.Context, string, io.Writer) error) (mcpserver.Result, error) {
	b := &beginning{most: maxText}
	if err := write(ctx, of, b); err != nil {
		return mcpserver.Result{}, err
	}
	for {
		r := agentreply.Text(agentreply.TextView{What: what, Of: of, Whole: b.kept.String(), Offset: from, Total: b.total}, now())
		if from >= 0 || r.Snapshot.Onward == 0 || b.total > b.kept.Len() {
			return result(r), nil
		}
		from /= 2 // the end is wanted, and what is escaped takes more room
	}
}

// beginning keeps the beginning of what is written, and counts the rest.
type beginning struct {
	kept        bytes.Buffer // not embedded: everything comes by Write
	most, total int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.total += len(p)
	b.kept.Write(p[:min(len(p), b.most-b.kept.Len())])
	return len(p), nil
}

func (t *tools) proveEvent(a *mcpserver.Arguments) run {
	sequence := a.Integer("sequence", 0)
	return func(ctx context.Context) (mcpserver.Result, error) {
		proof, key, err := t.host.Prove(ctx, sequence)
		if err != nil {
			return mcpserver.Result{}, err
		}
		event, checkpoint, err := proof.Verify(key)
		if err != nil {
			return mcpserver.Result{}, err
		}
		return result(agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.ProofSnapshot] {
			return agentreply.Proof(proof, event, checkpoint, f)
		}, func() agentformat.File { return t.save(fmt.Sprintf("proof_%d", sequence), proof) })), nil
	}
}
