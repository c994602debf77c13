package order

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// fill sets every field that can be set to something, so that one that gets lost on the way is seen.
func fill(t *testing.T, v reflect.Value, depth int) {
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), depth+1)
	case reflect.Struct:
		if at, ok := v.Addr().Interface().(*time.Time); ok {
			*at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, depth+1)
		fill(t, value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(5 * time.Millisecond)) // also a time in milliseconds
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	default:
		t.Fatalf("a value of the kind %v is in an order", v.Kind())
	}
}

// An order is the same after it went over a wire, with every field that it can have.
func TestOrderOverWire(t *testing.T) {
	t.Parallel()
	var o Order
	fill(t, reflect.ValueOf(&o).Elem(), 0)
	o.Run.Tasks[0].ID, o.Run.Tasks[0].Item.Subject = "T-1", "S"
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var read Order
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(o, read, cmp.Exporter(func(reflect.Type) bool { return false }), cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := p.Last().(cmp.StructField)
		return ok && (f.Name() == "byID" || f.Name() == "bySubject")
	}, cmp.Ignore())); d != "" {
		t.Error(d)
	}
	if read.Run.Task("T-1") == nil {
		t.Error("the run does not find its tasks")
	}
}

// A runner is told of the task that an order is about, and of others no more than where their work is.
func TestForRunner(t *testing.T) {
	t.Parallel()
	r := delivery.Run{Tasks: []*delivery.Task{
		{ID: "T-1", Item: work.Item{Title: "one", Commit: "c1"}, Briefs: []delivery.Brief{{Text: "b"}}},
		{ID: "T-2", Item: work.Item{Title: "two", Commit: "c2", Phase: agentsig.PhaseReview}, Briefs: []delivery.Brief{{Text: "secret"}}},
	}, Requests: []*delivery.Request{{ExpertCall: delivery.ExpertCall{Task: "T-1"}}, {ExpertCall: delivery.ExpertCall{Task: "T-2"}}}}
	r.Subject = "R"
	o := Order{Run: r, Plan: plan.Plan{Title: "p", Tasks: []plan.Task{{ID: "T-1"}, {ID: "T-2"}}}}
	o.Session, o.ID = &delivery.Session{ID: "S-1.1", Task: "T-1"}, "start/S-1.1"
	cut := o.ForRunner()
	if len(cut.Plan.Tasks) != 1 || cut.Plan.Tasks[0].ID != "T-1" || len(o.Plan.Tasks) != 2 {
		t.Errorf("the plan: %+v", cut.Plan.Tasks)
	}
	one, two := cut.Run.Task("T-1"), cut.Run.Task("T-2")
	if one == nil || len(one.Briefs) != 1 || two == nil || len(two.Briefs) != 0 || two.Item.Title != "" || two.Item.Commit != "c2" || two.Item.Phase != agentsig.PhaseReview {
		t.Errorf("the tasks: %+v, %+v", one, two)
	}
	if len(cut.Run.Requests) != 1 || len(o.Run.Requests) != 2 || o.Run.Tasks[1].Item.Title != "two" {
		t.Error("what the order was made of has changed, or the requests are others")
	}
	if name := o.Name(); name != cut.Name() || strings.Trim(name, "R-0123456789abcdef") != "" || len(name) != 18 {
		t.Errorf("its name is %q", name)
	}
}

// What a runner hands in is read as what was written, and nothing else is handed in: what is done in the user's repository, by the run's home alone.
func TestInputs(t *testing.T) {
	t.Parallel()
	for _, i := range slices.Concat(inputs, homeInputs) {
		v := reflect.New(reflect.TypeOf(i.of)).Elem()
		fill(t, v, 0)
		in := v.Interface().(delivery.Input)
		h, err := WriteHomeInput("R", in)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		var read HandedIn
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		got, err := read.ReadHome()
		if d := cmp.Diff(in, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", i.kind, err, d)
		}
		_, unread := read.Read()
		_, unwritten := WriteInput("R", in)
		if home := slices.ContainsFunc(homeInputs, func(o inputKind) bool { return o.kind == i.kind }); errors.Is(unread, ErrInput) != home || errors.Is(unwritten, ErrInput) != home {
			t.Errorf("%s of another machine: %v, %v", i.kind, unread, unwritten)
		}
	}
	if _, err := WriteHomeInput("R", delivery.Cancel{}); !errors.Is(err, ErrInput) {
		t.Errorf("an operator's word is handed in: %v", err)
	}
}

// A box speaks its own protocol and the one before; an older runner is to be updated, and a newer one is not understood.
func TestSpeaks(t *testing.T) {
	for _, c := range []struct {
		own, its int
		update   bool
		refused  bool
	}{{3, 3, false, false}, {3, 2, false, false}, {3, 1, true, false}, {3, 4, false, true}} {
		protocol = map[int]string{3: "3"}[c.own]
		update, err := Speaks(c.its)
		protocol = "1"
		if (update != "") != c.update || errors.Is(err, ErrProtocol) != c.refused {
			t.Errorf("%d to %d: %q, %v", c.its, c.own, update, err)
		}
	}
}
