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
		{Name: "anybody runs", File: principals, Old: "right == ToRun && p.Kind == Runner,", New: "right == ToRun,"},
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

// Each rule of who is a member of a cluster, dropped, is noticed.
func TestMemberMutants(t *testing.T) {
	const members, invitations, principals = "members.go", "invitation.go", "principal.go"
	mutant.All(t, mutant.By("TestMember|TestInvitationKinds|TestPeerMay", []mutant.Mutant{
		{Name: "an id is given twice", File: members, Old: "m.All, m.Last = append(m.All, one), p.ID", New: "m.All, m.Last = append(m.All, one), uint64(len(m.All)+1)"},
		{Name: "an event with an old id counts", File: members, Old: " && p.ID > m.Last:", New: ":"},
		{Name: "a place lasts a moment too long", File: members, Old: "case !ok || !c.At.Before(place.Expires):", New: "case !ok || c.At.After(place.Expires):"},
		{Name: "a place never expires", File: members, Old: "case !ok || !c.At.Before(place.Expires):", New: "case !ok:"},
		{Name: "a place is good twice", File: members, Old: "return o.Secret == *p.Secret })", New: "return false })"},
		{Name: "who joins again is refused", File: members, Old: "\t\t\treturn work.Event{}, ErrMember\n\t\t}\n\t\treturn work.Event{}, ErrPlaceTaken", New: "\t\t}\n\t\treturn work.Event{}, ErrPlaceTaken"},
		{Name: "a redeemed place takes another key", File: members, Old: "subtle.ConstantTimeCompare([]byte(used.Key), []byte(c.With)) == 1", New: "used.Key != \"\""},
		{Name: "one key is two members", File: members, Old: "\tcase taken:\n\t\treturn work.Event{}, fmt.Errorf(\"%s: %w\", other.Name, ErrMembersKey)\n\t}\n\tp :=", New: "\tcase false:\n\t\t_ = taken\n\t\treturn work.Event{}, fmt.Errorf(\"%s: %w\", other.Name, ErrMembersKey)\n\t}\n\tp :="},
		{Name: "a withdrawn place is good", File: members, Old: "return o.Name == p.Name })\n\tcase e.Type == MemberLeft:", New: "return false })\n\tcase e.Type == MemberLeft:"},
		{Name: "a place outlives whom it replaces", File: members, Old: "return o.Replaces == p.Name })", New: "return false })"},
		{Name: "who leaves stays", File: members, Old: "return o.ID == p.ID })", New: "return false })"},
		{Name: "who is replaced stays", File: members, Old: "\t\treturn o.ID == p.Old\n", New: "\t\treturn false\n"},
		{Name: "who replaces a voter learns", File: members, Old: "one.Votes = one.Votes || o.ID == p.Old && o.Votes\n", New: ""},
		{Name: "the second box votes", File: members, Old: "if len(m.All) != 2 || !voting {", New: "if len(m.All) != 0 || !voting {"},
		{Name: "the third box learns", File: members, Old: "if len(m.All) != 2 || !voting {", New: "if len(m.All) < 2 || !voting {"},
		{Name: "four boxes are invited", File: members, Old: "case c.Replaces == \"\" && len(m.All)+len(own) >= MaxMembers:", New: "case len(own) > 99:"},
		{Name: "a name is given twice", File: members, Old: "case taken && c.Name != c.Replaces, ", New: "case taken && false, "},
		{Name: "a name is invited twice", File: members, Old: "return p.Name == c.Name || c.Replaces", New: "return c.Replaces"},
		{Name: "two replace one", File: members, Old: "p.Name == c.Name || c.Replaces != \"\" && p.Replaces == c.Replaces", New: "p.Name == c.Name"},
		{Name: "the last box leaves", File: members, Old: "case len(m.All) == 1:\n\t\treturn work.Event{}, ErrLastMember\n", New: ""},
		{Name: "the next cluster begins with the boxes of the one before", File: members, Old: "m.All, m.Places, m.Founder, m.Begun = nil, nil, p.Name, true", New: "m.Begun = true"},
		{Name: "the next cluster is the one before", File: members, Old: "\tm.Begun = false\n", New: "\tm.Begun = m.Begun || len(m.All) == 1\n"},
		{Name: "who founds twice has two ids", File: members, Old: "if m.Begun && m.All[0].Key", New: "if false && m.All[0].Key"},
		{Name: "the level falls", File: members, Old: "if c.To <= m.Level {", New: "if c.To < 0 {"},
		{Name: "a name in brackets is an address", File: members, Old: "return strings.Trim(text", New: "return strings.Trim(inner"},
		{Name: "an address that is half in brackets", File: members, Old: "return ip.Is6() == six && ", New: "return "},
		{Name: "all of a machine's addresses", File: members, Old: " && !ip.IsUnspecified()", New: ""},
		{Name: "what was given of members is changed", File: members, Old: "slices.DeleteFunc(slices.Clone(m.All), func(o Member) bool { return o.ID == p.ID })", New: "slices.DeleteFunc(m.All, func(o Member) bool { return o.ID == p.ID })"},
		{Name: "the chain of members is not followed", File: members, Old: "tip, err := m.Tip.Next(e, stored)", New: "tip, err := m.Tip, error(nil)"},
		{Name: "a runner's invitation is a box's", File: invitations, Old: "return parseInvitation(word, clusterPrefix, ErrBadClusterInvitation)", New: "return parseInvitation(word, invitationPrefix, ErrBadClusterInvitation)"},
		{Name: "a box may what a runner may", File: principals, Old: "\tcase p.Kind == Peer:\n\t\treturn ErrPeer\n", New: "\tcase p.Kind == Peer && right != ToRun:\n\t\treturn ErrPeer\n"},
		{Name: "anybody shares", File: principals, Old: "right == ToShare && p.Kind == Peer:", New: "right == ToShare:"},
	}))
}
