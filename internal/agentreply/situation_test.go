package agentreply_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
)

var update = flag.Bool("update", false, "write the replies to the situations, and docs/flags.md, anew")

// situation is what a box says, as far as a reply is made of it. NAME.reply.json is the reply, and NAME.expected.txt what its
// reader should do next.
type situation struct {
	Now     time.Time      `json:"now"`
	Run     api.Run        `json:"run"`
	Inbox   []api.Question `json:"inbox"`
	Plan    bool           `json:"plan"`    // the run is a dry one, of a plan that was checked
	Explain string         `json:"explain"` // the task that it is asked of why it waits
	Task    string         `json:"task"`    // the task that is asked for
	Work    api.Work       `json:"work"`    // its item
	Usage   bool           `json:"usage"`   // what the run has used is asked for
	Runs    []api.Run      `json:"runs"`
	Done    string         `json:"done"` // what a command led to
	Call    string         `json:"call"` // that failed
	Error   *api.Problem   `json:"error"`

	Text *agentreply.TextView `json:"text"`

	MoreTasks []struct {
		Times int      `json:"times"`
		Task  api.Task `json:"task"`
	} `json:"more_tasks"`
	MoreQuestions struct {
		Times    int          `json:"times"`
		Question api.Question `json:"question"`
	} `json:"more_questions"`
}

// grown is the situation with all that is in it many times.
func (s situation) grown() situation {
	for _, m := range s.MoreTasks {
		for i := range m.Times {
			t := m.Task
			t.ID = fmt.Sprintf("%s-%d", t.ID, i+1)
			t.Work = s.Run.ID + "." + t.ID
			s.Run.Tasks = append(s.Run.Tasks, t)
		}
	}
	for i := range s.MoreQuestions.Times {
		q := s.MoreQuestions.Question
		q.ID, q.Task = fmt.Sprintf("%s%d", q.ID, i+1), fmt.Sprintf("%s-%d", q.Task, i+1)
		s.Run.Questions, s.Inbox = append(s.Run.Questions, q), append(s.Inbox, q)
	}
	return s
}

func (s situation) reply(who agentreply.Reader) any {
	saved := func(name string) func() agentformat.File {
		return func() agentformat.File {
			return agentformat.File{Path: "/home/me/words/.signalbox/replies/" + name + "_20260301_120000.json"}
		}
	}
	switch {
	case s.Error != nil:
		return agentreply.Refused(s.Call, s.Error)
	case s.Text != nil:
		return agentreply.Text(*s.Text, s.Now)
	case s.Runs != nil:
		return who.Runs(s.Runs, false, s.Now)
	case s.Usage:
		return agentreply.Usage(s.Run, s.Now)
	case s.Done != "":
		return who.Done(s.Done, s.Run, s.Now)
	case s.Task != "":
		return agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.TaskSnapshot] {
			return who.Task(agentreply.TaskView{Run: s.Run, Task: s.task(s.Task), Work: s.Work}, s.Now, f)
		}, saved("task_R7."+s.Task))
	case s.Plan:
		return who.Plan(s.Run, nil, s.Now)
	case s.Explain != "":
		return who.Wait(agentreply.TaskView{Run: s.Run, Task: s.task(s.Explain)}, s.Now)
	case s.Run.ID == "":
		return agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.InboxSnapshot] {
			return who.Inbox(s.Inbox, s.Now, f)
		}, saved("inbox"))
	}
	return agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.RunSnapshot] {
		return who.Run(s.Run, s.Now, f)
	}, saved("run_R7"))
}

// task is one of the run's.
func (s situation) task(id string) api.Task {
	return s.Run.Tasks[slices.IndexFunc(s.Run.Tasks, func(t api.Task) bool { return t.ID == id })]
}

// Each situation has the reply that is in its file, and every flag that people agreed on is in one of them.
func TestSituations(t *testing.T) {
	names, err := filepath.Glob("testdata/situations/*.expected.txt")
	if err != nil || len(names) < 27 {
		t.Fatalf("%d situations: %v", len(names), err)
	}
	flags := map[string]bool{}
	for _, expected := range names {
		base := strings.TrimSuffix(expected, ".expected.txt")
		t.Run(filepath.Base(base), func(t *testing.T) {
			s := readSituation(t, base)
			response := s.reply(agentreply.Everything)
			checkReply(t, base, response)
			for _, who := range readers {
				narrower := s.reply(who)
				checkReply(t, base, narrower)
				checkTools(t, base, who, s.Call, narrower)
			}
			for _, f := range flagged(response) {
				flags[f] = true
			}
			got, err := json.MarshalIndent(response, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, base+".reply.json", string(got)+"\n")
			if said, err := os.ReadFile(expected); err != nil || strings.Count(string(said), "\n") != 1 {
				t.Errorf("%s is not one line: %v", expected, err)
			}
		})
	}
	for _, want := range []string{
		agentreply.FlagQuestionWaiting, agentreply.FlagReviewWaiting, agentreply.FlagGateFailing, agentreply.FlagOverBudget, agentreply.FlagStalled,
		agentreply.FlagNothingChanged, agentreply.FlagProviderPaused, agentreply.FlagUnprotected, agentreply.FlagUnchecked, agentreply.FlagDistrusted,
	} {
		if !flags[want] {
			t.Errorf("no situation has the flag %s", want)
		}
	}
}

// readSituation reads a situation.
func readSituation(t *testing.T, base string) (s situation) {
	t.Helper()
	data, err := os.ReadFile(base + ".json")
	if err = errors.Join(err, json.Unmarshal(data, &s)); err != nil {
		t.Fatal(err)
	}
	return s.grown()
}

// golden compares with a file, or writes it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); -update writes it:\n%s", path, diff)
	}
}

// docs/flags.md has the table of flags.
func TestFlagsPage(t *testing.T) {
	const path = "../../docs/flags.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const before = "-args -update -->\n\n"
	text, _, ok := strings.Cut(string(page), before)
	if !ok {
		t.Fatalf("%s does not say how its table is written", path)
	}
	var table strings.Builder
	table.WriteString("| flag | severity | meaning | what to do |\n|---|---|---|---|\n")
	seen := map[string]bool{}
	for _, k := range agentreply.Table() {
		if seen[k.Name] || k.Meaning == "" || k.Do == "" || strings.ContainsAny(k.Meaning+k.Do, "|\n") {
			t.Errorf("%s: it is there twice, or says nothing", k.Name)
		}
		seen[k.Name] = true
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", k.Name, k.Severity, k.Meaning, k.Do)
	}
	golden(t, path, text+before+table.String())
}
