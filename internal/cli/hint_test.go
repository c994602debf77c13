package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

// Who joins a cluster and finds no box of it is told of the cluster's invitations, who comes back of its boxes, and a runner of its own.
func TestHintOfWhoJoins(t *testing.T) {
	for _, why := range []error{enrolment.ErrNotReached, fmt.Errorf("%w x: %w", enrolment.ErrNotReached, pin.ErrOtherBox)} {
		if got := hint(fmt.Errorf("x: %w", joining{why})); !strings.Contains(got, "cluster invite NAME --contact") || strings.Contains(got, "runner") {
			t.Errorf("a box, %v: %s", why, got)
		}
		if got := hint(rejoining{why}); !strings.Contains(got, "cluster replace NAME") || strings.Contains(got, "runner") {
			t.Errorf("a box that comes back, %v: %s", why, got)
		}
		if got := hint(why); !strings.Contains(got, "runner invite --address") || strings.Contains(got, "cluster") {
			t.Errorf("a runner, %v: %s", why, got)
		}
	}
}
