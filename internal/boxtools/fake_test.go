package boxtools_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/boxtools"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/ledger"
)

// fake is a box and its host, with a run that is as the test wants it.
type fake struct {
	run       api.Run
	work      api.Work
	questions []api.Question
	text      string // of diffs, logs and plans
	proof     ledger.Proof
	key       string
	dir       string
	stopped   bool  // no box runs
	fails     error // of every request

	following chan struct{} // closed when somebody follows the run
	left      chan struct{} // closed when they have left

	mu    sync.Mutex
	calls []string // that change something
}

func (f *fake) did(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.fails
}

func (f *fake) With(_ context.Context, _ bool, do func(boxtools.Box) error) error { return do(f) }
func (f *fake) Running() bool                                                     { return !f.stopped }
func (f *fake) Replies() string                                                   { return f.dir }

func (f *fake) Check(_ context.Context, q api.StartRun) (api.Run, error) {
	r := f.run
	r.ID, r.State = "", api.RunDry
	return r, f.fails
}

func (f *fake) Start(_ context.Context, q api.StartRun) (api.Run, error) {
	return f.run, f.did("start %d bytes of %q, amend %v, beside %v", len(q.Plan), q.Path, q.Amend, q.Beside)
}

func (f *fake) ReadPlan(_ context.Context, path string) ([]byte, string, error) {
	return []byte(f.text), "/repo/" + path, f.fails
}

func (f *fake) write(to io.Writer) error {
	if f.fails == nil {
		_, _ = io.WriteString(to, f.text)
	}
	return f.fails
}

func (f *fake) Diff(_ context.Context, _ string, to io.Writer) error { return f.write(to) }
func (f *fake) Log(_ context.Context, _ string, to io.Writer) error  { return f.write(to) }
func (f *fake) Plan(_ context.Context, _ string, to io.Writer) error { return f.write(to) }

func (f *fake) Prove(context.Context, int64) (ledger.Proof, string, error) {
	return f.proof, f.key, f.fails
}

func (f *fake) Run(_ context.Context, id string) (api.Run, error) {
	switch {
	case f.fails != nil:
		return api.Run{}, f.fails
	case id == "PANIC":
		panic("secret \x1b[31m of the box")
	case id != api.LatestRun && id != f.run.ID:
		return api.Run{}, &api.Problem{Code: api.CodeNotFound, Message: "there is no run " + id}
	}
	return f.run, nil
}

func (f *fake) Runs(context.Context, bool, api.From) (api.Page[api.Run], error) {
	return api.Page[api.Run]{Items: []api.Run{f.run}}, f.fails
}

func (f *fake) FollowRun(ctx context.Context, _ string, see func(api.Run) error) error {
	if f.following == nil {
		return see(f.run)
	}
	if err := see(f.run); err != nil {
		return err
	}
	close(f.following)
	<-ctx.Done()
	close(f.left)
	return ctx.Err()
}

func (f *fake) Work(context.Context, string) (api.Work, error) { return f.work, f.fails }

func (f *fake) Questions(context.Context) ([]api.Question, error) { return f.questions, f.fails }

func (f *fake) Sight(_ context.Context, work string) (api.Sight, error) {
	return api.Sight{Work: work, Task: "T-1", Role: agentsig.RoleCritic, Commit: commit, Tree: "tree", Base: "base"}, f.fails
}

const commit = "0123456789abcdef0123456789abcdef01234567"

func (f *fake) Tell(_ context.Context, work string, m api.Message) (api.Told, error) {
	return api.Told{Work: f.work.ID, Now: true}, f.did("tell %s %s", work, m.Text)
}

func (f *fake) RetryTask(_ context.Context, work string, m api.Message) (api.Run, error) {
	return f.run, f.did("retry %s %s", work, m.Text)
}

func (f *fake) CancelTask(_ context.Context, work string, m api.Message) (api.Run, error) {
	return f.run, f.did("cancel task %s %s", work, m.Text)
}

func (f *fake) PauseRun(_ context.Context, id string, m api.Message) (api.Run, error) {
	return f.run, f.did("pause %s %s", id, m.Text)
}

func (f *fake) ResumeRun(_ context.Context, id string, m api.Message) (api.Run, error) {
	return f.run, f.did("resume %s %s", id, m.Text)
}

func (f *fake) CancelRun(_ context.Context, id string, m api.Message) (api.Run, error) {
	return f.run, f.did("cancel run %s %s", id, m.Text)
}

func (f *fake) Answer(_ context.Context, id string, a api.Answer) (api.Question, error) {
	return api.Question{ID: id, Run: f.run.ID}, f.did("answer %s %s", id, a.Text)
}

func (f *fake) Review(_ context.Context, work string, v api.Verdict) (api.Run, error) {
	return f.run, f.did("review %s %v %q %s", work, v.Accept, v.Comments, v.Commit)
}

// newFake has a run with two tasks, one of which a developer works on, and a question.
func newFake(dir string) *fake { return madeFake(dir, 2, 1, "") }

// madeFake has a run with so many tasks and questions. All that strangers say in it has the text in it.
func madeFake(dir string, tasks, questions int, said string) *fake {
	at := time.Now().Add(-time.Hour)
	f := &fake{dir: dir, text: onePlan + said}
	f.run = api.Run{
		ID: "R1", Subject: "RUN", Title: "the plan" + said, State: api.RunRunning, Branch: "signalbox/r1", Base: commit, StartedAt: at, Sequence: 7,
		AtOnce: 4, Checks: 2, Trouble: said, Distrust: said, Unpublished: said, Unaudited: said, Unchecked: said,
		Notices: []api.Notice{{Sequence: 5, At: at, Text: "something grave" + said, Grave: true}},
	}
	if said != "" {
		f.run.Unprotected = []string{said}
	}
	for i := range tasks {
		name := fmt.Sprintf("T-%d", i+1)
		task := api.Task{ID: name, Work: "R1." + name, Title: "do it" + said, Phase: agentsig.PhaseImplementation, Since: at, Waits: api.Waiting{Text: said}, NoChange: said}
		if i == 0 {
			task.Agent = &api.Agent{Session: "S", Role: agentsig.RoleDeveloper, Name: "claude" + said, Task: name, StartedAt: at, QuietFrom: time.Now(), Says: "I work" + said}
		} else {
			task.BlockedBy, task.Why = []string{"T-1"}, delivery.WaitBlocker
		}
		f.run.Tasks = append(f.run.Tasks, task)
	}
	for i := range questions {
		f.questions = append(f.questions, api.Question{
			ID: fmt.Sprintf("R1-Q%d", i+1), Kind: api.KindQuestion, Run: "R1", Task: "T-1", Text: "which one?" + said, Context: said,
			Choices: []string{"this", "that" + said}, AskedAt: at,
		})
	}
	f.run.Questions = slices.Clone(f.questions)
	f.work = api.Work{ID: "R1.T-1", Title: "do it" + said, Phase: agentsig.PhaseImplementation, Commit: commit, NoChange: said}
	f.work.Asked = said
	return f
}

const onePlan = `# A plan

### Phase 1: All

#### Task T-1: Do it

**Work**: do it.

**Acceptance Criteria**:
- [ ] it is done

**Blocked By**: none
`

// every has a call of every tool that can be carried out.
var every = map[string]string{
	"list_runs": `{"all":true}`, "get_run": `{}`, "get_task": `{"work":"T-1"}`, "get_diff": `{"work":"R1.T-1"}`, "get_log": `{"work":"R1.T-1"}`,
	"list_questions": `{}`, "explain_wait": `{"work":"R1.T-2"}`, "check_plan": `{"path":"plan.md"}`, "prove_event": `{"sequence":1}`,
	"start_run": `{"path":"plan.md"}`, "wait_run": `{"run":"R1"}`, "tell": `{"work":"R1.T-1","text":"hello"}`, "retry": `{"work":"R1.T-1","text":"again"}`,
	"pause": `{"run":"R1","reason":"late"}`, "cancel": `{"id":"R1.T-1"}`,
	"answer_question": `{"question":"R1-Q1","answer":"this"}`, "review_task": `{"work":"R1.T-1","accept":true,"commit":"0123456"}`,
}

// changes are what these calls have the box do.
var changes = map[string]string{
	"start_run": fmt.Sprintf("start %d bytes of \"/repo/plan.md\", amend false, beside false", len(onePlan)),
	"tell":      "tell R1.T-1 hello", "retry": "retry R1.T-1 again", "pause": "pause R1 late", "cancel": "cancel task R1.T-1 ",
	"answer_question": "answer R1-Q1 this", "review_task": "review R1.T-1 true [] " + commit,
}

// scopeOf says which scope a tool needs.
func scopeOf(tool string) string {
	switch {
	case slices.Contains([]string{"answer_question", "review_task"}, tool):
		return "answer"
	case slices.Contains(strings.Fields("start_run wait_run tell retry pause cancel"), tool):
		return "operate"
	}
	return "read"
}
