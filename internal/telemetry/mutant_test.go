package telemetry_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of what is told, dropped, is noticed.
func TestMutants(t *testing.T) {
	const labels, follow = "label.go", "follow.go"
	mutant.All(t, mutant.By("TestMetrics|TestWaiting|TestBounded|TestRestart|TestByHand", []mutant.Mutant{
		{Name: "any number of agents", File: labels, Old: "!n.known[name] && len(n.known) >= maxValues", New: "false"},
		{Name: "a name of any length", File: labels, Old: "len(text) > maxValue || ", New: ""},
		{Name: "a name that is no text", File: labels, Old: " || !utf8.ValidString(text)", New: " || text == string(utf8.RuneError)"},
		{Name: "any word of another version", File: labels, Old: "if !slices.Contains(all, x) {", New: "if !slices.Contains(append(all, x), x) {"},
		{Name: "any kind of another version", File: labels, Old: "; ok || k == agentsig.KindUnknown", New: "; !ok || k == agentsig.KindUnknown"},
		{Name: "what was recorded is not counted", File: follow, Old: "_ = fold.Next(e, m.see)", New: "_ = e"},
		{Name: "nobody hears of what is recorded", File: "../box/record.go", Old: "(*f)(e)", New: "_ = e"},
		{Name: "agents that outlive a box are not known", File: follow, Old: "fold.Resume(r)", New: "_ = r"},
		{Name: "a run that has ended goes on", File: "../box/figures.go", Old: "\t\tended--\n", New: ""},
		{Name: "a question is told by its name", File: "../box/figures.go", Old: "cause := string(q.shown.Cause)", New: "cause := string(q.shown.ID)"},
		{Name: "who waits is not counted", File: "../box/figures.go", Old: "\t\t\tf.Waiting[waitOf(r, t, at)]++\n", New: ""},
		{Name: "runners are all there", File: follow, Old: "n[one.State]++", New: "n[api.RunnerPresent+one.State[:0]]++"},
		{Name: "nobody times appends", File: "../box/figures.go", Old: "if err == nil {", New: "if err != nil {"},
		{Name: "a cost that nobody said is 0", File: "telemetry.go", Old: "if f.Usage.CostUSD > 0 {", New: "if f.Usage.CostUSD >= 0 {"},
	}))
}
