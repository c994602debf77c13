package delivery

import "testing"

// A question about a budget says how much of which limit is used, and what the answer makes of it; that is what it does, and it lets the
// run or the task go on.
func TestBudgetQuestions(t *testing.T) {
	used := Usage{InputTokens: 900, OutputTokens: 100, CostUSD: 5.5}
	r := &Run{Used: used, Tasks: []*Task{{ID: "T-1", Used: used}}}
	r.Settings.Budget = Budget{
		CostUSD: 2, Task: Spend{Tokens: 300, CostUSD: 5}, Turn: Spend{CostUSD: 0.001},
	}
	task := r.Tasks[0]
	for scope, want := range map[Scope]string{
		ScopeTask: "the budget of the task is used up (1000 of 300 tokens, 5.50 of 5.00 USD): raise it, continue without it, or cancel the task? raise makes it 1200 tokens, 20.00 USD",
		ScopeTurn: "a turn of its agent has used up its budget (0.001 USD): raise it, continue without it, or cancel the task? raise makes it 0.002 USD",
	} {
		if r.needBudget(task, scope); task.Need.Text != want {
			t.Errorf("%s:\n%s", scope, task.Need.Text)
		}
		r.leave(task, ChooseRaise)
	}
	if got := r.TaskBudget(task).words(); got != "1200 tokens, 20.00 USD" || r.spent(task) {
		t.Errorf("raised, the task's budget is %s", got)
	}
	if got := task.TurnLeave.of(r.Settings.Budget.Turn).words(); got != "0.002 USD" {
		t.Errorf("raised, a turn's budget is %s", got)
	}
	w, ok := r.askBudget()
	if !ok {
		t.Fatal("the run's budget is used up, and nobody is asked")
	}
	want := "the budget of the run is used up (5.50 of 2.00 USD): continue, or halt? continue makes it 6.00 USD"
	if q, ok := w.Event.Payload.(Question); !ok || q.Text != want {
		t.Errorf("the run: %+v", w.Event.Payload)
	}
}
