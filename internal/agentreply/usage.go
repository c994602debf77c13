package agentreply

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
)

// UsageSnapshot is what a run has used.
type UsageSnapshot struct {
	Head
	Run     string         `json:"run"`
	State   string         `json:"state"`
	Minutes int            `json:"minutes"`
	Input   int64          `json:"input_tokens"`
	Output  int64          `json:"output_tokens"`
	Usage   Used           `json:"usage"`
	Tasks   List[TaskUsed] `json:"tasks"` // those that have used most first
}

// TaskUsed is what a task has used.
type TaskUsed struct {
	Task string `json:"task"`
	Used
}

// Usage is the reply about what a run has used.
func Usage(r api.Run, now time.Time) agentformat.Response[UsageSnapshot] {
	f := factsOf(r, now)
	s := UsageSnapshot{
		Run: f.run, State: word(string(r.State)), Minutes: minutes(r.StartedAt, now), Input: r.Usage.InputTokens, Output: r.Usage.OutputTokens,
		Usage: usedOf(r.Usage, r.Budget), Tasks: List[TaskUsed]{First: []TaskUsed{}},
	}
	tasks := slices.Clone(r.Tasks)
	slices.SortStableFunc(tasks, func(a, b api.Task) int {
		return cmp.Or(cmp.Compare(agentformat.Number(b.Usage.CostUSD), agentformat.Number(a.Usage.CostUSD)), cmp.Compare(b.Usage.Tokens(), a.Usage.Tokens()))
	})
	for _, t := range tasks {
		if t.Usage.Tokens() != 0 || agentformat.Number(t.Usage.CostUSD) != 0 {
			s.Tasks.First = append(s.Tasks.First, TaskUsed{workOf(t), usedOf(t.Usage, t.Budget)})
		}
	}
	s.Tasks.Total = len(s.Tasks.First)
	f.flagBudget(&s.flags)
	s.flags.add(FlagUsageKnown, "%d tokens and %.2f USD for %d of %s done", s.Usage.Tokens, s.Usage.CostUSD, f.done, english.Count(f.total, "task"))
	s.Verdict = fmt.Sprintf("%s has used %d tokens and %.2f USD", f.short(), s.Usage.Tokens, s.Usage.CostUSD)
	s.Next = "nothing to do about usage"
	switch {
	case s.Usage.BudgetTokens == 0 && s.Usage.BudgetUSD == 0:
		s.Verdict += "; it has no budget"
	default:
		s.Verdict += fmt.Sprintf(", %d %% of its budget", s.Usage.Percent)
	}
	if len(s.flags) > 1 {
		s.Next = "tell the person: " + f.budget() + "; once it is used up, a question asks them whether to go on: list_questions has it"
	}
	return respond(agentformat.StatusSuccess, s, agentformat.File{})
}

func (s UsageSnapshot) inRoom(bytes int) UsageSnapshot { s.room = bytes; return s }

// Capped is the snapshot as it is sent.
func (s UsageSnapshot) Capped() UsageSnapshot {
	cut := s.Tasks.keep(maxEntries)
	if s.fit(func() int { return jsontext.Length(s) }, down(&s.Tasks, 0)) || cut {
		s.Cut = true
	}
	return s
}
