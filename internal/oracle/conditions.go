package oracle

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/bt"
)

// signal returns the signal of this turn's reply, or nil.
func signal(c *bt.Context) map[string]any {
	s, _ := c.Get(keyLastSignal).(map[string]any)
	return s
}

func status(ok bool) bt.Status {
	if ok {
		return bt.Success
	}
	return bt.Failure
}

// checkSignal holds if a valid signal was parsed in this turn.
func checkSignal(c *bt.Context) bt.Status {
	parsed, known := c.Get(keyParsed).(bool)
	return status(signal(c) != nil && (parsed || !known))
}

// hasSignal holds if there is a signal, of the type signal_type if one is given.
func hasSignal(c *bt.Context) bt.Status {
	s := signal(c)
	want := c.Args().Text("signal_type", "")
	return status(s != nil && (want == "" || s["type"] == want))
}

// signalTypeIs holds if the signal is of the type expected_type.
func signalTypeIs(c *bt.Context) bt.Status {
	s := signal(c)
	return status(s != nil && s["type"] == c.Args().Text("expected_type", ""))
}

// signalConfidenceAbove holds if the signal's confidence is at least the threshold.
func signalConfidenceAbove(c *bt.Context) bt.Status {
	confidence, ok := number(signal(c)["confidence"])
	return status(ok && confidence >= c.Args().Number("threshold", 0.5))
}

// consecutiveSameReasonGte holds if the model has asked for another turn for the same
// reason at least count times in a row.
func consecutiveSameReasonGte(c *bt.Context) bt.Status {
	n, ok := c.Get(keySameReason).(int)
	return status(ok && n >= c.Args().Int("count", 3))
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}

// checkSignalType is the type Signal of keys.
func checkSignalType(v any) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%T is no signal", v)
	}
	if kind, _ := s["type"].(string); kind == "" {
		return fmt.Errorf("a signal has a type")
	}
	return nil
}
