package access_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of who may do what, dropped, is noticed.
func TestMutants(t *testing.T) {
	const principals, tokens = "principal.go", "tokens.go"
	mutant.All(t, mutant.By("TestTokens|TestManyTokens|TestRefusals|TestFoldRefuses|TestMay|TestKeys|TestSessionToken", []mutant.Mutant{
		{Name: "anybody reports for the gate", File: principals, Old: "case right == ToReport && p.Kind != Gate:", New: "case false:"},
		{Name: "the gate may do everything", File: principals, Old: "case right != ToReport && p.Kind == Gate:", New: "case false:"},
		{Name: "a session may do everything for itself", File: principals, Old: "(right != ToAttend || p.Session", New: "(p.Session"},
		{Name: "a session speaks for another", File: principals, Old: "|| p.Session != session ||", New: "||"},
		{Name: "a client makes tokens", File: principals, Old: "case right == ToOwn:\n\t\treturn ErrOwner\n", New: "case right == ToOwn:\n\t\tright = ToOperate\n"},
		{Name: "who may read may answer", File: principals, Old: "need == Read && (s == Answer || s == Operate)", New: "need == Answer && s == Read"},
		{Name: "who may answer may operate", File: principals, Old: "need == Read && (s == Answer", New: "need != Metrics && (s == Answer"},
		{Name: "who may operate may answer", File: principals, Old: "need == Read && (s == Answer || s == Operate)", New: "need == Read && s == Answer || need != Metrics && s == Operate"},
		{Name: "who may operate takes work past its judges", File: principals, Old: "return []Scope{Operate, Answer}", New: "return []Scope{Operate}"},
		{Name: "a client's keys are the owner's", File: principals, Old: "case p.Kind == Client && key != \"\":", New: "case false:"},
		{Name: "the owner's keys can be a client's", File: principals, Old: "case strings.HasPrefix(key, work.ClientPrefix):", New: "case false:"},
		{Name: "what a client does is the operator's", File: principals, Old: "if p.Kind == Client {", New: "if false {"},
		{Name: "a scope that there is not", File: principals, Old: "!slices.Contains(Scopes(), s) ||", New: ""},
		{Name: "any token of a session is good", File: "session.go", Old: "if !hmac.Equal([]byte(token), []byte(SessionToken(key, session))) {", New: "if len(token) != len(SessionToken(key, session)) {"},
		{Name: "all sessions have one token", File: "session.go", Old: "mac.Write([]byte(session))", New: "mac.Write(nil)"},
		{Name: "an expired token is good", File: tokens, Old: "case t.All[at].expired(now):", New: "case false:"},
		{Name: "a token is good for a moment too long", File: tokens, Old: "!now.Before(t.Expires)", New: "now.After(t.Expires)"},
		{Name: "a token without an end has ended", File: tokens, Old: "!t.Expires.IsZero() && ", New: ""},
		{Name: "a revoked token is good", File: tokens, Old: "return o.ID == p.ID })", New: "return false })"},
		{Name: "two tokens have a name", File: tokens, Old: "return o.Name == c.Name })", New: "return false })"},
		{Name: "a name is never given again", File: tokens, Old: "live := t.At(c.At)", New: "live := t.All"},
		{Name: "any number of tokens", File: tokens, Old: "case len(live) >= MaxTokens:", New: "case false:"},
		{Name: "what has expired stays", File: tokens, Old: "t.All = append(t.At(p.Created), p)", New: "t.All = append(slices.Clone(t.All), p)"},
		{Name: "the chain is not followed", File: tokens, Old: "tip, err := t.Tip.Next(e, stored)", New: "tip, err := t.Tip, error(nil)"},
	}))
}
