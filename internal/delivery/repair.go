package delivery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// What remediation commits is a change like any other. The gate runs the checks on it
// (RepairChecked), a critic that did not write it reviews it (RepairReviewed), and the
// commit that passed both is merged (RepairMerged), or not (RepairUnmerged). The commit
// is recorded before the review starts: the critic is granted its session for it, and
// what the worktree holds later is not merged.

// Repair is the payload of RepairChecked: what remediation committed, and what the
// checks say of it.
type Repair struct {
	Round  int          `json:"round"`
	Commit string       `json:"commit"`
	Base   string       `json:"base"`            // where it left the run's branch
	Files  int          `json:"files"`           // that it changes
	Names  []string     `json:"names,omitempty"` // of the first of them
	Checks []work.Check `json:"checks,omitempty"`
	Output string       `json:"output,omitempty"`
}

// RepairReview is the payload of RepairReviewed.
type RepairReview struct {
	Round    int    `json:"round"`
	Commit   string `json:"commit"`
	Passed   bool   `json:"passed,omitempty"`
	Findings string `json:"findings,omitempty"`
	Turn     int    `json:"turn"`
}

// RepairMerge is the payload of RepairMerged and RepairUnmerged.
type RepairMerge struct {
	Commit string       `json:"commit"`
	Merge  string       `json:"merge,omitempty"` // where the run's branch is then
	Files  int          `json:"files"`
	Names  []string     `json:"names,omitempty"`
	Checks []work.Check `json:"checks,omitempty"` // on the merge
	Output string       `json:"output,omitempty"`
	Reason string       `json:"reason,omitempty"` // why it was not merged
}

// maxNamed is how many of the files that a repair changes are named in an event.
const maxNamed = 10

// stageRoles are the roles that work in the stages of remediation.
var stageRoles = map[Stage]agentsig.Role{
	StageRepair: agentsig.RoleRemediation, StageAudit: agentsig.RoleHealthAuditor, StageReview: agentsig.RoleCritic,
}

// awaits reports whether remediation waits for what this session has to say.
func (m *Remediation) awaits(s *Session) bool {
	return s.Round != 0 && s.Round == m.Round && s.Role == stageRoles[m.Stage]
}

// Trouble is what the next agent of remediation has to be told: what is broken, and
// why the last repair was not merged.
func (m *Remediation) Trouble() string {
	if m.SentBack == "" {
		return m.Cause
	}
	return cutTo(m.SentBack, maxText/2) + "\n\nWhat is to be repaired:\n" + cutTo(m.Cause, maxText/2)
}

// RepairRan is the gate's result on what remediation committed. It is a result of the
// command that runs the checks in [StageVerify].
type RepairRan struct {
	Command string
	Repair
}

func (in RepairRan) decide(r *Run, _ time.Time) ([]Write, error) {
	m := r.Remediation
	if !r.Live() || r.Baseline != nil || m.Stage != StageVerify || m.Dropped || in.Command != r.baselineCommand() {
		return nil, nil
	}
	in.Round, in.Output, in.Names = m.Round, cutTo(in.Output, maxText/2), firstNames(in.Names)
	return []Write{r.event(RepairChecked, "", in.Repair)}, nil
}

// firstNames cuts the names of files to what fits in an event.
func firstNames(files []string) []string {
	var names []string
	for _, name := range files[:min(len(files), maxNamed)] {
		names = append(names, cutTo(name, maxName))
	}
	return names
}

func (r *Run) repairChecked(_ ledger.Event, p Repair) {
	m := &r.Remediation
	r.Baseline = &Baseline{Commit: p.Commit, Checks: p.Checks, Output: p.Output}
	r.Verified++
	m.Repair, m.SentBack = &p, ""
	switch failing := r.failing(); {
	case len(failing) > 0 && !m.Declared:
		r.sendBack("the environment was called healthy, but these checks fail on it: " + strings.Join(failing, ", ") + "\n" + p.Output)
	case m.Declared && r.Settings.Roles[agentsig.RoleCritic].Agent == "":
		r.sendBack("nobody reviews it")
	default:
		m.Stage = StageReview
	}
}

// sendBack has a repair done again, for a reason. If the operator declared the
// environment healthy, work goes on without it instead.
func (r *Run) sendBack(why string) {
	m := &r.Remediation
	m.SentBack = fmt.Sprintf("What was committed for the repair (%s) was not merged: %s", short(m.Repair.Commit), why)
	m.Last, m.Crashes = "", 0
	if m.Declared {
		r.goWithout()
		return
	}
	r.nextRound("")
}

// goWithout has the checks run on the branch as it is. What was committed for the
// repair stays in its worktree.
func (r *Run) goWithout() {
	r.Remediation.Stage, r.Remediation.Dropped, r.Baseline = StageVerify, true, nil
}

// reviewRepair is a critic's verdict on a repair, or nothing if the session was not
// granted for the repair that waits for one.
func (r *Run) reviewRepair(s *Session, in Turn) []Write {
	m := r.Remediation
	if m.Stage != StageReview || !m.awaits(s) || s.Commit != m.Repair.Commit {
		return nil
	}
	review := RepairReview{Round: s.Round, Commit: s.Commit, Passed: in.Verdict == agentsig.KindReviewPassed, Turn: in.Turn}
	if !review.Passed {
		review.Findings = cut(strings.TrimSpace(in.Signal.Payload))
	}
	return []Write{r.event(RepairReviewed, s.ID, review)}
}

func (r *Run) repairReviewed(e ledger.Event, p RepairReview) {
	if s := r.turned(e.Session, p.Turn); s != nil {
		s.Over = itFinished
		delete(r.Unknown, r.unknownKey(s))
	}
	r.Remediation.Accepted, r.Remediation.Approved = false, false
	if p.Passed {
		r.Remediation.Stage, r.Remediation.Reviewed, r.Remediation.Allowed = StageMerge, r.Seq, nil
		return
	}
	r.sendBack("it failed its review.\n" + p.Findings)
}

// mergeRepairCommand names the merge of a repair. One whose checks are others by now is another one.
func (r *Run) mergeRepairCommand() string {
	name := fmt.Sprintf("%s/%d", DoMergeRepair, r.Verified)
	if r.Amended > 0 {
		name += fmt.Sprintf("/%d", r.Amended)
	}
	return name
}

// RepairTask stands for a task where the merge of a repair is spoken of. No task can have
// this name.
const RepairTask = "+remediation"

// allowRepair records which merge of the repair that passed its review is about to be
// made, as [MergeChecked] does for a task.
func (r *Run) allowRepair(in MergeChecked) []Write {
	m := r.Remediation
	if !r.Live() || m.Stage != StageMerge || in.Commit != m.Repair.Commit || in.Base != m.Repair.Base {
		return nil
	}
	allowed := work.Allowed{Run: r.ID, Task: RepairTask, Verdict: m.Reviewed, Commit: in.Commit, Onto: in.Onto, Tree: in.Tree, Base: in.Base}
	if m.Allowed != nil && m.Allowed.Allowed == allowed {
		return nil
	}
	return []Write{r.event(work.MergeAllowed, "", allowed)}
}

// RepairMergeRan is what became of the merge of a repair.
type RepairMergeRan struct {
	Command string // whose result it is
	Commit  string
	Result  string // the merge
	Checks  []work.Check
	Output  string
	Failed  string // why it was not merged
}

func (in RepairMergeRan) decide(r *Run, _ time.Time) ([]Write, error) {
	m := r.Remediation
	if !r.Live() || m.Stage != StageMerge || in.Command != r.mergeRepairCommand() || in.Commit != m.Repair.Commit {
		return nil, nil
	}
	merge := RepairMerge{Commit: in.Commit, Files: m.Repair.Files, Names: m.Repair.Names, Checks: in.Checks, Output: cutTo(in.Output, maxText/3)}
	if a := m.Allowed; in.Failed == "" && (a == nil || a.Commit != in.Commit) {
		in.Failed = work.ErrNotAllowed.Error()
	}
	if in.Failed != "" {
		merge.Reason = cutTo(in.Failed, maxText/3)
		return []Write{r.event(RepairUnmerged, "", merge)}, nil
	}
	merge.Merge = in.Result
	return []Write{r.event(RepairMerged, "", merge)}, nil
}

func (r *Run) repairMerged(e ledger.Event, p RepairMerge) {
	if e.Type == RepairUnmerged {
		r.Verified++
		r.sendBack(p.Reason + "\n" + p.Output)
		return
	}
	r.Outdated = r.Seq
	r.Repairs = append(r.Repairs, Repaired{Merged: p, At: e.Time})
	r.Remediation.Stage = StageVerify
	r.baselineChecked(e, Baseline{Commit: p.Merge, Checks: p.Checks, Output: p.Output})
}

// leftOut says which commit of remediation's is not merged, if work goes on without it.
func (m *Remediation) leftOut() string {
	if !m.Dropped {
		return ""
	}
	return fmt.Sprintf("what was committed for the repair (%s) is not merged", short(m.Repair.Commit))
}

// fileWords names the first of some files.
func fileWords(names []string, all int) string {
	shown := slices.Clone(names[:min(len(names), 3)])
	if more := all - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return strings.Join(shown, ", ")
}
