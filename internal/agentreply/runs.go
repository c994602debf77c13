package agentreply

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
)

// RunsSnapshot is a list of runs, those that wait for a person first, then those that go on, then those that have ended, the latest first.
type RunsSnapshot struct {
	Head
	Runs List[RunInShort] `json:"runs"`
	More bool             `json:"more"` // there are runs that were not asked for
}

// RunInShort is a run of a list.
type RunInShort struct {
	Run       string `json:"run"`
	State     string `json:"state"`
	Outcome   string `json:"outcome,omitempty"`
	Done      int    `json:"done"`
	Total     int    `json:"total"`
	Questions int    `json:"questions,omitempty"`
	Reviews   int    `json:"reviews,omitempty"`
	Minutes   int    `json:"minutes"` // since it was started
	Title     string `json:"quoted_title"`
}

// maxRuns is how many runs a list has.
const maxRuns = 12

// Runs is the reply about runs, which come in the order of their start; more says that there are others.
func (who Reader) Runs(all []api.Run, more bool, now time.Time) agentformat.Response[RunsSnapshot] {
	var w words
	s := RunsSnapshot{More: more}
	sum := facts{now: now}
	live, first, round := 0, "", 0
	var paused, stopped []string
	runs := slices.Clone(all)
	slices.Reverse(runs)
	slices.SortStableFunc(runs, func(a, b api.Run) int { return urgency(a) - urgency(b) })
	s.Runs = List[RunInShort]{len(runs), []RunInShort{}}
	for _, r := range runs {
		f := factsOf(r, now)
		v := RunInShort{
			Run: f.run, State: word(string(r.State)), Done: f.done, Total: f.total, Questions: len(f.questions), Reviews: len(f.reviews),
			Minutes: minutes(r.StartedAt, now), Title: w.quote(r.Title, maxTitle),
		}
		if r.Outcome != "" {
			v.Outcome = word(string(r.Outcome))
		}
		s.Runs.First = append(s.Runs.First, v)
		sum.questions, sum.reviews = append(sum.questions, f.questions...), append(sum.reviews, f.reviews...)
		if r.State != api.RunFinished {
			sum.failing, sum.stalled, sum.overspent = append(sum.failing, f.failing...), append(sum.stalled, f.stalled...), append(sum.overspent, f.overspent...)
			sum.trouble, sum.spent = sum.trouble || f.trouble, max(sum.spent, f.spent)
			round = max(round, r.Round)
			switch {
			case onlyResume(r):
				paused = append(paused, f.run)
			case r.State == api.RunStopped:
				stopped = append(stopped, f.run)
			}
			live++
			if first == "" {
				first = f.run
			}
		}
	}
	sum.flagWaits(&s.flags)
	sum.flagGate(round, &s.flags)
	sum.flagBudget(&s.flags)
	sum.flagStalled(&s.flags)
	if n := len(paused); n > 0 {
		s.flags.add(FlagRunPaused, "%s paused: %s", verb(n, "run", "is", "are"), named(paused))
	}
	if n := len(stopped); n > 0 {
		s.flags.add(FlagRunStopped, "no box brings on %s: %s", english.Count(n, "run"), named(stopped))
	}
	s.Verdict = fmt.Sprintf("%s, %d not ended, %s and %s wait for a person", english.Count(len(runs), "run"), live, english.Count(len(sum.questions), "question"), english.Count(len(sum.reviews), "task"))
	switch {
	case len(runs) == 0:
		s.flags.add(FlagNoRuns, "no run was found")
		s.Next = "write a plan, check it with check_plan and show it to the person; when they agree, " + who.start()
	case len(sum.questions)+len(sum.reviews) > 0:
		s.flags.add(FlagRunsListed, "%s, %d not ended", english.Count(len(runs), "run"), live)
		s.Next = "call list_questions: something waits for a person"
		if still := slices.Concat(paused, stopped); len(still) > 0 {
			s.Next += "; then get_run for what stands still: " + named(still)
		}
	case live > 0:
		s.flags.add(FlagRunsListed, "%s, %d not ended", english.Count(len(runs), "run"), live)
		s.Next = "call get_run with run " + first + ", which has not ended: it says what to do next"
	default:
		s.flags.add(FlagRunsListed, "%s, all of them have ended", english.Count(len(runs), "run"))
		s.Next = "nothing to wait for: call get_run with run " + id(runs[0].ID) + " to see what came of the latest"
	}
	s.Cut = w.cut
	return respond(agentformat.StatusSuccess, s, agentformat.File{})
}

// urgency orders runs for a reader: what waits for a person comes first, what has ended last.
func urgency(r api.Run) int {
	switch {
	case r.State == api.RunFinished:
		return 2
	case len(r.Questions) > 0:
		return 0
	}
	return 1
}

func (s RunsSnapshot) inRoom(bytes int) RunsSnapshot { s.room = bytes; return s }

// Capped is the snapshot as it is sent.
func (s RunsSnapshot) Capped() RunsSnapshot {
	cut := s.Runs.keep(maxRuns)
	if s.fit(func() int { return jsontext.Length(s) }, down(&s.Runs, 0)) || cut {
		s.Cut = true
	}
	return s
}
