// Package plan reads the plan that a person writes: tasks in Markdown, what each
// is blocked by, and the checks that tell whether the work is good.
//
//	# A word counter
//
//	### Phase 1: Groundwork
//
//	#### Task WC-1: Lay out the module
//
//	**Work**: A command that prints its usage.
//
//	**Acceptance Criteria**:
//	- [ ] wc -h exits with 0
//
//	**Blocked By**: none
//
//	### Verification
//
//	| Check | Environment | Command | Expected exit code |
//	|---|---|---|---|
//	| tests | linux | `go test ./...` | 0 |
//
// A task begins with its heading and ends at the next task, or at a heading of
// level 1 to 3. Its sections are Work, Acceptance Criteria, Blocked By, Required
// Reading and Environment, in any order, Work alone being required. A section
// begins with **Work**:, **Work:**, Work:, ##### Work, or **Work** alone on a
// line; any other label is text of the section before it. Text in fenced code is
// never structure, HTML comments are no part of the plan, and text outside tasks
// is for people.
//
// A dependency that gets lost runs tasks in the wrong order, so what looks like
// Blocked By and can't be read as it is refused.
package plan

import (
	"errors"
	"strings"
)

// Limits of a plan.
const (
	MaxText  = 1 << 20 // bytes
	MaxTasks = 10_000
	maxTitle = 1 << 10 // bytes, as work items have it
	maxID    = 100     // bytes: branches and directories have it in their names
)

// Plan is what is to be done.
type Plan struct {
	Title  string  // the first heading of level 1, or ""
	Tasks  []Task  // in the order of the text
	Checks []Check // of the Verification section
}

// Task is one piece of work for one agent at a time.
type Task struct {
	ID, Title   string
	Phase       string   // the phase that it stands in, "1: Groundwork", or ""
	Work        string   // Markdown
	Criteria    []string // a line each
	BlockedBy   []string // ids of other tasks, each once
	Reading     []string // a line each
	Environment string
	Line        int // of its heading, from 1
}

// Check is a command that tells by its exit code whether the work is good.
type Check struct {
	Name, Environment, Command string
	Exit                       int // expected
}

// ErrNoSentence refuses a text that can't be the work of a single task.
var ErrNoSentence = errors.New("a sentence says in words what to do: write headings and sections to a file, as a plan, and run that")

// sentenceID is the id of a sentence's only task.
const sentenceID = "T-1"

// Sentence makes a plan of one task out of what it is to do. A text that is too
// long for a title is shortened there, and is whole in Work.
func Sentence(s string) (Plan, error) {
	title := cut(strings.Join(strings.Fields(s), " "), sentenceTitle)
	p := Plan{Tasks: []Task{{ID: sentenceID, Title: title, Work: strings.TrimSpace(s)}}}
	// What reads as structure shows in the way back: a heading that ends the task,
	// for one, leaves Blocked By without one.
	back, err := Parse([]byte(p.Markdown()))
	if err != nil || len(back.Tasks) != 1 {
		return Plan{}, ErrNoSentence
	}
	t := back.Tasks[0]
	if t.Environment != "" || len(t.Criteria)+len(t.Reading) > 0 {
		return Plan{}, ErrNoSentence
	}
	t.Line = 1
	return Plan{Tasks: []Task{t}}, nil
}

// IsSentence reports whether a plan can be one that [Sentence] made: a single task that has nothing but its work, and no checks.
func (p Plan) IsSentence() bool {
	if len(p.Tasks) != 1 {
		return false
	}
	t := p.Tasks[0]
	return p.Title == "" && len(p.Checks) == 0 && t.ID == sentenceID && t.Phase == "" && t.Environment == "" &&
		len(t.Criteria)+len(t.BlockedBy)+len(t.Reading) == 0
}

// sentenceTitle is how many columns a sentence may take as a title.
const sentenceTitle = 72
