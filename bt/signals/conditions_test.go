package signals

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
)

type values = map[string]any

// ask calls a condition with a blackboard that holds these values; nil is no blackboard.
func ask(t *testing.T, condition func(*bt.Context) bt.Status, board values, args bt.Args) bt.Status {
	t.Helper()
	var b *bt.Blackboard
	if board != nil {
		var err error
		if b, err = bt.NewBlackboard(board); err != nil {
			t.Fatal(err)
		}
	}
	return condition(bt.NewContext(b, time.Unix(0, 0), args))
}

func signalOf(kind string, confidence any) values {
	return values{KeyLast: values{"type": kind, "confidence": confidence, "fields": values{"reason": "Testing API"}}}
}

type conditionCase struct {
	name  string
	board values
	args  bt.Args
	want  bt.Status
}

func holds(t *testing.T, condition func(*bt.Context) bt.Status, cases []conditionCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := ask(t, condition, c.board, c.args); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestCheckSignal(t *testing.T) {
	stale := signalOf("need_turn", 0.8)
	stale[KeyParsed] = false
	fresh := signalOf("need_turn", 0.8)
	fresh[KeyParsed] = true
	holds(t, CheckSignal, []conditionCase{
		{"returns_success_when_signal_present", signalOf("need_turn", 0.8), nil, bt.Success},
		{"returns_failure_when_no_signal", values{KeyLast: nil}, nil, bt.Failure},
		{"returns_failure_when_blackboard_none", nil, nil, bt.Failure},
		{"returns_failure_when_key_missing", values{}, nil, bt.Failure},
		{"returns_failure_when_no_map", values{KeyLast: "need_turn"}, nil, bt.Failure},
		{"returns_failure_for_the_signal_of_the_turn_before", stale, nil, bt.Failure},
		{"returns_success_for_the_signal_of_this_turn", fresh, nil, bt.Success},
	})
}

func TestHasSignal(t *testing.T) {
	holds(t, HasSignal, []conditionCase{
		{"returns_success_with_any_signal", signalOf("stuck", 0.8), nil, bt.Success},
		{"returns_success_with_matching_type", signalOf("need_turn", 0.85), bt.Args{"signal_type": "need_turn"}, bt.Success},
		{"returns_failure_with_wrong_type", signalOf("context_sufficient", 0.5), bt.Args{"signal_type": "need_turn"}, bt.Failure},
		{"returns_failure_when_no_signal", values{}, nil, bt.Failure},
		{"returns_failure_when_blackboard_none", nil, nil, bt.Failure},
	})
}

func TestSignalTypeIs(t *testing.T) {
	expect := func(kind string) bt.Args { return bt.Args{"expected_type": kind} }
	holds(t, TypeIs, []conditionCase{
		{"need_turn_match", signalOf("need_turn", 0.5), expect("need_turn"), bt.Success},
		{"context_sufficient_match", signalOf("context_sufficient", 0.5), expect("context_sufficient"), bt.Success},
		{"stuck_match", signalOf("stuck", 0.5), expect("stuck"), bt.Success},
		{"mismatch_returns_failure", signalOf("stuck", 0.5), expect("need_turn"), bt.Failure},
		{"case_differs", signalOf("stuck", 0.5), expect("Stuck"), bt.Failure},
		{"no_type_expected", signalOf("stuck", 0.5), nil, bt.Failure},
		{"no_signal", values{}, expect("stuck"), bt.Failure},
		{"blackboard_none", nil, expect("stuck"), bt.Failure},
	})
}

func TestSignalConfidenceAbove(t *testing.T) {
	holds(t, ConfidenceAbove, []conditionCase{
		{"confidence_above_threshold", signalOf("need_turn", 0.8), bt.Args{"threshold": 0.7}, bt.Success},
		{"confidence_at_threshold", signalOf("need_turn", 0.7), bt.Args{"threshold": 0.7}, bt.Success},
		{"confidence_below_threshold", signalOf("need_turn", 0.6), bt.Args{"threshold": 0.7}, bt.Failure},
		{"default_threshold_at", signalOf("need_turn", 0.5), nil, bt.Success},
		{"default_threshold_below", signalOf("need_turn", 0.49), nil, bt.Failure},
		{"whole_numbers", signalOf("need_turn", 1), bt.Args{"threshold": 1}, bt.Success},
		{"no_number", signalOf("need_turn", "high"), nil, bt.Failure},
		{"no_confidence", values{KeyLast: values{"type": "stuck"}}, nil, bt.Failure},
		{"no_signal", values{}, nil, bt.Failure},
		{"blackboard_none", nil, nil, bt.Failure},
	})
}

func TestConsecutiveSameReasonGte(t *testing.T) {
	count := func(n any) values { return values{KeySameReason: n} }
	holds(t, SameReasonGte, []conditionCase{
		{"at_threshold_returns_success", count(3), bt.Args{"count": 3}, bt.Success},
		{"above_threshold_returns_success", count(4), bt.Args{"count": 3}, bt.Success},
		{"below_threshold_returns_failure", count(2), bt.Args{"count": 3}, bt.Failure},
		{"default_at", count(3), nil, bt.Success},
		{"default_below", count(2), nil, bt.Failure},
		{"no_number", count("3"), nil, bt.Failure},
		{"missing", values{}, nil, bt.Failure},
		{"blackboard_none", nil, nil, bt.Failure},
	})
}

// The table of what is counted from turn to turn.
func TestCounters(t *testing.T) {
	need := func(reason string) values { return values{"type": "need_turn", "fields": values{"reason": reason}} }
	other := values{"type": "stuck", "fields": values{"reason": "the same"}}
	for _, c := range []struct {
		name              string
		before            counters
		previous, present values
		want              counters
	}{
		{"first need_turn", counters{0, 0}, nil, need("the same"), counters{1, 0}},
		{"same reason", counters{1, 0}, need("the same"), need("the same"), counters{2, 0}},
		{"same but for case, blanks and punctuation", counters{2, 0}, need("The  same!"), need("the, same"), counters{3, 0}},
		{"other reason", counters{2, 0}, need("the same"), need("another"), counters{1, 0}},
		{"other signal", counters{2, 0}, need("the same"), other, counters{1, 0}},
		{"need_turn after another signal", counters{1, 0}, other, need("the same"), counters{1, 0}},
		{"no valid signal", counters{2, 0}, need("the same"), nil, counters{1, 1}},
		{"no valid signal again", counters{1, 1}, nil, nil, counters{1, 2}},
		{"a signal after silence", counters{1, 2}, nil, need("the same"), counters{1, 0}},
	} {
		if got := c.before.count(c.previous, c.present); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
