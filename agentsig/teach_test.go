package agentsig_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// The text that teaches XML signals says each of them, in a form that counts once it is not indented;
// as it stands it is no signal.
func TestReflectionInstructions(t *testing.T) {
	text := agentsig.ReflectionInstructions()
	if r, ok := agentsig.ParseReflection(text, time.Time{}); ok {
		t.Errorf("an echoed prompt signals %s", r.Type)
	}
	taught := map[agentsig.Kind]bool{}
	for line := range strings.Lines(text) {
		example, indented := strings.CutPrefix(line, "    ")
		if !indented {
			continue
		}
		r, ok := agentsig.ParseReflection(example, time.Time{})
		if !ok || r.Defaulted || len(r.Dropped)+len(r.Unknown) > 0 {
			t.Errorf("the example does not count: %s", example)
		}
		taught[r.Type] = true
	}
	for _, e := range agentsig.Vocabulary() {
		if e.Dialect != agentsig.DialectXML {
			continue
		}
		if !taught[e.Kind] || !strings.Contains(text, "\nSay "+e.Wire+" when "+e.When+":") {
			t.Errorf("%s is not taught", e.Kind)
		}
		for _, k := range e.Keys {
			if !strings.Contains(text, k.Name+" has ") && !strings.Contains(text, k.Name+" is ") {
				t.Errorf("%s of %s is not taught", k.Name, e.Kind)
			}
		}
	}
	if !strings.Contains(text, "reason has 3 to 500 characters") {
		t.Error("the size of a reason is not said")
	}
}
