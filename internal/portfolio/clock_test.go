package portfolio

import "testing"

func TestClock(t *testing.T) {
	for text, want := range map[string]string{"00:00:00": "00:00:00", "10:15": "10:15:00", "23:59:59": "23:59:59"} {
		c, err := ParseClock(text)
		if err != nil || c.String() != want || c.IsZero() {
			t.Errorf("%s is read as %q, %v", text, c, err)
		}
	}
	for _, text := range []string{"", "24:00:00", "10:60", "10:15:60", "1:15", "10-15", "10:15:0", "+1:15", "10:15:00Z"} {
		if c, err := ParseClock(text); err == nil {
			t.Errorf("%q is read as %s", text, c)
		}
	}
	if early, late := NewClock(9, 30, 0), NewClock(9, 30, 1); early.Compare(late) >= 0 || late.Compare(early) <= 0 || (Clock{}).Compare(NewClock(0, 0, 0)) >= 0 {
		t.Error("times are not in order")
	}
}
