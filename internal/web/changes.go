package web

import (
	"context"
	"net/http"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/evidence"
)

// Changed says what is shown of a task's work.
type Changed struct {
	Base, Commit string // what it is compared with, and the last commit of the work
	Live         bool   // it is shown as it lies in its worktree now
	Uncommitted  bool   // there is more in the worktree than in that commit, and it is shown too
	Unread       string // why the worktree could not be looked at, and the commit is shown alone
}

// changesView is what a task changes, as it was when the page was made.
type changesView struct {
	Work    string
	Asked   bool // somebody wants to see it: it takes a look into the worktree
	Problem string
	Changed
	Diff shownDiff
}

// changesOf looks at what a task changes now. One looks at a time: it may take long.
func (p *Page) changesOf(ctx context.Context, name string, w evidence.Work, r api.Run) changesView {
	v := changesView{Work: name, Asked: true}
	p.tasks.looking.Lock()
	defer p.tasks.looking.Unlock()
	var text beginning
	var err error
	v.Changed, err = p.o.Box.Changes(ctx, w, r, &text)
	if err != nil && !text.over {
		v.Problem = err.Error()
		return v
	}
	v.Diff = parseDiff(text.text.Bytes(), text.over)
	for i := range v.Diff.Files {
		for j := range v.Diff.Files[i].Hunks {
			for k := range v.Diff.Files[i].Hunks[j].Lines {
				v.Diff.Files[i].Hunks[j].Lines[k].At = "" // nobody is asked for comments
			}
		}
	}
	return v
}

// take makes who looks the developer of a task, and says where its work is.
func (p *Page) take(w http.ResponseWriter, a asked, work, text string) {
	taken, err := a.client.Take(a.Context(), work)
	if err != nil {
		p.showTask(w, a, work, statusOf(err), refuses(work, err.Error(), text))
		return
	}
	p.show(w, a.Request, http.StatusOK, "plain.html", plain{Title: work + " is yours", Work: work, Back: true, Text: []string{
		"Its work is on the box's machine, in " + taken.Worktree,
		"An agent that worked on it is told to end. When nobody works on it any more, change it there.",
		"Hand it in with `signalbox give " + work + "`. Its page has *Give back*, for agents to go on with it.",
	}})
}
