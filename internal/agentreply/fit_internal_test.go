package agentreply

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/jsontext"
)

// When nothing else is left to cut, what the head says is: a reply never has more than there is room for.
func TestHeadIsCutLast(t *testing.T) {
	h := Head{Verdict: strings.Repeat("v", maxVerdict), Next: strings.Repeat("n", maxNext), room: 400}
	title := "a title"
	if !h.fit(func() int { return jsontext.Length(h) }, shorter(&title, 0)) {
		t.Fatal("nothing was cut")
	}
	if got := jsontext.Length(h); got > h.room || title != "" {
		t.Errorf("the head has %d bytes, want %d at most, with the title cut before it: %q", got, h.room, title)
	}
}
