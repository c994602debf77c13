package gitproxy_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	const mirror = "../worktree/mirror.go"
	mutant.All(t, []mutant.Noticed{
		{By: "TestProxy", Mutant: mutant.Mutant{Name: "anybody may ask", File: "gitproxy.go", Old: "[]byte(p.secret)) != 1 {", New: "[]byte(p.secret)) > 1 {"}},
		{By: "TestProxy", Mutant: mutant.Mutant{Name: "the box is asked for anything", File: "gitproxy.go", Old: "if !asked.MatchString(r.URL.Path) || r.URL.RawPath", New: "if r.URL.RawPath"}},
		{By: "TestProxy", Mutant: mutant.Mutant{Name: "whatever git sends is passed on", File: "gitproxy.go", Old: "r.Out.Header = kept", New: "_ = kept"}},
		{By: "TestThere", Mutant: mutant.Mutant{Name: "what is there under the name is not told", File: mirror, Old: `strings.Contains(text, "(stale info)") ||`, New: ""}},
		{By: "TestRefused", Mutant: mutant.Mutant{Name: "a mirror takes what is malformed", File: mirror, Old: `"fetch.fsckObjects=true", `, New: ""}},
		{By: "TestApart", Mutant: mutant.Mutant{Name: "the user's settings lead elsewhere", File: "../worktree/serve.go", Old: `"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", `, New: ""}},
	})
}
