//go:build unix

package agent_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it. Those that only a whole
// session notices are among the faults of package session.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestToolOnce$", Mutant: mutant.Mutant{Name: "a tool is told of as often as its title changes", File: "teller.go",
			Old: "\tknown.said = true\n", New: ""}},
		{By: "^TestToolOnce$", Mutant: mutant.Mutant{Name: "a tool is told of after what follows it", File: "teller.go",
			Old: "\t\tt.endMessage()\n\t}\n\tt.sayHeld()\n", New: "\t\tt.endMessage()\n\t}\n"}},
		{By: "^TestAdapters$", Mutant: mutant.Mutant{Name: "a program that takes no messages takes one", File: "stream.go",
			Old: "Tell(string, string) error { return ErrCantBeTold }", New: "Tell(string, string) error { return nil }"}},
		{By: "^TestLimit$", Mutant: mutant.Mutant{Name: "a limit may end in a hundred years", File: "limit.go",
			Old: "reset.After(now) && reset.Before(now.Add(MaxReset))", New: "reset.After(now)"}},
		{By: "^TestSettings$", Mutant: mutant.Mutant{Name: "Gemini CLI trusts what it judges", File: "settings.go",
			Old: `geminiTrust+"=false"`, New: `geminiTrust+"=true"`}},
		{By: "^TestSettings$", Mutant: mutant.Mutant{Name: "Gemini CLI takes a login from what it judges", File: "settings.go",
			Old: `all = append(all, name+"=")`, New: "_ = name"}},
		{By: "^TestSettings$", Mutant: mutant.Mutant{Name: "OpenCode takes settings from what it judges", File: "settings.go",
			Old: `opencodeProject+"=1", `, New: ""}},
		{By: "^TestSettings$", Mutant: mutant.Mutant{Name: "OpenCode runs language servers of what it judges", File: "settings.go",
			Old: `config["lsp"], config["formatter"] = false, false`, New: ""}},
		{By: "^TestSettings$", Mutant: mutant.Mutant{Name: "OpenCode's settings name another shell", File: "settings.go",
			Old: `config["shell"] = sandbox.NestShell(p.spec.Nest, user)`, New: "_ = user"}},
		{By: "^TestSettings$", Mutant: mutant.Mutant{Name: "OpenCode's server answers to all", File: "settings.go",
			Old: `opencodePassword+"="+p.secret, `, New: ""}},
		{By: "^TestSettings$", Mutant: mutant.Mutant{Name: "what OpenCode runs from lies with its commands' files", File: "settings.go",
			Old: `+p.spec.Private)`, New: `+p.spec.Dir)`}},
	})
}
