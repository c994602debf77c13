package notify

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of what is told, dropped, is noticed.
func TestMutants(t *testing.T) {
	const teller, lost, memory, message, webhook, command = "teller.go", "lost.go", "memory.go", "message.go", "webhook.go", "command.go"
	mutant.All(t, []mutant.Noticed{
		{By: "^TestKinds$", Mutant: mutant.Mutant{Name: "who has taken a task is told of it", File: message,
			Old: "case a.Kind == string(delivery.PartGive):", New: "case false:"}},
		{By: "^TestKinds$", Mutant: mutant.Mutant{Name: "a budget's question is lost if that is no kind", File: message,
			Old: " && t.tells(config.KindBudget)", New: ""}},
		{By: "^TestKinds$", Mutant: mutant.Mutant{Name: "every end of a run is a failure", File: message,
			Old: "p.Outcome == delivery.Completed || p.Outcome == delivery.Cancelled", New: "false"}},
		{By: "^TestKinds$", Mutant: mutant.Mutant{Name: "every agent that ends has stalled", File: message,
			Old: "case p.How == delivery.Stalled:", New: "case p.How != delivery.Lost:"}},
		{By: "^TestKinds$", Mutant: mutant.Mutant{Name: "a runner that was removed is lost", File: message,
			Old: "case p.How == delivery.Lost && p.Runner != \"\":", New: "case p.How == delivery.Lost:"}},
		{By: "^TestRunnerLost$", Mutant: mutant.Mutant{Name: "each session of a runner is a loss", File: lost,
			Old: "\tt.lost = append(t.lost, runner)\n", New: ""}},
		{By: "^TestRunnerLost$", Mutant: mutant.Mutant{Name: "a runner is lost once and for ever", File: lost,
			Old: "if i < 0 {", New: "if i >= 0 {"}},
		{By: "^TestRunnerLostKilled$", Mutant: mutant.Mutant{Name: "lost runners are forgotten with the box", File: memory,
			Old: "Lost: t.lost, ", New: ""}},
		{By: "^TestRunnerBackKilled$", Mutant: mutant.Mutant{Name: "a loss before the runner was back is looked at again", File: lost,
			Old: "\tt.upTo = seq // ", New: "\t_ = seq // "}},
		{By: "^TestRunnersLostBounded$", Mutant: mutant.Mutant{Name: "any number of lost runners is kept", File: lost,
			Old: "len(t.lost) > maxLost", New: "false"}},
		{By: "^TestKinds$", Mutant: mutant.Mutant{Name: "kinds that are not set are told", File: message,
			Old: "if !t.tells(m.Kind) {", New: "if false {"}},
		{By: "^TestKinds$", Mutant: mutant.Mutant{Name: "what happened before anybody was to be told is told", File: teller,
			Old: "t.upTo, t.anew = upTo, true", New: "t.upTo, t.anew = min(upTo, 0), true"}},
		{By: "^TestKilled$", Mutant: mutant.Mutant{Name: "messages have another id in each process", File: message,
			Old: `sha256.Sum256([]byte(origin + "\n" + of))`, New: `sha256.Sum256([]byte(fmt.Sprint(&origin) + of))`}},
		{By: "^TestKilled$", Mutant: mutant.Mutant{Name: "what was told is not kept", File: teller,
			Old: "\tif told {\n\t\tt.save()\n\t}\n", New: ""}},
		{By: "^TestKilledAtFirst$", Mutant: mutant.Mutant{Name: "what a first box had not told is taken for told", File: teller,
			Old: "t.upTo, t.anew = upTo, true", New: "t.upTo, t.anew = upTo, false"}},
		{By: "^TestLatePart$", Mutant: mutant.Mutant{Name: "a part that waits since before was told", File: memory,
			Old: "return a.Kind == api.KindQuestion && a.Seq", New: "return a.Kind != api.LatestRun && a.Seq"}},
		{By: "^TestLatePart$", Mutant: mutant.Mutant{Name: "parts are told again at each start", File: memory,
			Old: "m.Taken = append(m.Taken, a.ID)", New: "_ = a.ID"}},
		{By: "^TestAgain$", Mutant: mutant.Mutant{Name: "pauses do not grow", File: teller,
			Old: "pause = min(2*pause, slowest)", New: "pause = min(pause, slowest)"}},
		{By: "^TestAgain$", Mutant: mutant.Mutant{Name: "what is new waits for the pause", File: teller,
			Old: "(!fresh || p.failed[by] == 0)", New: "!fresh"}},
		{By: "^TestAgain$", Mutant: mutant.Mutant{Name: "what is answered is told", File: teller,
			Old: "return p.About == about && !slices", New: "return false && !slices"}},
		{By: "^TestAgain$", Mutant: mutant.Mutant{Name: "what nobody takes is tried for ever", File: teller,
			Old: "t.o.Now().Sub(p.At) > maxAge", New: "false"}},
		{By: "^TestAgain$", Mutant: mutant.Mutant{Name: "an error is told as it is", File: teller,
			Old: `jsontext.Shorten(string(by)+": "+err.Error(), maxText)`, New: `string(by)+": "+err.Error()+jsontext.Shorten("", maxText)`}},
		{By: "^TestFull$", Mutant: mutant.Mutant{Name: "who is slow loses messages", File: teller,
			Old: "if i < 0 {\n\t\t\treturn false, t.progress\n\t\t}", New: "i = max(i, 0)"}},
		{By: "^TestFull$", Mutant: mutant.Mutant{Name: "any number of messages is kept", File: teller,
			Old: "if len(t.untold) >= maxUntold {", New: "if false {"}},
		{By: "^TestMemory$", Mutant: mutant.Mutant{Name: "what another ledger had counts", File: memory,
			Old: "m.Origin != t.o.Origin || ", New: ""}},
		{By: "^TestSaved$", Mutant: mutant.Mutant{Name: "a start reads all of the ledger", File: teller,
			Old: "changed = changed || t.upTo-t.saved >= oftenRead\n", New: ""}},
		{By: "^TestHostileWebhook$", Mutant: mutant.Mutant{Name: "a redirect is followed", File: webhook,
			Old: "func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }", New: "nil"}},
		{By: "^TestHostileWebhook$", Mutant: mutant.Mutant{Name: "the webhook's address is told", File: webhook,
			Old: "req.URL.Hostname(), failed.Err) // without the address", New: "req.URL, failed.Err)"}},
		{By: "^TestWebhook$", Mutant: mutant.Mutant{Name: "the time is not signed", File: webhook,
			Old: `fmt.Fprintf(mac, "%s.%s.", id, timestamp)`, New: `fmt.Fprintf(mac, "%s..", id)`}},
		{By: "^TestCommand$", Mutant: mutant.Mutant{Name: "a command has nothing to read", File: command,
			Old: "Input: append(data, '\\n')", New: "Input: data[:0]"}},
	})
}
