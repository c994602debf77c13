package oracle

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
)

// refusing are tools whose calls are refused.
type refusing struct{ tools }

func (refusing) Call(context.Context, string, json.RawMessage) toolbox.Result {
	return toolbox.Result{Text: "it is not for a model", Failed: true, Refused: true}
}

// Calls that were refused do not make the tools fail.
func TestRefusedCallsAreNoFailures(t *testing.T) {
	for _, provider := range providers {
		server := serve(t, script("== route\n"+asksWhat+"calls: search {\"n\": 1}\ncalls: search {\"n\": 2}\ncalls: search {\"n\": 3}\n"+
			"result: it is not for a model\nsays: I may not look."))
		s := settings(t, server, provider)
		s.Tools = refusing{tools{"search": nil}}
		a, told := answerTo(t, s, longQuestion)
		if a.Outcome != Answered || a.Text != "I may not look." || a.ToolCalls != 0 || a.Refused != 3 {
			t.Errorf("%s: %+v", provider, a)
		}
		refused := 0
		for _, c := range told.chunks {
			if c.Type == ToolResult && c.Failed && c.Refused {
				refused++
			}
		}
		if refused != 3 {
			t.Errorf("%s: %d results are refused", provider, refused)
		}
	}
}

// A field that a signal does not have is there, and marked.
func TestUnknownFieldOfSignal(t *testing.T) {
	server := serve(t, script("== route\n"+asksWhat+"says: It checks.\n"+
		`says: <signal type="context_sufficient"><sources_found>1</sources_found><mood>good</mood></signal>`))
	_, told := answerTo(t, settings(t, server, providers[0]), longQuestion)
	for _, c := range told.chunks {
		if c.Type != Signal {
			continue
		}
		fields, _ := c.Last["fields"].(map[string]any)
		unknown, _ := c.Last["unknown"].([]any)
		if fields["mood"] != "good" || len(unknown) != 1 || unknown[0] != "mood" {
			t.Errorf("the signal is %v", c.Last)
		}
		return
	}
	t.Error("there is no signal")
}
