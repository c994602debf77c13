package box

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A request whose texts take more room in an event than there is is the request's fault, and is not
// tried again: a character may take six bytes there.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	_, err := b.Override(work.OperatorActor, "T-1", api.Override{Phase: agentsig.PhaseDraft, Reason: strings.Repeat("<", 4096)}, "")
	if err == nil || !api.Refused(Problem(err)) {
		t.Errorf("a reason that takes 24 KiB: %v", err)
	}
}
