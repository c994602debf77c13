package signals

import "github.com/signalbox-dev/signalbox/bt"

func status(ok bool) bt.Status {
	if ok {
		return bt.Success
	}
	return bt.Failure
}

// CheckSignal holds if a valid signal was parsed in this turn: check_signal.
func CheckSignal(c *bt.Context) bt.Status {
	parsed, known := c.Get(KeyParsed).(bool)
	return status(Last(c) != nil && (parsed || !known))
}

// HasSignal holds if there is a signal, of the type signal_type if one is given: has_signal.
func HasSignal(c *bt.Context) bt.Status {
	s := Last(c)
	want := c.Args().Text("signal_type", "")
	return status(s != nil && (want == "" || s["type"] == want))
}

// TypeIs holds if the signal is of the type expected_type: signal_type_is.
func TypeIs(c *bt.Context) bt.Status {
	s := Last(c)
	return status(s != nil && s["type"] == c.Args().Text("expected_type", ""))
}

// ConfidenceAbove holds if the signal's confidence is at least the threshold, 0.5 if none is
// given: signal_confidence_above.
func ConfidenceAbove(c *bt.Context) bt.Status {
	confidence, ok := Confidence(Last(c))
	return status(ok && confidence >= c.Args().Number("threshold", 0.5))
}

// SameReasonGte holds if the model has asked for another turn for the same reason at least count
// times in a row, 3 if none is given: consecutive_same_reason_gte.
func SameReasonGte(c *bt.Context) bt.Status {
	n, ok := c.Get(KeySameReason).(int)
	return status(ok && n >= c.Args().Int("count", 3))
}
