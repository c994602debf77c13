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
		{Name: "a client's keys are the owner's", File: principals, Old: "case (p.Kind == Client || p.Kind == Runner) && key != \"\":", New: "case false:"},
		{Name: "the owner's keys can be a client's", File: principals, Old: "case strings.HasPrefix(key, work.ClientPrefix), strings.HasPrefix(key, work.RunnerPrefix):", New: "case false:"},
		{Name: "what a client does is the operator's", File: principals, Old: "\tcase Client:\n", New: "\tcase Kind(\"\"):\n"},
		{Name: "what a runner does is the operator's", File: principals, Old: "\tcase Runner:\n", New: "\tcase Kind(\"\"):\n"},
		{Name: "a runner's keys are everybody's", File: principals, Old: "(p.Kind == Client || p.Kind == Runner) && key", New: "p.Kind == Client && key"},
		{Name: "anybody runs", File: principals, Old: "right == ToRun && p.Kind == Runner:", New: "right == ToRun:"},
		{Name: "who has no key joins", File: principals, Old: "case right == ToJoin && hasKey,", New: "case right == ToJoin && (hasKey || true),"},
		{Name: "a guest is the owner", File: principals, Old: "case p.Kind == Guest:\n\t\treturn ErrGuest", New: "case p.Kind == Guest:\n\t\treturn nil"},
		{Name: "a runner is the owner", File: principals, Old: "case p.Kind == Runner:\n\t\treturn ErrRunner", New: "case p.Kind == Runner:\n\t\treturn nil"},
		{Name: "the owner is a runner", File: principals, Old: "case right == ToRun || right == ToJoin:\n\t\treturn ErrRun", New: "case right == ToRun || right == ToJoin:\n\t\treturn nil"},
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

// Each rule of how a runner gets in, dropped, is noticed.
func TestRunnerMutants(t *testing.T) {
	const runners, invitations = "runners.go", "invitation.go"
	mutant.All(t, mutant.By("TestRunner|TestManyRunners|TestInvitation", []mutant.Mutant{
		{Name: "an invitation never expires", File: runners, Old: "case !ok || o.Key == \"\" && o.expired(c.At):", New: "case !ok:"},
		{Name: "an invitation lasts a moment too long", File: runners, Old: "!now.Before(o.Expires)", New: "now.After(o.Expires)"},
		{Name: "a runner that has joined expires", File: runners, Old: "return o.Key == \"\" && !now", New: "return !now"},
		{Name: "an invitation is good twice", File: runners, Old: "case o.Key != \"\":\n\t\treturn work.Event{}, fmt.Errorf(\"%s: %w\", o.Name, ErrRedeemed)", New: "case false:"},
		{Name: "one key is two runners", File: runners, Old: "\tcase taken:\n", New: "\tcase false:\n"},
		{Name: "any text is a key", File: runners, Old: "if err := key.UnmarshalText([]byte(c.With)); err != nil {", New: "if key.UnmarshalText([]byte(c.With)); c.With == \"\" {"},
		{Name: "two runners have a name", File: runners, Old: "return o.Name == c.Name }):", New: "return false }):"},
		{Name: "a name is never given again", File: runners, Old: "live := r.At(c.At)", New: "live := r.All"},
		{Name: "any number of runners", File: runners, Old: "case len(live) >= MaxRunners:", New: "case false:"},
		{Name: "any number of labels", File: runners, Old: "if len(all) > MaxLabels {", New: "if false {"},
		{Name: "a label twice", File: runners, Old: "slices.Contains(all[:i], l)", New: "slices.Contains(all[:0:i], l)"},
		{Name: "what has not joined is drained", File: runners, Old: "\tcase o.Key == \"\":\n", New: "\tcase false:\n"},
		{Name: "a removed runner stays", File: runners, Old: "r.All = slices.Delete(r.All, at, at+1)", New: "_ = at"},
		{Name: "a runner never takes work again", File: runners, Old: "r.All[at].Drained, r.All[at].DrainBy = time.Time{}, time.Time{}", New: "_ = at"},
		{Name: "what was given is changed", File: runners, Old: "r.All = slices.Clone(r.All)", New: "_ = r.All"},
		{Name: "the chain of runners is not followed", File: runners, Old: "tip, err := r.Tip.Next(e, stored)", New: "tip, err := r.Tip, error(nil)"},
		{Name: "no key is a runner's", File: runners, Old: "if o.Key != \"\" && subtle", New: "if subtle"},
		{Name: "an invitation from nowhere", File: invitations, Old: "len(i.Box) == 0 || ", New: ""},
		{Name: "an address with anything in it", File: invitations, Old: "return r <= ' ' || r > '~'", New: "return false"},
		{Name: "an invitation without a key", File: invitations, Old: "sum.UnmarshalText([]byte(i.Key)) != nil || ", New: ""},
		{Name: "an invitation without a secret", File: invitations, Old: " || sum.UnmarshalText([]byte(i.Secret)) != nil", New: ""},
		{Name: "one invitation has two forms", File: invitations, Old: "RawURLEncoding.Strict()", New: "RawURLEncoding"},
	}))
}
