package service

import "testing"

// What a box does when its ledger is not that of the others: never does one sign that is alone with what it has, and only the odd one stops.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		agree, differ int
		doubts        bool
		want          verdict
	}{
		{0, 0, false, allAgree}, // nobody answers, or nobody has as much
		{1, 0, false, allAgree}, {2, 0, false, allAgree}, {2, 0, true, allAgree},
		{0, 1, false, oneOther}, {0, 1, true, oneOther},
		{0, 0, true, oneOther},  // the other one is silent now
		{1, 0, true, allAgree},  // it was mended, or a third one answers
		{1, 1, false, allAgree}, // the other one is odd
		{1, 1, true, allAgree},
		{0, 2, false, twoOther}, {0, 2, true, twoOther},
	} {
		if got := judge(c.agree, c.differ, c.doubts); got != c.want {
			t.Errorf("%d agree, %d differ, doubts %t: %d, want %d", c.agree, c.differ, c.doubts, got, c.want)
		}
	}
}
