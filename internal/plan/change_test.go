package plan_test

import (
	"reflect"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/plan"
)

// What is different in a plan is found by the ids and texts of its tasks; where they stand, and what blocks them, is not their text.
func TestCompare(t *testing.T) {
	before := plan.Plan{Tasks: []plan.Task{{ID: "a", Work: "x"}, {ID: "b", Criteria: []string{"y"}}, {ID: "c"}, {ID: "d"}}}
	after := plan.Plan{Tasks: []plan.Task{{ID: "d", Line: 3, Phase: "2", BlockedBy: []string{"a"}}, {ID: "b", Criteria: []string{"z"}}, {ID: "a", Work: "x"}, {ID: "e"}}}
	want := plan.Change{New: []string{"e"}, Changed: []string{"b"}, Gone: []string{"c"}}
	if got := plan.Compare(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := plan.Compare(after, after); !reflect.DeepEqual(got, plan.Change{}) {
		t.Errorf("the same: %+v", got)
	}
}

// A task that has another id has it also where it blocks others, and the plan that it was stays as it was.
func TestRenamed(t *testing.T) {
	p := plan.Plan{Tasks: []plan.Task{{ID: "a"}, {ID: "b", BlockedBy: []string{"a"}}}}
	got := p.Renamed(map[string]string{"a": "a.2"})
	if got.Tasks[0].ID != "a.2" || got.Blockers()["b"][0] != "a.2" || p.Tasks[0].ID != "a" || p.Blockers()["b"][0] != "a" {
		t.Errorf("%+v of %+v", got, p)
	}
}
