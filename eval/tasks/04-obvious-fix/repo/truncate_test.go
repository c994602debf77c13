package truncate

import "testing"

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"hello", 10, "hello"}, {"hello", 3, "hel"}, {"hello", 0, ""}, {"hello", -1, ""},
	} {
		if got := Truncate(c.s, c.n); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

// The column holds bytes, not letters.
func TestTruncateFits(t *testing.T) {
	for n := range 12 {
		if got := Truncate("ééééé", n); len(got) > n {
			t.Errorf("Truncate to %d bytes has %d", n, len(got))
		}
	}
}
