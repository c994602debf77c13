package box

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// A run from before there were other boxes has the first one as its home; one of a box that stands alone has none.
func TestHomeOf(t *testing.T) {
	shared := access.Members{All: []access.Member{{ID: 1, Name: "a"}}, Founder: "a"}
	for _, c := range []struct {
		home string
		in   access.Members
		want string
	}{{"b", shared, "b"}, {"", shared, "a"}, {"", access.Members{}, ""}, {"b", access.Members{}, ""}} {
		if got := homeOf(&delivery.Run{Started: delivery.Started{Home: c.home}}, c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.home, got, c.want)
		}
	}
}
