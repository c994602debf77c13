package access_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// do decides a command on tokens and records the event, as the ledger would.
func do(t *testing.T, before access.Tokens, command access.Command) access.Tokens {
	t.Helper()
	decided, err := access.Decide(before, command)
	if err != nil {
		t.Fatalf("%#v: %v", command, err)
	}
	if got := command.Events(); !cmp.Equal(got, []string{decided.Type}) || decided.Actor != work.OperatorActor {
		t.Errorf("%#v leads to %s by %s, and says %q", command, decided.Type, decided.Actor, got)
	}
	was := slices.Clone(before.All)
	e, stored := record(t, before, decided)
	next, err := access.Fold(before, before.Seq+1, e, stored)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(was, before.All) {
		t.Errorf("%s changed the tokens that were given: %+v, and now %+v", decided.Type, was, before.All)
	}
	return next
}

func record(t *testing.T, before access.Tokens, decided work.Event) (ledger.Event, []byte) {
	t.Helper()
	payload, err := json.Marshal(decided.Payload)
	if err != nil {
		t.Fatal(err)
	}
	e := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: "tokens", ItemSeq: before.Tip.ItemSeq + 1, Prev: before.Tip.Sum,
		Type: decided.Type, Actor: decided.Actor, Key: decided.Key, Time: noon, Payload: payload,
	}
	stored, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return e, stored
}

// create makes a token of a name, which is the secret too.
func create(name string, at time.Time, ttl time.Duration, scopes ...access.Scope) access.Create {
	return access.Create{Name: name, Scopes: scopes, At: at, TTL: ttl, SHA256: access.Sum(name), Key: "make " + name}
}

func names(all []access.Token) (found []string) {
	for _, t := range all {
		found = append(found, t.Name)
	}
	return found
}

// A token is its client's from its creation until it expires or is revoked, and its name can be given again after that.
func TestTokens(t *testing.T) {
	var all access.Tokens
	if _, err := all.Find("", noon); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("nothing is somebody's token: %v", err)
	}
	all = do(t, all, create("viewer", noon, 0, access.Read))
	all = do(t, all, create("ci", noon, time.Hour, access.Operate, access.Answer))
	ci, err := all.Find("ci", noon.Add(time.Hour-time.Millisecond))
	want := access.Token{
		ID: "K-00002", Name: "ci", Scopes: []access.Scope{access.Operate, access.Answer}, Created: noon, Expires: noon.Add(time.Hour), SHA256: access.Sum("ci"),
	}
	if err != nil || !cmp.Equal(ci, want) {
		t.Fatalf("a token: %+v, %v", ci, err)
	}
	if p := ci.Principal(); p.Kind != access.Client || p.Name != "ci" || p.Actor() != "client:ci" || !cmp.Equal(p.Scopes, want.Scopes) {
		t.Errorf("whose it is: %+v", p)
	}
	later := noon.Add(time.Hour)
	if _, err := all.Find("ci", later); !errors.Is(err, access.ErrExpired) || !strings.Contains(err.Error(), "ci") {
		t.Errorf("at its end: %v", err)
	}
	if _, err := all.Find("viewer", later.AddDate(100, 0, 0)); err != nil {
		t.Errorf("without an end: %v", err)
	}
	if _, err := all.Find("ci ", noon); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("another one: %v", err)
	}
	if _, err := access.Decide(all, create("ci", later.Add(-time.Millisecond), 0, access.Read)); !errors.Is(err, access.ErrTaken) {
		t.Errorf("a name that is taken: %v", err)
	}
	if got := names(all.At(later)); !cmp.Equal(got, []string{"viewer"}) {
		t.Errorf("good later: %q", got)
	}
	all = do(t, all, create("ci", later, 0, access.Metrics)) // which forgets the other
	if got := names(all.All); !cmp.Equal(got, []string{"viewer", "ci"}) || all.All[1].ID != "K-00003" {
		t.Errorf("after a name was given again: %+v", all.All)
	}
	all = do(t, all, access.Revoke{Which: "K-00001"})
	all = do(t, all, access.Revoke{Which: "ci", Key: "revoke"})
	if len(all.All) != 0 || all.Made != 3 || !cmp.Equal(all.Recorded("revoke"), []uint64{5}) || !cmp.Equal(all.Recorded("make ci"), []uint64{3, 2}) {
		t.Errorf("after all were revoked: %+v", all)
	}
	if _, err := all.Find("viewer", noon); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("a revoked one: %v", err)
	}
	if all = do(t, all, create("viewer", noon, 0, access.Read)); all.All[0].ID != "K-00004" {
		t.Errorf("the id of what was revoked is given again: %+v", all.All)
	}
}

// There are never more than MaxTokens, and those that have expired make room.
func TestManyTokens(t *testing.T) {
	var all access.Tokens
	for n := range access.MaxTokens {
		ttl := time.Duration(0)
		if n == 500 {
			ttl = time.Hour
		}
		e, err := access.Decide(all, create(fmt.Sprint(n), noon, ttl, access.Read))
		if err != nil {
			t.Fatal(err)
		}
		payload, err := json.Marshal(e.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if all, err = access.Evolve(all, uint64(n), ledger.Event{Type: e.Type, Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := access.Decide(all, create("more", noon, 0, access.Read)); !errors.Is(err, access.ErrMany) {
		t.Errorf("one more: %v", err)
	}
	all = do(t, all, create("more", noon.Add(time.Hour), 0, access.Read))
	if len(all.All) != access.MaxTokens {
		t.Errorf("there are %d tokens", len(all.All))
	}
}

func TestRefusals(t *testing.T) {
	one := do(t, access.Tokens{}, create("one", noon, time.Hour, access.Read))
	for _, c := range []struct {
		name string
		do   access.Command
		want error
	}{
		{"no name", create("", noon, 0, access.Read), access.ErrBadName},
		{"a capital letter", create("Ci", noon, 0, access.Read), access.ErrBadName},
		{"an id", create("K-00001", noon, 0, access.Read), access.ErrBadName},
		{"a point first", create(".ci", noon, 0, access.Read), access.ErrBadName},
		{"a slash", create("a/b", noon, 0, access.Read), access.ErrBadName},
		{"a line", create("a\nb", noon, 0, access.Read), access.ErrBadName},
		{"a long name", create(strings.Repeat("a", 65), noon, 0, access.Read), access.ErrBadName},
		{"no scope", create("ci", noon, 0), access.ErrBadScope},
		{"an unknown scope", create("ci", noon, 0, "all"), access.ErrBadScope},
		{"a scope twice", create("ci", noon, 0, access.Read, access.Read), access.ErrBadScope},
		{"an end before the beginning", create("ci", noon, -time.Hour, access.Read), access.ErrBadTTL},
		{"too short", create("ci", noon, time.Millisecond, access.Read), access.ErrBadTTL},
		{"too long", create("ci", noon, access.MaxTTL+1, access.Read), access.ErrBadTTL},
		{"revoke what is not there", access.Revoke{Which: "two"}, access.ErrNoToken},
		{"revoke nothing", access.Revoke{}, access.ErrNoToken},
	} {
		if e, err := access.Decide(one, c.do); !errors.Is(err, c.want) || e.Type != "" {
			t.Errorf("%s: %+v, %v", c.name, e, err)
		}
	}
	for _, name := range []string{"a", "0", "a.b_c-1", strings.Repeat("a", 64)} {
		if err := access.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestFoldRefuses(t *testing.T) {
	one := do(t, access.Tokens{}, create("one", noon, 0, access.Read))
	for name, change := range map[string]func(*work.Event, *access.Tokens){
		"an unknown type":                  func(e *work.Event, _ *access.Tokens) { e.Type = "TokenEaten" },
		"a token that can't be read":       func(e *work.Event, _ *access.Tokens) { e.Payload = 1 },
		"an end that can't be read":        func(e *work.Event, _ *access.Tokens) { e.Type, e.Payload = access.TokenRevoked, 1 },
		"what does not continue the chain": func(_ *work.Event, of *access.Tokens) { of.Tip.ItemSeq++ },
	} {
		decided, err := access.Decide(one, create("two", noon, 0, access.Read))
		if err != nil {
			t.Fatal(err)
		}
		of := one
		change(&decided, &of)
		e, stored := record(t, of, decided)
		if _, err := access.Fold(one, 2, e, stored); err == nil {
			t.Errorf("%s is folded", name)
		}
	}
}

// Each principal may what it is there for.
func TestMay(t *testing.T) {
	owner, gate, session := access.Principal{Kind: access.Owner}, access.Principal{Kind: access.Gate}, access.Principal{Kind: access.Session, Session: "S"}
	client := func(scopes ...access.Scope) access.Principal {
		return access.Principal{Kind: access.Client, Name: "ci", Scopes: scopes}
	}
	const read, answer, operate, metrics, own, attend, report, pass, run, join = access.ToRead, access.ToAnswer, access.ToOperate, access.ToMetrics, access.ToOwn, access.ToAttend, access.ToReport, access.ToPass, access.ToRun, access.ToJoin
	for _, c := range []struct {
		who access.Principal
		may []access.Right
	}{
		{owner, []access.Right{read, answer, operate, metrics, own, attend, pass}},
		{gate, []access.Right{report}},
		{session, []access.Right{attend}},
		{access.Principal{Kind: access.Session, Session: "S2"}, nil},
		{access.Principal{Kind: access.Session}, nil},
		{client(access.Read), []access.Right{read}},
		{client(access.Answer), []access.Right{read, answer}},
		{client(access.Operate), []access.Right{read, operate, attend}},
		{client(access.Operate, access.Answer), []access.Right{read, answer, operate, attend, pass}},
		{client(access.Metrics), []access.Right{metrics}},
		{client(access.Metrics, access.Answer), []access.Right{read, answer, metrics}},
		{client(), nil},
		{access.Principal{Kind: access.Runner, Name: "gpu1"}, []access.Right{run, join}},
		{access.Principal{Kind: access.Runner, Name: "gpu1", Session: "S", Scopes: access.Scopes()}, []access.Right{run, join}},
		{access.Principal{Kind: access.Guest}, []access.Right{join}},
	} {
		for _, right := range []access.Right{read, answer, operate, metrics, own, attend, report, pass, run, join} {
			err := c.who.May(right, "S")
			if want := slices.Contains(c.may, right); (err == nil) != want {
				t.Errorf("%+v, %s: %v", c.who, right, err)
			}
		}
	}
	if err := session.May(attend, ""); err == nil {
		t.Error("a session may attend to none")
	}
	var scope *access.ScopeError
	if err := client(access.Read).May(operate, ""); !errors.As(err, &scope) || scope.Need != access.Operate || !strings.Contains(err.Error(), "token create --name NAME --scope read,operate") {
		t.Errorf("a client is told %v", err)
	}
}

// The keys of two principals never meet.
func TestKeys(t *testing.T) {
	owner := access.Principal{Kind: access.Owner}
	client := access.Principal{Kind: access.Client, Name: "ci", Scopes: []access.Scope{access.Operate}}
	if key, err := owner.Key("x"); key != "x" || err != nil {
		t.Errorf("the owner's key is %q, %v", key, err)
	}
	if key, err := client.Key("x"); key != "client:ci/x" || err != nil {
		t.Errorf("a client's key is %q, %v", key, err)
	}
	if key, err := client.Key(""); key != "" || err != nil {
		t.Errorf("no key is %q, %v", key, err)
	}
	runner := access.Principal{Kind: access.Runner, Name: "gpu1"}
	if key, err := runner.Key("x"); key != "runner:gpu1/x" || err != nil || runner.Actor() != "runner:gpu1" {
		t.Errorf("a runner's key is %q, %v, and its actor %s", key, err, runner.Actor())
	}
	for _, p := range []access.Principal{owner, client, runner} {
		for _, key := range []string{"client:ci/x", "runner:gpu1/x"} {
			if _, err := p.Key(key); !errors.Is(err, access.ErrBadKey) {
				t.Errorf("%s takes the key %s, of the box's own making: %v", p.Kind, key, err)
			}
		}
	}
	if owner.Actor() != work.OperatorActor {
		t.Errorf("the owner acts as %q", owner.Actor())
	}
}

// A session's token is always the same, and nobody else's.
func TestSessionToken(t *testing.T) {
	key, other := [32]byte{1}, [32]byte{2}
	const session = "01JD0000000000000000000001-1.3"
	token := access.SessionToken(key, session)
	if token != access.SessionToken(key, session) || token == access.SessionToken(other, session) || token == access.SessionToken(key, session+"1") {
		t.Errorf("a token: %s", token)
	}
	if !regexp.MustCompile("^" + access.SessionPattern + "$").MatchString(token) {
		t.Errorf("%s does not match", token)
	}
	if p, is, err := access.SessionOf(key, token); err != nil || !is || p.Kind != access.Session || p.Session != session {
		t.Errorf("whose it is: %+v, %t, %v", p, is, err)
	}
	for _, wrong := range []string{
		access.SessionToken(other, session), strings.Replace(token, "1.3", "1.4", 1), token + "0", token[:len(token)-1], "sbs_" + session + "_", "sbs_x_" + strings.Repeat("0", 64),
	} {
		if p, is, err := access.SessionOf(key, wrong); !is || !errors.Is(err, access.ErrUnknown) || p.Kind != "" {
			t.Errorf("%s: %+v, %t, %v", wrong, p, is, err)
		}
	}
	for _, none := range []string{"", "sbs_", "sbs__", "sbt_x_y", "sbs_x"} {
		if _, is, err := access.SessionOf(key, none); is || err != nil {
			t.Errorf("%q: %t, %v", none, is, err)
		}
	}
}

func TestSecret(t *testing.T) {
	if got := access.Secret([32]byte{1, 0xff}); got != "sbt_01ff"+strings.Repeat("00", 30) {
		t.Errorf("a secret: %s", got)
	}
}

func TestSentence(t *testing.T) {
	for _, c := range []struct {
		kind    string
		payload any
		want    string
	}{
		{access.TokenCreated, access.Token{ID: "K-00001", Name: "ci", Scopes: []access.Scope{access.Read, access.Answer}}, "token K-00001 of the client ci created, for read, answer"},
		{access.TokenCreated, access.Token{ID: "K-00001", Name: "ci", Scopes: []access.Scope{access.Read}, Expires: noon}, "token K-00001 of the client ci created, for read until 2026-01-02T12:00:00Z"},
		{access.TokenRevoked, access.Revoked{ID: "K-00001", Name: "\x1b[31m"}, `token K-00001 of the client \x1b[31m revoked`},
		{access.TokenRevoked, 1, "TokenRevoked that can't be read"},
		{access.RunnerInvited, access.RunnerEvent{Name: "gpu1", Expires: noon}, "runner gpu1 invited, until 2026-01-02T12:00:00Z"},
		{access.RunnerInvited, access.RunnerEvent{Name: "gpu1", Labels: []string{"linux", "gpu"}, Expires: noon}, "runner gpu1 invited, labels linux gpu, until 2026-01-02T12:00:00Z"},
		{access.RunnerJoined, access.RunnerEvent{Name: "gpu1", Key: &ledger.Hash{1}}, "runner gpu1 joined with the key 01" + strings.Repeat("0", 62)},
		{access.RunnerDrained, access.RunnerEvent{Name: "gpu1", By: noon}, "runner gpu1 drained: its sessions end by 2026-01-02T12:00:00Z"},
		{access.RunnerDrained, access.RunnerEvent{Name: "gpu1", Back: true}, "runner gpu1 takes work again"},
		{access.RunnerRemoved, access.RunnerEvent{Name: "\x1b[31m"}, `runner \x1b[31m removed`},
		{access.RunnerRemoved, 1, "RunnerRemoved that can't be read"},
	} {
		data, err := json.Marshal(c.payload)
		if err != nil {
			t.Fatal(err)
		}
		e := ledger.Event{Type: c.kind, Payload: data}
		if got := access.Sentence(e); got != c.want {
			t.Errorf("%s: %q, not %q", c.kind, got, c.want)
		}
	}
	if r, err := access.RevokedBy(ledger.Event{Payload: []byte(`{"id":"K-1","name":"a"}`)}); err != nil || r != (access.Revoked{ID: "K-1", Name: "a"}) {
		t.Errorf("revoked: %+v, %v", r, err)
	}
}
