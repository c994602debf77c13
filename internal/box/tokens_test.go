package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Tokens outlive the box: by a snapshot, and by the events alone. When one was last used does not.
func TestTokensAfterRestart(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := oneItem(t, dir, nil)
	made := func(name string) string {
		t.Helper()
		c, err := b.CreateToken(api.NewToken{Name: name, Scopes: []access.Scope{access.Read}}, "")
		if err != nil {
			t.Fatal(err)
		}
		return c.Secret
	}
	stays, goes := made("stays"), made("goes")
	for _, snapshot := range []bool{true, false} {
		if p, err := b.Principal(stays); err != nil || p.Actor() != "client:stays" {
			t.Errorf("whose it is: %+v, %v", p, err)
		}
		if all := b.ListTokens(); all[0].LastUsed.IsZero() {
			t.Errorf("a token that was used: %+v", all)
		}
		closeBox(t, b)
		if !snapshot {
			if err := os.Remove(dir.path(snapshotFile)); err != nil {
				t.Fatal(err)
			}
		}
		b = inDir(t, dir)
		all := b.ListTokens()
		if len(all) == 0 || all[0].Name != "stays" || !all[0].LastUsed.IsZero() {
			t.Errorf("with a snapshot %t: %+v", snapshot, all)
		}
		if snapshot {
			if _, err := b.RevokeToken("goes", ""); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Principal(goes); !errors.Is(err, access.ErrUnknown) {
			t.Errorf("a revoked token: %v", err)
		}
	}
	if name := b.state.nameOf(tokens); name != "" {
		t.Errorf("the tokens have the name %q", name)
	}
	if seq, err := b.state.last(tokens); err != nil || seq == 0 {
		t.Errorf("the last event on tokens is %d: %v", seq, err)
	}
	closeBox(t, b)
}

// A token is told once, also to who asks again with the same key; and of many who want one name, one gets it.
func TestTokenOnce(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := oneItem(t, dir, nil)
	defer closeBox(t, b)
	q := api.NewToken{Name: "ci", Scopes: []access.Scope{access.Operate}}
	if _, err := b.CreateToken(q, "key"); err != nil {
		t.Fatal(err)
	}
	if again, err := b.CreateToken(q, "key"); !errors.Is(err, errShownOnce) || again.Secret != "" {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	gone, err := b.RevokeToken("ci", "end")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.RevokeToken("ci", "end"); err != nil || again.ID != gone.ID {
		t.Errorf("revoked again with the key: %+v, %v", again, err)
	}
	var wait sync.WaitGroup
	var got atomic.Int32
	for range 8 {
		wait.Go(func() {
			switch _, err := b.CreateToken(q, ""); {
			case err == nil:
				got.Add(1)
			case !errors.Is(err, access.ErrTaken):
				t.Error(err)
			}
		})
	}
	if wait.Wait(); got.Load() != 1 {
		t.Errorf("%d have the name", got.Load())
	}
	for _, ttl := range []int64{-1, 1, access.MaxTTL.Milliseconds() + 1} {
		if _, err := b.CreateToken(api.NewToken{Name: "x", Scopes: q.Scopes, TTLMS: ttl}, ""); !errors.Is(err, access.ErrBadTTL) {
			t.Errorf("for %d ms: %v", ttl, err)
		}
	}
}

// What is forgotten of tokens is forgotten whole: memory does not grow with how many there ever were.
func TestForgottenTokens(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	for n := range 20 {
		c, err := b.CreateToken(api.NewToken{Name: fmt.Sprint(n), Scopes: []access.Scope{access.Read}}, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Principal(c.Secret); err != nil {
			t.Error(err)
		}
		if _, err := b.RevokeToken(c.ID, ""); err != nil {
			t.Error(err)
		}
	}
	if b.state.mu.Lock(); len(b.state.tokens.All) != 0 || len(b.state.used) != 0 || b.state.trails[tokens] != nil {
		t.Errorf("left: %d tokens, %d uses, %v", len(b.state.tokens.All), len(b.state.used), b.state.trails[tokens])
	}
	b.state.mu.Unlock()
}

// A client's token that stands in a text is not stored.
func TestTokensAreRedacted(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	c, err := b.CreateToken(api.NewToken{Name: "ci", Scopes: []access.Scope{access.Read}, TTLMS: time.Hour.Milliseconds()}, "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "use " + c.Secret + " there"}, "")
	if err != nil || strings.Contains(w.Title, c.Secret) {
		t.Errorf("a title: %q, %v", w.Title, err)
	}
}

// Nobody claims work in the name of the operator, or of a client.
func TestClaimAsOperator(t *testing.T) {
	t.Parallel()
	b := oneItem(t, Dir(t.TempDir()), nil)
	defer closeBox(t, b)
	for _, actor := range []string{work.OperatorActor, "client:ci", "client:", "Operator", "CLIENT:ci", "runner:gpu1", "Runner:gpu1"} {
		if _, err := b.Claim(t.Context(), api.Claim{Actor: actor}, ""); !errors.Is(err, errOperators) || Problem(err).Code != api.CodeInvalid {
			t.Errorf("%s claims: %v", actor, err)
		}
	}
	if _, err := b.Claim(t.Context(), api.Claim{Actor: "clients"}, ""); err != nil {
		t.Error(err)
	}
}

// The event that starts a session has the SHA-256 of its token, which is the same for the next box; what no session of the box's
// begins has none.
func TestSessionTokens(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := oneItem(t, dir, nil)
	w, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-9", Title: "x"}, "")
	if err != nil {
		t.Fatal(err)
	}
	grant := func(agent string) work.Granted {
		t.Helper()
		if err := b.Ledger().RecordItem(w.Subject, "", work.Grant{Epoch: b.epoch, Actor: "a", Agent: agent, TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
		i := b.state.item(w.Subject)
		e, err := b.event(i.Seq)
		if err != nil {
			t.Fatal(err)
		}
		var p work.Granted
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			t.Fatal(err)
		}
		if p.Agent != "codex" {
			if err := b.Ledger().RecordItem(w.Subject, "", work.Release{Token: i.Lease.Token}); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	for _, agent := range []string{"", work.PersonAgent} {
		if p := grant(agent); p.TokenSHA256 != (ledger.Hash{}) {
			t.Errorf("who is no session of the box's has a token: %+v", p)
		}
	}
	p := grant("codex")
	session := b.state.item(w.Subject).Session()
	token := b.Ledger().SessionToken(session)
	if p.TokenSHA256 != access.Sum(token) {
		t.Errorf("a session begins: %+v", p)
	}
	run := b.withToken(work.Event{Session: "s", Payload: delivery.Granted{Agent: "codex"}})
	if got := run.(delivery.Granted).TokenSHA256; got != access.Sum(b.Ledger().SessionToken("s")) {
		t.Errorf("a session of a run's begins with %s", got)
	}
	closeBox(t, b)
	b = inDir(t, dir)
	defer closeBox(t, b)
	if who, err := b.Principal(token); err != nil || who.Kind != access.Session || who.Session != session {
		t.Errorf("for the next box it is %+v, %v", who, err)
	}
}
