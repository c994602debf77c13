package runner

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A merge that a person is to approve is kept for them to look at, and the branch stays where it is. The checks do not run
// again on what they have approved, and run on anything else, and on what is outdated.
func TestMergeApproved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run.Settings.Approve = delivery.Person
	b.change("new.txt", "new\n")
	b.judge()
	b.refuse = true
	merge := delivery.Command{ID: "merge/1", Do: delivery.DoMerge}
	b.carryOut(merge)
	m := b.checked[0]
	if refs := gittest.Git(t, b.exchange.Common(), "for-each-ref", "--format=%(refname)", "--points-at="+m.Checked); refs != "refs/signalbox/R1/"+m.Checked {
		t.Errorf("it is kept as %q", refs)
	}
	if files := gittest.Git(t, b.exchange.Common(), "diff", "--name-only", m.Onto, m.Checked); files != "new.txt" {
		t.Errorf("the merge changes %q", files)
	}
	if tip := gittest.Git(t, b.repo, "rev-parse", b.run.Branch); tip != m.Onto {
		t.Errorf("the branch has moved to %s", tip)
	}

	b.refuse, b.config.Checks[0].Command = false, "false"
	for name, change := range map[string]func(p *work.Proposal){
		"open": func(p *work.Proposal) { p.Approved = 0 }, "another tree": func(p *work.Proposal) { p.Tree = m.Commit }, "outdated": func(p *work.Proposal) { p.Seq = 1 },
	} {
		p := proposal(m)
		change(p)
		b.run.Outdated, b.run.Tasks[0].Item.Proposal = 2, p
		if in, ok := b.carryOut(merge).(delivery.MergeRan); !ok || in.Failed == "" || in.Result != "" {
			t.Errorf("%s: told %+v", name, in)
		}
	}
	b.run.Tasks[0].Item.Proposal = proposal(m)
	if in, ok := b.carryOut(merge).(delivery.MergeRan); !ok || in.Failed != "" || in.Trouble != "" || in.Result == "" {
		t.Errorf("told %+v", in)
	}
}

// proposal is a merge that a person has approved.
func proposal(m delivery.MergeChecked) *work.Proposal {
	return &work.Proposal{Seq: 3, Proposed: work.Proposed{Allowed: work.Allowed{Commit: m.Commit, Onto: m.Onto, Tree: m.Tree, Base: m.Base}, Checked: m.Checked}, Approved: 4}
}
