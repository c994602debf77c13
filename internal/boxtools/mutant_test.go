package boxtools_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// TestMutants puts faults into the tools, and wants the tests to notice each.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestScopes$", Mutant: mutant.Mutant{Name: "who may operate may answer", File: "boxtools.go", Old: "return slices.Contains(has, needs)", New: "return slices.Contains(has, needs) || slices.Contains(has, access.Operate)"}},
		{By: "^TestScopes$", Mutant: mutant.Mutant{Name: "a tool that is not listed is carried out", File: "boxtools.go", Old: "if offered.Hidden {", New: "if false {"}},
		{By: "^TestOnlyOfferedToolsAreNamed$", Mutant: mutant.Mutant{Name: "replies are for who may do everything", File: "boxtools.go", Old: "return agentreply.Reader{Operate: may(t.scopes, access.Operate), Answer: may(t.scopes, access.Answer)}", New: "return agentreply.Everything"}},
		{By: "^TestFailures$", Mutant: mutant.Mutant{Name: "a verdict on another commit counts", File: "operate.go", Old: "if !strings.HasPrefix(s.Commit, commit) {", New: "if false {"}},
		{By: "^TestDistrustedRunIsNotResumed$", Mutant: mutant.Mutant{Name: "an agent resumes what the box paused", File: "operate.go", Old: `if resume && r.Distrust != "" {`, New: "if false {"}},
		{By: "^TestFailures$", Mutant: mutant.Mutant{Name: "a sentence is an id", File: "definition.go", Old: "	if !isID(s) {", New: "	if false {"}},
		{By: "^TestWaitHoldsOpen$", Mutant: mutant.Mutant{Name: "who was told is told again at once", File: "wait.go", Old: "known := t.seen(first, since)", New: "var known []string"}},
		{By: "^TestWaitHoldsOpen$", Mutant: mutant.Mutant{Name: "without since all is new", File: "wait.go", Old: "if since == 0 && len(all) > 0 {", New: "if false {"}},
		{By: "^TestWaitIsNotWokenByWork$", Mutant: mutant.Mutant{Name: "any event wakes the caller", File: "wait.go", Old: "if slices.ContainsFunc(needs(r), func(n string) bool { return !slices.Contains(known, n) }) {", New: "if r.Sequence > first.Sequence || known == nil && false {"}},
		{By: "^TestWaitIsWoken$", Mutant: mutant.Mutant{Name: "another question is none", File: "wait.go", Old: `all = append(all, "question "+q.ID)`, New: `all = append(all, "question "+q.Run)`}},
		{By: "^TestWaitWithoutABox$", Mutant: mutant.Mutant{Name: "a run that nobody brings on is waited for", File: "wait.go", Old: "if !t.host.Running() {", New: "if false {"}},
		{By: "^TestNoBoxIsSaidByAll$", Mutant: mutant.Mutant{Name: "get_run says that a run goes on without a box", File: "read.go", Old: "\tr = t.standing(r)\n", New: ""}},
		{By: "^TestNoBoxIsSaidByAll$", Mutant: mutant.Mutant{Name: "a task goes on without a box", File: "read.go", Old: "v.Run = t.standing(v.Run)", New: "_ = t.standing"}},
		{By: "^TestWaitOfTwo$", Mutant: mutant.Mutant{Name: "only the last reply is remembered", File: "wait.go", Old: "maxTold     = 16", New: "maxTold     = 1"}},
		{By: "^TestResourcesAndPrompts$", Mutant: mutant.Mutant{Name: "a resource has no bound", File: "offered.go", Old: "b := &beginning{most: maxResource}", New: "b := &beginning{most: 1 << 30}"}},
		{By: "^TestSaveFollowsNoLink$", Mutant: mutant.Mutant{Name: "a link is followed out of the box's directory", File: "read.go", Old: "err == nil && !info.IsDir()", New: "err == nil && info == nil"}},
		{By: "^TestWhoMayAsk$", Mutant: mutant.Mutant{Name: "nobody knows how long a request is", File: "http.go", Old: "r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))", New: "r.Body = io.NopCloser(bytes.NewReader(body))"}},
		{By: "^TestWhoMayAsk$", Mutant: mutant.Mutant{Name: "a client without a token is served", File: "http.go", Old: "if !ok {", New: "if !ok && false {"}},
	})
}
