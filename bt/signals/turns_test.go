package signals

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/internal/mutant"
)

const (
	needTurn = `<signal type="need_turn"><reason>one look more</reason><confidence>0.8</confidence></signal>`
	enough   = `<signal type="context_sufficient"><sources_found>2</sources_found><source_types>["code"]</source_types><mood>good</mood></signal>`
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.FixedZone("", 3600))

func board(t *testing.T) *bt.Blackboard {
	t.Helper()
	b, err := bt.NewBlackboard(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A loop without a tree: what is known after each reply.
func TestTake(t *testing.T) {
	b := board(t)
	var told []Turn
	turns := Turns{Told: func(turn Turn) { told = append(told, turn) }}
	type known struct {
		kind               any
		sameReason, silent int
	}
	var got []known
	for _, reply := range []string{"A " + needTurn, "B\n" + strings.Replace(needTurn, "one look more", "One look, more!", 1) + "\n", "C", "D", "E " + enough} {
		s := turns.Take(b, reply, noon)
		got = append(got, known{s.Last["type"], s.SameReason, s.Silent})
	}
	want := []known{{"need_turn", 1, 0}, {"need_turn", 2, 0}, {nil, 1, 1}, {nil, 1, 2}, {"context_sufficient", 1, 0}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(known{})); diff != "" {
		t.Error(diff)
	}
	if content := b.Get(KeyContent); content != "A\n\nB\n\nC\n\nD\n\nE" {
		t.Errorf("accumulated_content is %q", content)
	}
	if emitted, _ := b.Get(KeyEmitted).([]any); len(emitted) != 3 {
		t.Errorf("signals_emitted is %v", emitted)
	}
	last := values{
		"type": "context_sufficient", "confidence": 0.5, "raw_xml": enough, "timestamp": "2026-05-04T11:00:00Z",
		"fields": values{"sources_found": 2, "source_types": []any{"code"}, "mood": "good"}, "unknown": []any{"mood"},
	}
	if diff := cmp.Diff(State{last, 1, 0}, Of(b)); diff != "" {
		t.Error(diff)
	}
	if len(told) != 5 || told[2].Signal != nil || told[4].Signal == nil || told[4].Signal.Type != agentsig.KindContextSufficient || told[1].SameReason != 2 {
		t.Errorf("told %+v", told)
	}
	if c := bt.NewContext(b, noon, nil); Reset(c) != bt.Success || !cmp.Equal(Of(b), State{}) || b.Get(KeyParsed) != false || len(b.Get(KeyEmitted).([]any)) != 0 {
		t.Errorf("after a reset: %+v", Of(b))
	}
}

// Each action counts once a turn, and in order.
func TestOnceAndInOrder(t *testing.T) {
	b := board(t)
	told := 0
	turns := Turns{Told: func(Turn) { told++ }}
	c := bt.NewContext(b, noon, nil)
	turns.Heard(c, values{"content": "A " + needTurn})
	Append(c, KeyContent, "A "+needTurn)
	for _, action := range []func(*bt.Context) bt.Status{turns.Strip, turns.Log, turns.Update} {
		if action(c) != bt.Success {
			t.Error("an action fails")
		}
	}
	if told != 0 || b.Get(KeyEmitted) != nil || !strings.Contains(b.Get(KeyContent).(string), "<signal") {
		t.Errorf("before it is parsed: told %d, %v", told, b.Get(KeyEmitted))
	}
	for range 3 {
		for _, action := range []func(*bt.Context) bt.Status{turns.Parse, turns.Update, turns.Log, turns.Strip} {
			action(c)
		}
	}
	if s := Of(b); told != 1 || s.SameReason != 1 || len(b.Get(KeyEmitted).([]any)) != 1 || b.Get(KeyContent) != "A" {
		t.Errorf("told %d, %+v", told, s)
	}
	turns.Heard(c, values{"content": "B"})
	if Last(c) != nil || b.Get(KeyParsed) != false || !Is(b.Get(KeyPrevious).(values), agentsig.KindNeedTurn) {
		t.Error("the signal of the turn before is still there")
	}
}

// Without a blackboard nothing is known, and nothing breaks.
func TestNoBlackboard(t *testing.T) {
	var turns Turns
	if s := turns.Take(nil, "A "+needTurn, noon); s.Last != nil || s.SameReason != 0 {
		t.Errorf("%+v", s)
	}
}

// The library is checked when a tree is compiled, and a tree finds it by the last components.
func TestLibrary(t *testing.T) {
	var turns Turns
	tree := func(n *bt.Node) error {
		_, err := bt.Compile(bt.Tree{Name: "t", Blackboard: Schema(), Root: n}, turns.Library())
		return err
	}
	for _, name := range []string{"parse_response_signal", "update_signal_state", "log_signal", "strip_signal_from_response", "reset_signal_state"} {
		if err := tree(bt.Action(name, "any.path.signal_actions."+name, nil)); err != nil {
			t.Error(err)
		}
	}
	for name, args := range map[string][]bt.Args{
		"check_signal":                {nil},
		"has_signal":                  {nil, {"signal_type": "stuck"}},
		"signal_type_is":              {{"expected_type": "stuck"}},
		"signal_confidence_above":     {nil, {"threshold": 0.3}},
		"consecutive_same_reason_gte": {nil, {"count": 2}},
	} {
		for _, a := range args {
			if err := tree(bt.Condition(name, name, a)); err != nil {
				t.Error(err)
			}
		}
	}
	for name, args := range map[string]bt.Args{
		"has_signal": {"signal_type": "done"}, "signal_type_is": nil, "signal_confidence_above": {"threshold": "high"}, "consecutive_same_reason_gte": {"count": 0},
	} {
		if err := tree(bt.Condition(name, name, args)); err == nil {
			t.Errorf("%s takes %v", name, args)
		}
	}
	schema := Schema()
	schema[KeyLast] = "string"
	if _, err := bt.Compile(bt.Tree{Name: "t", Blackboard: schema, Root: bt.Condition("c", "check_signal", nil)}, turns.Library()); err == nil {
		t.Error("last_signal can be a string")
	}
}

// A tree routes by what a reply says: the same as by hand.
func TestTreeOfTurns(t *testing.T) {
	replies := []string{"A " + needTurn, "B", "C " + enough, "never asked"}
	var turns Turns
	library := turns.Library()
	library.Functions["my.ask"] = bt.Func(func(c *bt.Context) bt.Status {
		turns.Heard(c, values{"content": replies[0]})
		Append(c, KeyContent, replies[0])
		replies = slices.Delete(replies, 0, 1)
		return bt.Success
	}).Using(nil, []string{KeyResponse, KeyLast, KeyPrevious, KeyParsed, KeyContent})
	program, err := bt.Compile(bt.Tree{Name: "loop", Blackboard: Schema(), Root: bt.Repeat(10, bt.Success, bt.Sequence(
		bt.Action("ask", "my.ask", nil), bt.Action("parse", "parse_response_signal", nil), bt.Action("update", "update_signal_state", nil),
		bt.Action("log", "log_signal", nil), bt.Action("strip", "strip_signal_from_response", nil),
		bt.Condition("enough", "signal_type_is", bt.Args{"expected_type": "context_sufficient"}),
	))}, library)
	if err != nil {
		t.Fatal(err)
	}
	b := board(t)
	run := program.Start(bt.Options{Blackboard: b})
	defer run.Close()
	if s, err := run.Drive(context.Background()); s != bt.Success || err != nil || len(replies) != 1 || b.Get(KeyContent) != "A\n\nB\n\nC" {
		t.Errorf("%v, %v, %d replies left, %q", s, err, len(replies), b.Get(KeyContent))
	}
}

// Each rule, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^Test(Take|OnceAndInOrder|NoBlackboard|Library|TreeOfTurns|Counters|CheckSignal|HasSignal|SignalTypeIs|SignalConfidenceAbove|ConsecutiveSameReasonGte)$", []mutant.Mutant{
		{Name: "a signal of the turn before counts", File: "turns.go", Old: "c.SetGlobal(KeyLast, nil) //", New: "//"},
		{Name: "actions count in any order", File: "turns.go", Old: "if t.stage != next-1 {", New: "if t.stage >= next {"},
		{Name: "actions count again", File: "turns.go", Old: "\tt.stage = next\n", New: "\tif t.stage < next-1 {\n\t\tt.stage = next\n\t}\n"},
		{Name: "what is stale is a signal", File: "conditions.go", Old: "(parsed || !known)", New: "(parsed || known || !known)"},
		{Name: "above is not at least", File: "conditions.go", Old: "confidence >= c.Args()", New: "confidence > c.Args()"},
		{Name: "any type has", File: "conditions.go", Old: `(want == "" || s["type"] == want)`, New: `(want != "" || s["type"] != want)`},
		{Name: "every need_turn has the same reason", File: "state.go", Old: `&& plain(Text(previous, "reason")) == plain(Text(present, "reason")):`, New: ":"},
		{Name: "reasons are compared by letter", File: "state.go", Old: "return unicode.ToLower(r)", New: "return r"},
		{Name: "silence is not counted", File: "state.go", Old: "silent: n.silent + 1", New: "silent: n.silent"},
		{Name: "signals are shown", File: "turns.go", Old: "strings.TrimRight(before+Stripped(raw)", New: "strings.TrimRight(before+raw"},
		{Name: "unknown fields are not marked", File: "turns.go", Old: `value["unknown"] = texts(r.Unknown)`, New: "_ = r"},
		{Name: "any type is checked for", File: "library.go", Old: "ok && slices.Contains(all, text) {", New: "ok && (text != \"\" || slices.Contains(all, text)) {"},
	}))
}
