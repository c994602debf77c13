package web

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestLogin", Mutant: mutant.Mutant{Name: "a link can be spent twice", File: "login.go",
			Old: "	delete(l.all, sum)\n	return", New: "	return"}},
		{By: "TestLogin", Mutant: mutant.Mutant{Name: "other sites' requests carry the cookie", File: "login.go",
			Old: "HttpOnly: true, SameSite: http.SameSiteStrictMode})\n\tw.Header()", New: "HttpOnly: true, SameSite: http.SameSiteLaxMode})\n\tw.Header()"}},
		{By: "TestAttacks", Mutant: mutant.Mutant{Name: "a form of another site is taken", File: "web.go",
			Old: "err := p.cross.Check(r); err != nil", New: "err := p.cross.Check(r); err != nil && false"}},
		{By: "TestAttacks", Mutant: mutant.Mutant{Name: "another port's page is shown what a person sees", File: "login.go",
			Old: `case "", "none", "same-origin":`, New: `case "", "none", "same-origin", "same-site":`}},
		{By: "TestAttacks", Mutant: mutant.Mutant{Name: "any token is a browser's", File: "login.go",
			Old: "who.Kind != access.Client || !strings.HasPrefix(who.Name, sessionPrefix)", New: "who.Kind == access.Gate || !strings.HasPrefix(sessionPrefix, \"page\")"}},
		{By: "TestAttacks", Mutant: mutant.Mutant{Name: "the page answers to any name", File: "web.go",
			Old: "return strings.EqualFold(name, p.o.Host)", New: `return strings.HasSuffix(name, ".localhost")`}},
		{By: "TestReview", Mutant: mutant.Mutant{Name: "a review is of whatever is there", File: "inbox.go",
			Old: `Commit: f.Get("commit")`, New: `Commit: strings.Repeat("c", 40)`}},
		{By: "TestUnseen", Mutant: mutant.Mutant{Name: "a binary file is accepted unseen", File: "inbox.go",
			Old: "len(shown.Diff.Unseen) > 0 {", New: "len(shown.Diff.Unseen) > 9 {"}},
		{By: "TestStrangeDiff", Mutant: mutant.Mutant{Name: "a file that is not understood is left out", File: "diff.go",
			Old: "err != nil || heads != len(files)", New: "err != nil && false"}},
		{By: "TestHostileQuestion", Mutant: mutant.Mutant{Name: "what nobody sees stays so", File: "words.go",
			Old: "return safetext.EscapeLines(fmt.Sprint(s))", New: "return fmt.Sprint(s)"}},
		{By: "TestHostileStrings", Mutant: mutant.Mutant{Name: "what others say is markup", File: "words.go",
			Old: `func(s any) string { return safetext.EscapeLines(fmt.Sprint(s)) }`, New: `func(s any) template.HTML { return template.HTML(fmt.Sprint(s)) }`}},
		{By: "TestSteer", Mutant: mutant.Mutant{Name: "who may answer steers runs", File: "runs.go",
			Old: "case !a.may(access.ToOperate):", New: "case !a.may(access.ToRead):"}},
		{By: "TestBoard", Mutant: mutant.Mutant{Name: "what needs a person stands among the others", File: "runs.go",
			Old: "case asked[t.ID]:", New: "case asked[t.Title]:"}},
		{By: "TestTask", Mutant: mutant.Mutant{Name: "a task that waits for a review has no diff", File: "task.go",
			Old: "q.Kind == string(delivery.PartReview) && q.Task == v.Task.ID", New: "q.Kind == string(delivery.PartTake) && q.Task == v.Task.ID"}},
		{By: "TestHubRests", Mutant: mutant.Mutant{Name: "the box is followed for nobody", File: "live.go",
			Old: "if len(h.readers) == 0 {\n\t\tlast", New: "if false {\n\t\tlast"}},
		{By: "TestHubGathers", Mutant: mutant.Mutant{Name: "a reader is told of others' topics", File: "live.go",
			Old: `s.about[t] {`, New: `len(s.about) > 0 {`}},
		{By: "TestHubTellsWhatDiffers", Mutant: mutant.Mutant{Name: "who came since knows what the others know", File: "live.go",
			Old: "if s.joined || ", New: "if "}},
		{By: "TestHubTellsWhatDiffers", Mutant: mutant.Mutant{Name: "what happens to what waits is not told", File: "live.go",
			Old: "if now[name] {", New: "if now[name] && false {"}},
		{By: "TestHubTellsWhatDiffers", Mutant: mutant.Mutant{Name: "any event is about the runs", File: "live.go",
			Old: "s.runs = s.runs || isRun(run)", New: "s.runs = true"}},
		{By: "TestChangesAreAll", Mutant: mutant.Mutant{Name: "what stands apart is taken for a row", File: "parts.go",
			Old: "|| old.after != last {", New: "{"}},
		{By: "TestChangesAreAll", Mutant: mutant.Mutant{Name: "what has changed is not sent", File: "parts.go",
			Old: "same := was && old.sum == now[a.id].sum", New: "same := was"}},
		{By: "TestChangesAreSmall", Mutant: mutant.Mutant{Name: "versions are remembered for ever", File: "parts.go",
			Old: "len(p.order) > maxVersions", New: "len(p.order) > 1000*maxVersions"}},
		{By: "TestStream", Mutant: mutant.Mutant{Name: "who comes back has missed nothing", File: "live.go",
			Old: "if since < r.upTo {", New: "if since < r.upTo && false {"}},
	})
}
