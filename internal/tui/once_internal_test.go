package tui

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// A summary says once of each file that it was changed in the checkout, however many tasks it was seen at.
func TestOnce(t *testing.T) {
	said := map[string]bool{}
	const is = delivery.Outside
	for _, c := range [][2]string{
		{"T-1: in your checkout, calc.py was changed" + is, "T-1: in your checkout, calc.py was changed" + is},
		{"T-2: in your checkout, calc.py was changed further" + is, ""},
		{"T-1: in your checkout, calc.py was changed further; new.py was changed" + is, "T-1: new.py was changed" + is},
		{"T-1: crashed", "T-1: crashed"},
		{"T-1: crashed", "T-1: crashed"},
	} {
		if got := once(c[0], said); got != c[1] {
			t.Errorf("%s\nis %q\nwant %q", c[0], got, c[1])
		}
	}
}
