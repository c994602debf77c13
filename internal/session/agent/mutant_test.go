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
		{By: "^TestLastWord$", Mutant: mutant.Mutant{Name: "what a model quotes is a signal", File: "ask.go",
			Old: "if wire, err := s.Wire(); err == nil {", New: "if wire, err := s.Wire(); err == nil || payload != \"\" {"}},
		{By: "^TestAsk$", Mutant: mutant.Mutant{Name: "a model speaks for the expert", File: "ask.go",
			Old: "a.speak(agentsig.Tool, l.Text)", New: "a.speak(agentsig.Voice, l.Text)"}},
		{By: "^TestAskFails$", Mutant: mutant.Mutant{Name: "a limit is a word of the expert's", File: "ask.go",
			Old: "if d.Limited || d.Refused {", New: "if d.Refused {"}},
		{By: "^TestToolOnce$", Mutant: mutant.Mutant{Name: "a tool is told of as often as its title changes", File: "teller.go",
			Old: "\tknown.said = true\n", New: ""}},
		{By: "^TestToolOnce$", Mutant: mutant.Mutant{Name: "a tool is told of after what follows it", File: "teller.go",
			Old: "\t\tt.endMessage()\n\t}\n\tt.sayHeld()\n", New: "\t\tt.endMessage()\n\t}\n"}},
		{By: "^TestAdapters$", Mutant: mutant.Mutant{Name: "a program that takes no messages takes one", File: "stream.go",
			Old: "Tell(string, string) error { return ErrCantBeTold }", New: "Tell(string, string) error { return nil }"}},
		{By: "^TestClaudeUsed$", Mutant: mutant.Mutant{Name: "what a turn has used is lost when its result tells nothing", File: "claude.go",
			Old: "c.usage(r).Larger(c.called)", New: "c.usage(r)"}},
		{By: "^TestLimit$", Mutant: mutant.Mutant{Name: "a limit may end in a hundred years", File: "limit.go",
			Old: "reset.After(now) && reset.Before(now.Add(MaxReset))", New: "reset.After(now)"}},
		{By: "^TestLoginWords$", Mutant: mutant.Mutant{Name: "a key that is missing is a crash", File: "login.go",
			Old: "|missing environment variable: .?[A-Z0-9_]*(?:KEY|TOKEN)\\b", New: ""}},
		{By: "^TestLoginRefused$", Mutant: mutant.Mutant{Name: "a token that is renewed is a login that is refused", File: "login.go",
			Old: "const loginTries = 3", New: "const loginTries = 2"}},
		{By: "^TestLoginRefused$", Mutant: mutant.Mutant{Name: "refusals of several requests add up", File: "login.go",
			Old: "\tcase try <= 1:\n\t\t*r = 1\n", New: ""}},
		{By: "^TestLoginRefused$", Mutant: mutant.Mutant{Name: "what a model says is a login that is refused", File: "claude.go",
			Old: `c.said != "" && lastWords(r.Result) == c.said`, New: "false"}},
		{By: "^TestLoginRefused$", Mutant: mutant.Mutant{Name: "what hooks log is a login that is refused", File: "claude.go",
			Old: `"it does not say why"), strconv.Itoa(r.APIStatus))`, New: `"it does not say why"), strings.Join(r.Errors, "; "))`}},
		{By: "^TestLoginRefused$", Mutant: mutant.Mutant{Name: "what a model says through Claude Code's bridge is a login that is refused", File: "acp.go",
			Old: "\tcase a.author == theAgent:\n\t\treturn false\n", New: ""}},
		{By: "^TestLoginRefused$", Mutant: mutant.Mutant{Name: "what Claude Code says in a model's place is the model's", File: "acp_hear.go",
			Old: "\t\t\ta.author = theProgram\n", New: ""}},
		{By: "^TestLoginRefused$", Mutant: mutant.Mutant{Name: "an error with a model's words is the program's", File: "acp.go",
			Old: `words == "" || !strings.HasSuffix(lastWords(string(a.said)), words)`, New: "words == words"}},
		{By: "^TestLoginRefused$", Mutant: mutant.Mutant{Name: "what Claude Code's bridge passes on is left aside", File: "acp_hear.go",
			Old: "if method == claudeRaw && !a.past {", New: "if false {"}},
		{By: "^TestLoginRefused$", Mutant: mutant.Mutant{Name: "a status as the code of an error is a crash", File: "acp.go",
			Old: " || refusedStatus(refused.Code)", New: ""}},
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
