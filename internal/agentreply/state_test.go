package agentreply_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

func runFlags(r api.Run) []string {
	return flagged(agentreply.Everything.Run(r, noon, agentformat.File{}))
}

// Every state and outcome of a run has its flag, and one that is not known has one as well.
func TestRunStates(t *testing.T) {
	for _, c := range []struct {
		state   api.RunState
		outcome delivery.Outcome
		want    string
	}{
		{api.RunRunning, "", agentreply.FlagRunRunning}, {api.RunWaiting, "", agentreply.FlagRunWaiting}, {api.RunPaused, "", agentreply.FlagRunPaused},
		{api.RunEnding, "", agentreply.FlagRunEnding}, {api.RunStopped, "", agentreply.FlagRunStopped}, {api.RunFinished, delivery.Completed, agentreply.FlagRunFinished},
		{api.RunFinished, delivery.Partial, agentreply.FlagRunIncomplete}, {api.RunFinished, delivery.Cancelled, agentreply.FlagRunCancelled},
		{api.RunFinished, delivery.Halted, agentreply.FlagRunFailed}, {api.RunDry, "", agentreply.FlagPlanOK},
		{api.RunFinished, "lost", agentreply.FlagUnknownState}, {"dancing", "", agentreply.FlagUnknownState},
	} {
		if diff := cmp.Diff([]string{c.want}, runFlags(api.Run{ID: "R1", State: c.state, Outcome: c.outcome, Checks: 1})); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.state, c.outcome, diff)
		}
	}
}

// Each thing that is out of the ordinary has its flag, by itself.
func TestRunFlags(t *testing.T) {
	for name, change := range map[string]func(*api.Run){
		agentreply.FlagQuestionWaiting: func(r *api.Run) { r.Questions = []api.Question{{ID: "R1-Q1"}} },
		agentreply.FlagReviewWaiting:   func(r *api.Run) { r.Questions = []api.Question{{Kind: "review", Work: "R1.T-1"}} },
		agentreply.FlagGateFailing:     func(r *api.Run) { r.Tasks[0].GateFailed = 1 },
		agentreply.FlagOverBudget:      func(r *api.Run) { r.Budget, r.Usage = delivery.Spend{CostUSD: 10}, delivery.Usage{CostUSD: 8} },
		agentreply.FlagStalled:         func(r *api.Run) { r.Tasks[0].Agent = &api.Agent{QuietFrom: noon.Add(-10 * time.Minute)} },
		agentreply.FlagNothingChanged:  func(r *api.Run) { r.Tasks[0].Phase, r.Tasks[0].NoChange = agentsig.PhaseCompleted, "it is there" },
		agentreply.FlagProviderPaused:  func(r *api.Run) { r.Providers = []api.Provider{{Name: "x", Until: noon.Add(time.Hour)}} },
		agentreply.FlagRunnerMissing:   func(r *api.Run) { r.Tasks[0].Waits = api.Waiting{Reason: delivery.WaitRunner, Nowhere: true} },
		agentreply.FlagUnprotected:     func(r *api.Run) { r.Tasks[0].Protection = delivery.Unheld },
		agentreply.FlagUnchecked:       func(r *api.Run) { r.Checks = 0 },
		agentreply.FlagDistrusted:      func(r *api.Run) { r.Distrust = "AGENTS.md was changed" },
		agentreply.FlagNotPublished:    func(r *api.Run) { r.Unpublished = "no gh" },
	} {
		r := api.Run{ID: "R1", State: api.RunRunning, Checks: 1, Tasks: []api.Task{{ID: "T-1", Work: "R1.T-1", Phase: agentsig.PhaseImplementation, Protection: delivery.Held}}}
		if got := runFlags(r); !slices.Equal(got, []string{agentreply.FlagRunRunning}) {
			t.Fatalf("nothing is out of the ordinary, and flagged are %v", got)
		}
		change(&r)
		if got := runFlags(r); !slices.Contains(got, name) || len(got) != 2 {
			t.Errorf("%s: flagged are %v", name, got)
		}
	}
	for name, change := range map[string]func(*api.Run){
		"remediation": func(r *api.Run) { r.Trouble = "no module" },
		"a task's budget": func(r *api.Run) {
			r.Tasks[0].Budget, r.Tasks[0].Usage = delivery.Spend{Tokens: 10}, delivery.Usage{InputTokens: 8}
		},
		"a question of a budget":   func(r *api.Run) { r.Tasks[0].Why = delivery.WaitBudget },
		"an agent out of touch":    func(r *api.Run) { r.Others = []api.Agent{{Away: true, StartedAt: noon.Add(-time.Minute)}} },
		"checks that do not count": func(r *api.Run) { r.Unchecked = "the checks x" },
		"no auditor":               func(r *api.Run) { r.Unaudited = "one sentence" },
		"an unprotected run":       func(r *api.Run) { r.Unprotected = []string{"no sandbox"} },
	} {
		r := api.Run{ID: "R1", State: api.RunRunning, Checks: 1, Tasks: []api.Task{{ID: "T-1", Work: "R1.T-1", Phase: agentsig.PhaseImplementation, Protection: delivery.Held}}}
		change(&r)
		if got := runFlags(r); len(got) != 2 {
			t.Errorf("%s: flagged are %v", name, got)
		}
	}
	for name, agent := range map[string]api.Agent{
		"one that was heard of":            {QuietFrom: noon.Add(-9 * time.Minute)},
		"one that waits for a tool":        {StartedAt: noon.Add(-time.Hour)},
		"one that waits for an expert":     {QuietFrom: noon.Add(-time.Hour), Waiting: "E-1"},
		"one that ends":                    {QuietFrom: noon.Add(-time.Hour), Ending: "it is over"},
		"one that is about to be in touch": {Away: true, StartedAt: noon.Add(-time.Second)},
	} {
		if got := runFlags(api.Run{ID: "R1", State: api.RunRunning, Checks: 1, Others: []api.Agent{agent}}); slices.Contains(got, agentreply.FlagStalled) {
			t.Errorf("%s is stalled", name)
		}
	}
}

// A reply says why a task waits, for every reason that there is, and what to do about it.
func TestEveryWait(t *testing.T) {
	means := map[string]delivery.Wait{}
	for _, w := range delivery.Waits() {
		v := agentreply.TaskView{Run: api.Run{ID: "R1", State: api.RunRunning}, Task: api.Task{ID: "T-1", Work: "R1.T-1", Phase: agentsig.PhaseImplementation, Why: w}}
		s := agentreply.Everything.Wait(v, noon).Snapshot
		if before, ok := means[s.Means]; ok || s.Means == "" || s.Why != string(w) || strings.Contains(s.Means, "does not know") {
			t.Errorf("%s means %q, as %s does", w, s.Means, before)
		}
		means[s.Means] = w
		for _, who := range readers {
			checkTools(t, string(w), who, "", who.Wait(v, noon))
			checkTools(t, string(w), who, "", who.Task(v, noon, agentformat.File{}))
		}
	}
}

// What a task waits for is followed to its cause, also in a circle, and of a long chain the cause is shown.
func TestChain(t *testing.T) {
	r := api.Run{ID: "R1", State: api.RunRunning}
	for i := range 40 {
		r.Tasks = append(r.Tasks, api.Task{ID: fmt.Sprint("T-", i), Work: fmt.Sprint("R1.T-", i), Phase: agentsig.PhaseDraft, Why: delivery.WaitBlocker, BlockedBy: []string{fmt.Sprint("T-", i+1)}})
	}
	r.Tasks[39].Why, r.Tasks[39].BlockedBy = delivery.WaitGate, nil
	if got := agentreply.Everything.Task(agentreply.TaskView{Run: r, Task: r.Tasks[0]}, noon, agentformat.File{}).Snapshot.BlockedBy.First; !slices.Equal(got, []string{"R1.T-1"}) {
		t.Errorf("it is blocked by %q", got)
	}
	held := r.Tasks[0]
	held.Agent = &api.Agent{Role: agentsig.RoleDeveloper, Task: "T-0"}
	if got := agentreply.Everything.Task(agentreply.TaskView{Run: r, Task: held}, noon, agentformat.File{}).Snapshot.AtWork.Task; got != "R1.T-0" {
		t.Errorf("the agent is at work on %q", got)
	}
	s := agentreply.Everything.Wait(agentreply.TaskView{Run: r, Task: r.Tasks[0]}, noon).Snapshot
	if n := len(s.Chain.First); s.Chain.Total != 40 || s.Chain.First[n-1].Task != "R1.T-39" || !s.Cut || !strings.Contains(s.Verdict, "the cause is R1.T-39: the gate runs its checks") {
		t.Errorf("got %+v", s)
	}
	r.Tasks[39].Why, r.Tasks[39].BlockedBy = delivery.WaitDependency, nil
	r.Tasks[39].Waits.Text = "for T-0"
	if s := agentreply.Everything.Wait(agentreply.TaskView{Run: r, Task: r.Tasks[0]}, noon).Snapshot; s.Chain.Total != 40 {
		t.Errorf("a circle of 40 has %d", s.Chain.Total)
	}
}

// A failure is told by what a client can do about it.
func TestFailed(t *testing.T) {
	for code, want := range map[string]string{
		api.CodeNotFound: agentreply.FlagNotFound, api.CodeConflict: agentreply.FlagRefused, api.CodeHeld: agentreply.FlagRefused, api.CodeInvalid: agentreply.FlagInvalid,
		api.CodeUnauthorized: agentreply.FlagUnauthorized, api.CodeForbidden: agentreply.FlagUnauthorized, api.CodeBusy: agentreply.FlagTryAgain, api.CodeUnknown: agentreply.FlagTryAgain, api.CodeNoLeader: agentreply.FlagTryAgain, api.CodeCannotWrite: agentreply.FlagBoxNotWritable, "new": agentreply.FlagFailed,
	} {
		got := agentreply.Failed(fmt.Errorf("asked: %w", &api.Problem{Code: code, Message: "no"}))
		if got.Status != agentformat.StatusError || got.Flags[0].Name != want || got.Flags[0].Severity != agentformat.Error || got.Snapshot.Reason != "asked: no" {
			t.Errorf("%s: got %+v", code, got)
		}
	}
	if got := agentreply.Failed(fmt.Errorf("%w: no agents", agentreply.ErrNotSetUp)); got.Flags[0].Name != agentreply.FlagNotSetUp || !strings.HasPrefix(got.Snapshot.Next, "ask the person to run signalbox init") {
		t.Errorf("not set up: got %+v", got)
	}
	if got := agentreply.Failed(errors.Join(api.ErrNoBox)); got.Flags[0].Name != agentreply.FlagNoBox {
		t.Errorf("no box: got %+v", got)
	}
}

// The file has nothing cut, and what strangers say under quoted_ keys alone.
func TestWhole(t *testing.T) {
	long := injected + strings.Repeat(" very", 2000)
	r := api.Run{ID: "R1", State: api.RunWaiting, Title: long, Tasks: []api.Task{{ID: "T-1", Work: "R1.T-1", Title: long, NoChange: long, Waits: api.Waiting{Text: long}}}, Questions: []api.Question{{ID: "R1-Q1", Text: long, Choices: slices.Repeat([]string{long}, 9)}}, Notices: []api.Notice{{Text: long}}}
	whole := agentreply.Everything.WholeRun(r, noon)
	if whole.Cut || whole.Title != long || whole.Tasks[0].Title != long || len(whole.NeedsYou.First[0].Choices) != 9 || whole.NeedsYou.First[0].Text != long || whole.Notices[0] != long {
		t.Error("something was cut")
	}
	saved := 0
	got := agentreply.WithFile(func(f agentformat.File) agentformat.Response[agentreply.RunSnapshot] {
		return agentreply.Everything.Run(r, noon, f)
	}, func() agentformat.File {
		saved++
		return agentformat.File{Path: "/r.json"}
	})
	if saved != 1 || got.FilePath == nil || !agentreply.Cut(got) {
		t.Errorf("saved %d times: %+v", saved, got)
	}
	for about, v := range map[string]any{
		"run": whole, "inbox": agentreply.Everything.WholeInbox(r.Questions, noon), "task": agentreply.Everything.WholeTask(agentreply.TaskView{Run: r, Task: r.Tasks[0]}, noon),
	} {
		walk(t, about, "", decoded(t, v))
	}
}

// A list of runs has what waits for a person first, and flags of all runs, also of those that it has no room for.
func TestRuns(t *testing.T) {
	var runs []api.Run
	for i := range 60 {
		runs = append(runs, api.Run{ID: fmt.Sprint("R", i), State: api.RunFinished, Outcome: delivery.Completed, Title: strings.Repeat("t", 90)})
	}
	if got := agentreply.Everything.Runs(runs, false, noon); !strings.Contains(got.Snapshot.Next, "get_run with run R59") || got.Snapshot.Runs.Total != 60 || !got.Snapshot.Cut {
		t.Errorf("all have ended: %+v", got.Snapshot)
	}
	runs[7].State, runs[7].Outcome = api.RunRunning, ""
	runs[7].Tasks = []api.Task{{ID: "T-1", Work: "R7.T-1", GateFailed: 1, Agent: &api.Agent{QuietFrom: noon.Add(-time.Hour)}}}
	if got := agentreply.Everything.Runs(runs, false, noon); got.Snapshot.Runs.First[0].Run != "R7" || !strings.Contains(got.Snapshot.Next, "get_run with run R7") ||
		!slices.Equal(flagged(got), []string{agentreply.FlagGateFailing, agentreply.FlagStalled, agentreply.FlagRunsListed}) {
		t.Errorf("one goes on: %v, %+v", flagged(got), got.Snapshot)
	}
	runs[3].State, runs[3].Outcome, runs[3].Questions = api.RunWaiting, "", []api.Question{{ID: "R3-Q1"}}
	if got := agentreply.Everything.Runs(runs, true, noon); got.Snapshot.Runs.First[0].Run != "R3" || !strings.Contains(got.Snapshot.Next, "list_questions") || !slices.Contains(flagged(got), agentreply.FlagQuestionWaiting) {
		t.Errorf("one waits: %v, %+v", flagged(got), got.Snapshot)
	}
	if got := agentreply.Everything.Runs(nil, false, noon); !slices.Equal(flagged(got), []string{agentreply.FlagNoRuns}) {
		t.Errorf("none: %v", flagged(got))
	}
}

// Work by hand is no task of a run: nobody is started on it, and it is not to be waited for with its run.
func TestWorkByHand(t *testing.T) {
	for name, c := range map[string]struct {
		work       api.Work
		flag, next string
	}{
		"free":    {api.Work{ID: "W-1", Phase: agentsig.PhaseImplementation}, agentreply.FlagTaskReady, "signalbox claim W-1"},
		"held":    {api.Work{ID: "W-1", Phase: agentsig.PhaseImplementation, Holder: &api.Holder{Role: agentsig.RoleDeveloper}}, agentreply.FlagTaskWorking, "somebody holds it"},
		"checked": {api.Work{ID: "W-1", Phase: agentsig.PhaseCIPending, BoxChecks: true}, agentreply.FlagTaskWaiting, "the box runs the checks"},
		"stuck":   {api.Work{ID: "W-1", Phase: agentsig.PhaseBlocked, Waits: &api.Question{ID: "W-1-Q1", Task: "W-1"}}, agentreply.FlagTaskBlocked, "show the person question W-1-Q1 word for word"},
		"done":    {api.Work{ID: "W-1", Phase: agentsig.PhaseCompleted}, agentreply.FlagTaskCompleted, "nothing: it is completed"},
	} {
		got := agentreply.Everything.Task(agentreply.TaskView{Work: c.work}, noon, agentformat.File{})
		if !slices.Contains(flagged(got), c.flag) || !strings.Contains(got.Snapshot.Next, c.next) {
			t.Errorf("%s: %v, %q", name, flagged(got), got.Snapshot.Next)
		}
	}
}

// What takes from the worth of a run that has ended comes before that it has, and no flag is a success beside it.
func TestBadNewsFirst(t *testing.T) {
	for bad, change := range map[string]func(*api.Run){
		"nothing was changed and nothing was merged": func(r *api.Run) { r.Tasks[0].NoChange = "it is there" },
		"verdicts on the work could be forged":       func(r *api.Run) { r.Tasks[0].Protection = delivery.Unheld },
		"no checks are configured":                   func(r *api.Run) { r.Checks = 0 },
		"no auditor looks at the tasks":              func(r *api.Run) { r.Tasks[0].Unaudited = true },
		"the pull request could not be opened":       func(r *api.Run) { r.Unpublished = "no gh" },
	} {
		r := api.Run{ID: "R1", State: api.RunFinished, Outcome: delivery.Completed, Checks: 1, Branch: "b", Tasks: []api.Task{{ID: "T-1", Work: "R1.T-1", Phase: agentsig.PhaseCompleted, Protection: delivery.Held}}}
		if got := agentreply.Everything.Run(r, noon, agentformat.File{}); got.Flags[0].Severity != agentformat.Success || !strings.Contains(got.Snapshot.Next, "all tasks are done") {
			t.Fatalf("nothing is bad: %+v", got)
		}
		change(&r)
		got := agentreply.Everything.Run(r, noon, agentformat.File{})
		if !strings.Contains(got.Snapshot.Verdict, "but "+bad) || !strings.HasPrefix(got.Snapshot.Next, "tell the person first: "+bad) {
			t.Errorf("%s: %q, %q", bad, got.Snapshot.Verdict, got.Snapshot.Next)
		}
		if slices.ContainsFunc(got.Flags, func(f agentformat.Flag) bool { return f.Severity == agentformat.Success }) {
			t.Errorf("%s: %v", bad, got.Flags)
		}
	}
}

// A person is told before a call that waits, and of all that is out of the ordinary.
func TestToldBeforeWaiting(t *testing.T) {
	r := api.Run{
		ID: "R1", State: api.RunRunning, Checks: 1, Budget: delivery.Spend{CostUSD: 100}, Usage: delivery.Usage{CostUSD: 85},
		Tasks: []api.Task{
			{ID: "T-1", Work: "R1.T-1", Phase: agentsig.PhaseImplementation, Protection: delivery.Held, GateFailed: 3},
			{ID: "T-2", Work: "R1.T-2", Phase: agentsig.PhaseImplementation, Protection: delivery.Held, Agent: &api.Agent{QuietFrom: noon.Add(-26 * time.Minute)}},
		},
	}
	const budget = "85 % of the run's budget is used, 15 % is left"
	next := agentreply.Everything.Run(r, noon, agentformat.File{}).Snapshot.Next
	if !strings.HasPrefix(next, "tell the person: "+budget+"; then call wait_run once") {
		t.Errorf("without a question: %q", next)
	}
	r.Questions = []api.Question{{ID: "R1-Q1", Run: "R1"}, {ID: "R1-Q2", Run: "R1"}}
	next = agentreply.Everything.Run(r, noon, agentformat.File{}).Snapshot.Next
	for _, want := range []string{"question R1-Q1 word for word", "then the other 1, one at a time", "the agent on R1.T-2 is quiet for 26 min", "the gate sent R1.T-1 back 3 times in a row", budget} {
		if at := strings.Index(next, want); at < 0 || at > strings.Index(next, "call wait_run") {
			t.Errorf("%q is not told before the wait: %q", want, next)
		}
	}
}

// A run that is paused waits for a person, also if it asks nothing; no call that resumes it is ready.
func TestPausedNeedsYou(t *testing.T) {
	for name, r := range map[string]api.Run{
		"by a person": {ID: "R1", State: api.RunPaused, Notices: []api.Notice{{At: noon.Add(-10 * time.Minute), Text: "paused: I look first"}}},
		"by the box":  {ID: "R1", State: api.RunWaiting, Distrust: "AGENTS.md was changed"},
	} {
		s := agentreply.Everything.Run(r, noon, agentformat.File{}).Snapshot
		if s.NeedsYou.Total != 1 || s.NeedsYou.First[0].Kind != "resume" || s.NeedsYou.First[0].Call != nil || s.NeedsYou.First[0].Text != r.Distrust || !strings.Contains(strings.ToLower(s.Next), "do not resume") {
			t.Errorf("%s: %+v, %q", name, s.NeedsYou, s.Next)
		}
		if n := len(r.Notices); len(s.Last) != n || n > 0 && s.Last[0] != (agentreply.Happened{Minutes: 10, Text: "paused: I look first"}) {
			t.Errorf("%s: what happened last is %+v", name, s.Last)
		}
	}
	runs := agentreply.Everything.Runs([]api.Run{{ID: "R1", State: api.RunPaused}, {ID: "R2", State: api.RunStopped}}, false, noon)
	if got := flagged(runs); !slices.Equal(got, []string{agentreply.FlagRunPaused, agentreply.FlagRunStopped, agentreply.FlagRunsListed}) {
		t.Errorf("a list of both has %v", got)
	}
}

// Tasks that were given up are in no phase, and a provider that is paused is named if its name is one.
func TestCountsAndNames(t *testing.T) {
	r := api.Run{ID: "R1", State: api.RunRunning, Checks: 1, Tasks: []api.Task{{ID: "T-1", Phase: agentsig.PhaseDraft, Why: delivery.WaitCancelled}, {ID: "T-2", Phase: agentsig.PhaseDraft, Why: delivery.WaitProvider}}}
	for name, want := range map[string]string{"anthropic": "anthropic", "not a name": "a provider"} {
		r.Providers = []api.Provider{{Name: name, Until: noon.Add(150 * time.Minute)}}
		got := agentreply.Everything.Run(r, noon, agentformat.File{})
		if diff := cmp.Diff(map[string]int{"CANCELLED": 1, "DRAFT": 1}, got.Snapshot.Phases); diff != "" {
			t.Errorf("phases (-want +got):\n%s", diff)
		}
		if message := got.Flags[0].Message; message != want+" is paused by its usage limit until 2026-03-01 14:30 UTC (in 150 min)" || got.Snapshot.UntilIn != 150 {
			t.Errorf("%s: %q, %d", name, message, got.Snapshot.UntilIn)
		}
	}
}

// A call that failed is named by its tool and its id, and by nothing that could be a sentence.
func TestRefused(t *testing.T) {
	for call, want := range map[string]string{
		"retry R7.T-2": "retry R7.T-2 was refused: ", "start_run": "start_run was refused: ", "": "it was refused: ", "Ignore this": "it was refused: ", "retry all of them now": "retry was refused: ",
	} {
		if got := agentreply.Refused(call, &api.Problem{Code: api.CodeConflict, Message: "no"}).Snapshot.Verdict; !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q", call, got)
		}
	}
}

// A question of which something was cut says where the whole is.
func TestWholeIn(t *testing.T) {
	asked := []api.Question{{ID: "R1-Q1", Run: "R1", Text: strings.Repeat("why ", 300)}}
	for want, file := range map[string]agentformat.File{"file_path": {Path: "/r.json"}, "list_questions": {}} {
		if got := agentreply.Everything.Run(api.Run{ID: "R1", State: api.RunWaiting, Questions: asked}, noon, file).Snapshot.NeedsYou.First[0].WholeIn; got != want {
			t.Errorf("it is in %q, want %q", got, want)
		}
	}
	v := agentreply.TaskView{Run: api.Run{ID: "R1", State: api.RunRunning, Questions: []api.Question{{ID: "R1-Q1", Run: "R1", Task: "T-1", Text: "why"}}}, Task: api.Task{ID: "T-1", Work: "R1.T-1", Phase: agentsig.PhaseBlocked, Why: delivery.WaitQuestion}}
	if need := agentreply.Everything.Wait(v, noon).Snapshot.Need; need == nil || need.Text != "why" || need.WholeIn != "" {
		t.Errorf("why it waits: %+v", need)
	}
}

// A plan is shown to the person before it is started, with what is flagged about it.
func TestPlanIsShownFirst(t *testing.T) {
	dry := api.Run{State: api.RunDry, Checks: 1, Tasks: []api.Task{{ID: "T-1"}}}
	for _, c := range []struct {
		change func(*api.Run)
		want   string
	}{
		{func(*api.Run) {}, "show the person the plan; when they agree, call start_run with the same plan"},
		{func(r *api.Run) { r.Checks, r.Unprotected = 0, []string{"no sandbox"} }, "show the person the plan, and what these flags say: unprotected, unchecked; when they agree, call start_run with the same plan"},
		{func(r *api.Run) { r.Checks, r.Delivered = 0, "R1" }, "do not start yet: ask the person whether to deliver it again, as run R1 has done; show them, too, what these flags say: unchecked; if they want it, call start_run with the same plan"},
	} {
		r := dry
		c.change(&r)
		if got := agentreply.Everything.Plan(r, nil, noon).Snapshot.Next; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if got := (agentreply.Reader{}).Plan(r, nil, noon).Snapshot.Next; !strings.HasSuffix(got, "they start it with: signalbox run PLAN") {
			t.Errorf("who can't start it is told: %q", got)
		}
	}
}

// Where no box runs, every reply says so and what to do, whatever a run waits for; agents go on only if some are there.
func TestStopped(t *testing.T) {
	asks := []api.Question{{ID: "R1-Q1", Run: "R1", Task: "T-1", Text: "why?"}}
	for _, state := range []api.RunState{api.RunRunning, api.RunWaiting, api.RunPaused, api.RunEnding, api.RunStopped} {
		for _, questions := range [][]api.Question{nil, asks} {
			r := agentreply.Standing(api.Run{ID: "R1", State: state, Checks: 1, Questions: questions, Tasks: []api.Task{{ID: "T-1", Work: "R1.T-1", Protection: delivery.Held}}}, false)
			got := agentreply.Everything.Run(r, noon, agentformat.File{})
			if s := got.Snapshot; s.State != "stopped" || !strings.HasPrefix(s.Next, "no box brings the run on: ") || !strings.Contains(s.Next, "start_run with the same plan") {
				t.Errorf("%s: %s, %q", state, s.State, s.Next)
			}
			if last := got.Flags[len(got.Flags)-1]; last.Name != agentreply.FlagRunStopped || last.Message != "0 of 1 task done; no box brings it on, and no agent works" {
				t.Errorf("%s: %+v", state, got.Flags)
			}
			if next := agentreply.Everything.Task(agentreply.TaskView{Run: r, Task: r.Tasks[0]}, noon, agentformat.File{}).Snapshot.Next; !strings.HasPrefix(next, "no box brings the run on: ") {
				t.Errorf("%s, its task: %q", state, next)
			}
			r.Tasks[0].Agent = &api.Agent{Task: "T-1"}
			flags := agentreply.Everything.Run(r, noon, agentformat.File{}).Flags
			if last := flags[len(flags)-1]; !strings.HasSuffix(last.Message, "and 1 agent may be at work yet: they end by themselves after a while, or the next box takes them over") {
				t.Errorf("%s, with an agent: %+v", state, last)
			}
			r.Distrust = "AGENTS.md was changed"
			if s := agentreply.Everything.Run(r, noon, agentformat.File{}).Snapshot; !strings.Contains(s.Next, "Do not resume the run") || !strings.HasSuffix(s.Next, "signalbox up") || s.NeedsYou.First[0].Kind != "resume" {
				t.Errorf("%s, distrusted: %+v", state, s)
			}
		}
	}
	ended := api.Run{ID: "R1", State: api.RunFinished}
	if got := agentreply.Standing(ended, false); got.State != api.RunFinished {
		t.Errorf("what has ended is %s", got.State)
	}
	if got := agentreply.Standing(api.Run{}, false); got.State != "" {
		t.Errorf("no run is %s", got.State)
	}
}

// A login that is refused is asked about once, for all tasks: each of them names the question.
func TestLogin(t *testing.T) {
	r := api.Run{ID: "R1", State: api.RunWaiting, Questions: []api.Question{
		{ID: "R1-Q1", Run: "R1", Cause: delivery.CauseLogin, Text: "log in?", Choices: []string{delivery.ChooseRetry, delivery.ChooseHalt}},
		{ID: "R1-Q2", Run: "R1", Task: "T-2", Text: "why?"},
	}}
	v := agentreply.TaskView{Run: r, Task: api.Task{ID: "T-1", Work: "R1.T-1", Phase: agentsig.PhaseImplementation, Why: delivery.WaitLogin}}
	task, wait := agentreply.Everything.Task(v, noon, agentformat.File{}).Snapshot, agentreply.Everything.Wait(v, noon).Snapshot
	for _, got := range []struct {
		need *agentreply.Need
		next string
	}{{task.NeedsYou, task.Next}, {wait.Need, wait.Next}} {
		if got.need == nil || got.need.ID != "R1-Q1" || !strings.Contains(got.next, "they log in first") || !strings.Contains(got.next, "question R1-Q1 and its choices word for word (halt ends the run)") {
			t.Errorf("%+v, %q", got.need, got.next)
		}
	}
	v.Run.Questions = nil
	if next := agentreply.Everything.Task(v, noon, agentformat.File{}).Snapshot.Next; !strings.Contains(next, "call list_questions") {
		t.Errorf("before it is asked: %q", next)
	}
}

// Tasks that are not recorded yet are not counted.
func TestJustStarted(t *testing.T) {
	got := agentreply.Everything.Done("R1 delivers the plan, which has 2 tasks", api.Run{ID: "R1", State: api.RunRunning, Checks: 1}, noon)
	if got.Snapshot.Verdict != "R1 delivers the plan, which has 2 tasks; R1 running: its tasks are not recorded yet" || strings.Contains(fmt.Sprint(got.Flags), "0 of 0") {
		t.Errorf("%q, %+v", got.Snapshot.Verdict, got.Flags)
	}
}
