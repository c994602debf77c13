package oracle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/signals"
)

type values = map[string]any

// A question begins with nothing signalled and nothing counted, whatever the blackboard had.
func TestResetState(t *testing.T) {
	board := values{}
	for _, key := range []string{keyLastSignal, signals.KeyPrevious} {
		board[key] = values{"type": "stuck"}
	}
	for _, key := range []string{signals.KeyEmitted, keyToolResults} {
		board[key] = []any{"before"}
	}
	for _, key := range []string{signals.KeySameReason, signals.KeySilent, keyTurn} {
		board[key] = 7
	}
	board[signals.KeyParsed], board[keyContent] = true, "before"
	b, err := bt.NewBlackboard(board)
	if err != nil {
		t.Fatal(err)
	}
	if got := (&query{}).resetState(bt.NewContext(b, time.Unix(0, 0), nil)); got != bt.Success {
		t.Errorf("%v", got)
	}
	want := values{
		keyLastSignal: nil, signals.KeyPrevious: nil, signals.KeyEmitted: []any{}, keyToolResults: []any{},
		signals.KeySameReason: 0, signals.KeySilent: 0, keyTurn: 0, signals.KeyParsed: false, keyContent: "",
	}
	for key, value := range want {
		if diff := cmp.Diff(value, b.Get(key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}
