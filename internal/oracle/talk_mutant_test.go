package oracle

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule about what a model is given of a conversation, dropped, is noticed.
func TestTalkMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestTalk", []mutant.Mutant{
		{Name: "signals are given again", File: "talk.go", Old: "safetext.Prefix(strings.TrimSpace(said.clean.String()), maxBeforeText)", New: "safetext.Prefix(strings.TrimSpace(x.Answer), maxBeforeText)"},
		{Name: "any number of questions is given", File: "talk.go", Old: "len(t.Before) == maxBefore || ", New: ""},
		{Name: "any number of bytes is given", File: "talk.go", Old: " || bytes > maxBeforeBytes", New: ""},
		{Name: "a text is given whole", File: "talk.go", Old: "question, whole := safetext.Prefix(strings.TrimSpace(x.Question), maxBeforeText)", New: "question, whole := strings.TrimSpace(x.Question), true"},
		{Name: "the oldest comes last", File: "talk.go", Old: "slices.Reverse(t.Before)", New: ""},
		{Name: "the model is not told what is left out", File: "talk.go", Old: "if i == 0 && t.Left {", New: "if i < 0 {"},
		{Name: "the model is not told what is cut", File: "talk.go", Old: "if e.Cut {", New: "if false {"},
		{Name: "the person is not told what is left out", File: "talk.go", Old: "\tif t.Left {", New: "\tif false {"},
		{Name: "what is not kept is an error", File: "talk.go", Old: "if errors.Is(err, ErrNotKept) {", New: "if false {"},
		{Name: "what can't be looked up is left out", File: "talk.go", Old: "\t\t\treturn t, err\n", New: "\t\t\tbreak\n"},
		{Name: "the recording has no history", File: "oracle.go", Old: "q.Talk.put(values)", New: ""},
		{Name: "the model is given no history", File: "oracle.go", Old: "messages: o.settings.Talk.messages(text),", New: "messages: Talk{}.messages(text),"},
	}))
}
