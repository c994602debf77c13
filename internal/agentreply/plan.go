package agentreply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
)

// Finding is something that is wrong with a plan.
type Finding struct {
	Line int    `json:"line,omitempty"` // from 1; not there if it is about the plan as a whole
	Text string `json:"quoted_text"`
}

// PlanSnapshot is what would become of a plan.
type PlanSnapshot struct {
	Head
	OK        bool          `json:"ok"`
	Title     string        `json:"quoted_title"`
	Tasks     int           `json:"tasks"`
	Ready     int           `json:"ready"`  // tasks that can be started at once
	Checks    int           `json:"checks"` // that the gate runs
	AtOnce    int           `json:"agents_at_once"`
	Branch    string        `json:"branch"`
	Running   string        `json:"running,omitempty"`   // the run that delivers the same plan
	Delivered string        `json:"delivered,omitempty"` // the run that has delivered it
	Amends    *Amends       `json:"amends,omitempty"`
	Findings  List[Finding] `json:"findings"`
	Exposed   string        `json:"quoted_exposed,omitempty"`
}

// Amends is what the plan would make of a run that delivers another version of it.
type Amends struct {
	Run     string       `json:"run"`
	Done    int          `json:"done"`    // they stay so
	New     List[string] `json:"new"`     // they are added
	Changed List[string] `json:"changed"` // they are done anew
	Gone    List[string] `json:"gone"`    // they are given up
}

// idsOf lists tasks of a plan.
func idsOf(all []string) List[string] {
	l := List[string]{len(all), []string{}}
	for _, one := range all {
		l.First = append(l.First, id(one))
	}
	return l
}

const (
	maxFindingsShown = 8
	maxFinding       = 200
)

// Plan is the reply to a plan that was looked at and not started: a dry run, or what is wrong with it.
func (who Reader) Plan(r api.Run, findings []Finding, now time.Time) agentformat.Response[PlanSnapshot] {
	w := who.words(agentformat.File{})
	f := factsOf(r, now)
	s := PlanSnapshot{
		OK: len(findings) == 0, Title: w.quote(r.Title, maxTitle), Tasks: f.total, Checks: r.Checks, AtOnce: r.AtOnce, Branch: f.branch,
		Findings: List[Finding]{len(findings), []Finding{}},
	}
	for _, x := range findings {
		s.Findings.First = append(s.Findings.First, Finding{x.Line, w.quote(x.Text, maxFinding)})
	}
	s.Cut = w.cut
	if !s.OK {
		s.flags.add(FlagPlanInvalid, "%s wrong with the plan", verb(len(findings), "thing", "is", "are"))
		s.Verdict = fmt.Sprintf("the plan can't be delivered: %s wrong with it", verb(len(findings), "thing", "is", "are"))
		s.Next = "mend what findings lists, by line, and call check_plan again"
		return respond(agentformat.StatusError, s, agentformat.File{})
	}
	for _, t := range r.Tasks {
		if len(t.BlockedBy) == 0 {
			s.Ready++
		}
	}
	s.Exposed = w.quote(joined(r.Unprotected...), maxTrouble)
	s.Cut = w.cut
	if len(r.Unprotected) > 0 {
		s.flags.add(FlagUnprotected, "%s on the work could be forged", english.Count(len(r.Unprotected), "kind of verdict"))
	}
	f.flagUnchecked(r, &s.flags)
	news := slices.Clone(s.flags)
	s.Verdict = fmt.Sprintf("the plan can be delivered: %s, of which %d can begin at once, %s", english.Count(f.total, "task"), s.Ready, english.Count(r.Checks, "check"))
	switch {
	case r.ID != "":
		s.Running = id(r.ID)
		s.flags.add(FlagPlanRunning, "%s delivers it already", f.short())
		s.Verdict = f.short() + " delivers this plan already; it is valid: " + english.Count(f.total, "task")
		s.Next = "start nothing: " + who.follow(s.Running) + ", which delivers this plan already"
	case r.Amends != nil:
		a := r.Amends
		s.Amends = &Amends{id(a.Run), a.Done, idsOf(a.New), idsOf(a.Changed), idsOf(a.Gone)}
		run := cmp.Or(plain(a.Run, inID, maxNamed), "a run")
		s.flags.add(FlagPlanAmends, "another version of it is being delivered; of its tasks %d would be new, %d changed, %d gone", len(a.New), len(a.Changed), len(a.Gone))
		s.Verdict = run + " delivers another version of this plan; this one is valid: " + english.Count(f.total, "task")
		s.Next = "do not start yet: ask the person whether " + run + " should go on with this version (" + who.startWith("amend") + ": what is done and unchanged stays done, changed tasks are done anew, those that are gone are given up), or this one be delivered beside it (" + who.startWith("beside") + ": a second run, on a branch of its own)" + told("; show them, too, ", news)
	case r.Delivered != "":
		s.Delivered = id(r.Delivered)
		s.flags.add(FlagPlanDelivered, "it was delivered before")
		s.Verdict = "this plan was delivered before; it is valid: " + english.Count(f.total, "task")
		s.Next = "do not start yet: ask the person whether to deliver it again, as run " + s.Delivered + " has done" + told("; show them, too, ", news) + "; if they want it, " + who.start()
	default:
		s.flags.add(FlagPlanOK, "%s can be delivered", english.Count(f.total, "task"))
		s.Next = "show the person the plan" + told(", and ", news) + "; when they agree, " + who.start()
	}
	return respond(agentformat.StatusSuccess, s, agentformat.File{})
}

// told says that a person is to see what these flags say; nothing if there are none.
func told(before string, all flags) string {
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return before + "what these flags say: " + strings.Join(names, ", ")
}

func (s PlanSnapshot) inRoom(bytes int) PlanSnapshot { s.room = bytes; return s }

// Capped is the snapshot as it is sent.
func (s PlanSnapshot) Capped() PlanSnapshot {
	cut := s.Findings.keep(maxFindingsShown)
	steps := []step{shorter(&s.Exposed, 60), down(&s.Findings, 0)}
	if s.Amends != nil {
		a := *s.Amends
		s.Amends = &a
		for _, l := range []*List[string]{&a.Gone, &a.Changed, &a.New} {
			cut = l.keep(maxEntries) || cut
			steps = append(steps, down(l, 0))
		}
	}
	steps = append(steps, shorter(&s.Exposed, 0), shorter(&s.Title, 0))
	if s.fit(func() int { return jsontext.Length(s) }, steps...) || cut {
		s.Cut = true
	}
	return s
}
