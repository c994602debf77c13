package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

// seat is a service of a cluster in use.
type seat struct {
	*Service
	t      *testing.T
	dir    string
	far    string // where the others reach it
	client *api.Client
	stop   context.CancelFunc
	served chan error
	once   sync.Once
}

// place listens where a box of a cluster is to be reached.
func place(t *testing.T, at string) net.Listener {
	t.Helper()
	l, err := httpapi.ListenSecure(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sit starts a service that is reached by TLS, until it is stopped or the test ends.
func sit(t *testing.T, dir string, far net.Listener) *seat {
	t.Helper()
	return sitWith(t, dir, far, config.Config{})
}

// sitWith does the same with settings.
func sitWith(t *testing.T, dir string, far net.Listener, c config.Config) *seat {
	t.Helper()
	s, _, err := Open(t.Context(), Options{Box: box.Options{Dir: box.Dir(dir)}, Config: c, Secure: far})
	if err != nil {
		t.Fatal(err)
	}
	near, err := httpapi.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	token, _ := s.Box.Tokens()
	one := &seat{Service: s, t: t, dir: dir, far: far.Addr().String(), client: api.NewClient(near.Addr().String(), token), stop: stop, served: make(chan error, 1)}
	go func() { one.served <- s.Serve(ctx, near) }()
	t.Cleanup(one.leave)
	return one
}

// leave stops it as planned.
func (s *seat) leave() {
	s.once.Do(func() {
		s.stop()
		if err := errors.Join(<-s.served, s.Close()); err != nil {
			s.t.Errorf("%s stopped with %v", s.far, err)
		}
		s.client.Close()
	})
}

// soon does something until it succeeds.
func soon(t *testing.T, what string, do func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a bound for what would never come
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// voting waits until so many boxes vote, one leads, and this one reaches them all. It returns the name of the one that leads.
func (s *seat) voting(n int) (leader string) {
	s.t.Helper()
	soon(s.t, fmt.Sprintf("%d boxes vote", n), func(ctx context.Context) error {
		c, err := s.client.Cluster(ctx)
		if err != nil {
			return err
		}
		voters := 0
		for _, m := range c.Members {
			if m.Role == api.RoleVoter && m.State != api.MemberNotReached {
				voters++
			}
		}
		if leader = c.Leader; leader == "" || voters != n {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	return leader
}

// invite has a box of a name invited at this one, which may pass it on.
func (s *seat) invite(name string) (line string) {
	s.t.Helper()
	soon(s.t, "invite "+name, func(ctx context.Context) error {
		i, err := s.client.InviteMember(ctx, api.NewMember{Name: name})
		line = i.Line
		return err
	})
	return line
}

// trio is three services that keep one ledger.
func trio(t *testing.T) map[string]*seat {
	t.Helper()
	t.TempDir() // so that the tests' directories go after the boxes have stopped
	far, dir := place(t, "127.0.0.1:0"), t.TempDir()
	if _, err := InitCluster(t.Context(), box.Options{Dir: box.Dir(dir)}, "a", []string{far.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	all := map[string]*seat{"a": sit(t, dir, far)}
	for _, name := range []string{"b", "c"} {
		far, dir := place(t, "127.0.0.1:0"), t.TempDir()
		line := all["a"].invite(name)
		var m membership.Membership
		soon(t, name+" joins", func(ctx context.Context) (err error) {
			m, err = JoinCluster(ctx, box.Options{Dir: box.Dir(dir)}, line, []string{far.Addr().String()})
			return err
		})
		if m.Name != name {
			t.Fatalf("joined as %+v", m)
		}
		all[name] = sit(t, dir, far)
	}
	all["a"].voting(3)
	return all
}

func put(ctx context.Context, c *api.Client, id string) error {
	_, err := c.Add(ctx, api.AddWork{ID: id, Title: "a title", Phase: agentsig.PhaseImplementation})
	return err
}

// Three boxes over TLS keep one ledger: whichever is asked, what was recorded is there; when one stops as planned, no request fails; when it comes back
// it has what it missed.
func TestThreeBoxes(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three boxes")
	}
	all := trio(t)
	for name, s := range all {
		if err := put(t.Context(), s.client, "T-"+name); err != nil {
			t.Errorf("%s records: %v", name, err)
		}
		for other, o := range all {
			if w, err := o.client.Work(t.Context(), "T-"+name); err != nil || w.ID != "T-"+name {
				t.Errorf("%s, at once after %s has recorded: %+v, %v", other, name, w, err)
			}
		}
	}
	leader := all["a"].voting(3)
	leaving := all[leader]
	var stays []*seat
	for name, s := range all {
		if name != leader {
			stays = append(stays, s)
		}
	}
	// Clients at the other boxes record one thing after the other while it stops, until another one leads.
	over, failed := make(chan struct{}), make(chan error, len(stays))
	for i, s := range stays {
		go func() {
			for n := 0; ; n++ {
				if err := put(t.Context(), s.client, fmt.Sprintf("T-%d-%d", i, n)); err != nil {
					failed <- fmt.Errorf("request %d at %s: %w", n, s.far, err)
					return
				}
				select {
				case <-over:
					failed <- nil
					return
				default:
				}
			}
		}()
	}
	leaving.leave()
	now := stays[0].voting(2)
	close(over)
	for range stays {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if now == leader {
		t.Errorf("%s has stopped, and leads", now)
	}
	back := sitWith(t, leaving.dir, place(t, leaving.far), config.Config{Hosts: []string{"git.example.org"}})
	back.voting(3)
	soon(t, "whose settings are other ones is said", func(ctx context.Context) error {
		c, err := stays[0].client.Cluster(ctx)
		for _, m := range c.Members {
			if other := m.Name == leader; other != strings.Contains(m.Problem, "its settings are not those of "+c.Leader) {
				err = errors.Join(err, fmt.Errorf("%s: %q", m.Name, m.Problem))
			}
		}
		return err
	})
	if w, err := back.client.Work(t.Context(), "T-0-0"); err != nil || w.ID != "T-0-0" {
		t.Errorf("what it missed: %+v, %v", w, err)
	}
	if _, err := back.client.InviteMember(t.Context(), api.NewMember{Name: "d"}); err == nil || !strings.Contains(err.Error(), "replace NAME") {
		t.Errorf("a fourth box: %v", err)
	}
}

// A directory that has a ledger, or is a member's, is not joined to a cluster: nothing is redeemed, and all that it has stays.
func TestJoinKeepsLedgers(t *testing.T) {
	line := access.Invitation{Box: []string{"192.0.2.1:7443"}, Key: strings.Repeat("1", 64), Secret: strings.Repeat("2", 64)}.ClusterString()
	here := []string{"127.0.0.1:7443"}
	member, alone, cut := t.TempDir(), t.TempDir(), t.TempDir()
	if _, err := InitCluster(t.Context(), box.Options{Dir: box.Dir(member)}, "a", here); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{alone, cut} {
		b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir)})
		if err == nil {
			_, err = b.CreateToken(api.NewToken{Name: "ci", Scopes: []access.Scope{access.Read}}, "")
			err = errors.Join(err, b.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := pin.OpenKey(cut) // it was to become the first of a cluster, and was cut off
	if err == nil {
		err = membership.Write(cut, membership.Membership{ID: 1, Name: "a", Members: []access.Member{{ID: 1, Name: "a", Key: key.Hash(), Addresses: here}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		want error
	}{"a member's": {member, access.ErrInCluster}, "a ledger's": {alone, box.ErrHasLedger}, "one that was cut off": {cut, box.ErrHasLedger}} {
		before := contents(t, c.dir)
		_, err := JoinCluster(t.Context(), box.Options{Dir: box.Dir(c.dir)}, line, here)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if after := contents(t, c.dir); after != before {
			t.Errorf("%s has changed: %s, and now %s", name, before, after)
		}
	}
	if _, err := InitCluster(t.Context(), box.Options{Dir: box.Dir(member)}, "a", here); !errors.Is(err, access.ErrInCluster) {
		t.Errorf("a member begins another cluster: %v", err)
	}
}

// contents are the keys and the membership in a box's directory.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	for _, name := range []string{"signer.key", "api.token", "tls.key", membership.File} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	return strings.Join(all, "|")
}

// A cluster of one begins, stands alone again, and begins anew; whoever is to be in a cluster is told to listen.
func TestClusterOfOne(t *testing.T) {
	t.TempDir() // so that the directories go after the boxes have stopped
	dir := t.TempDir()
	far := place(t, "127.0.0.1:0")
	o := box.Options{Dir: box.Dir(dir)}
	for want := range 2 {
		m, err := InitCluster(t.Context(), o, "a", []string{far.Addr().String()})
		if err != nil || m.Name != "a" || m.ID != uint64(want)+1 && want > 0 {
			t.Fatalf("%+v, %v", m, err)
		}
		if _, _, err := Open(t.Context(), Options{Box: o}); err == nil || !strings.Contains(err.Error(), "--listen") {
			t.Fatalf("without an address: %v", err)
		}
		s := sit(t, dir, far)
		s.voting(1)
		if err := put(t.Context(), s.client, fmt.Sprint("T-", want)); err != nil {
			t.Error(err)
		}
		soon(t, "the ledger has a level", func(context.Context) error {
			if s.Box.Members().Level == 0 {
				return errors.New("none")
			}
			return nil
		})
		if _, err := s.client.LeaveCluster(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "last box") {
			t.Errorf("the last box leaves while it runs: %v", err)
		}
		s.leave()
		if err := LeaveCluster(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := LeaveCluster(t.Context(), o); !errors.Is(err, membership.ErrNone) {
			t.Errorf("left twice: %v", err)
		}
		far = place(t, s.far)
	}
	alone := sit(t, dir, far)
	for want := range 2 {
		if _, err := alone.client.Work(t.Context(), fmt.Sprint("T-", want)); err != nil {
			t.Error(err)
		}
	}
}

// A box comes back wherever that was cut off before: after each step it is done again, and has the ledger, one place, and one key.
func TestRejoinCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three boxes")
	}
	all := trio(t)
	if err := put(t.Context(), all["a"].client, "T-1"); err != nil {
		t.Fatal(err)
	}
	all["c"].leave()
	dir := all["c"].dir
	o := box.Options{Dir: box.Dir(dir)}
	next := filepath.Join(dir, rejoining)
	// The steps of RejoinCluster, in their order: each of them is the last one, once.
	for cut := range 8 {
		before, err := membership.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		var m membership.Membership
		var secrets api.MemberSecrets
		steps := []func() error{
			func() error { return os.MkdirAll(next, 0o700) },
			func() error {
				old, err := pin.OpenKey(dir)
				if err != nil {
					return err
				}
				joined, err := membership.Rejoin(t.Context(), old, before, next)
				m, secrets = membership.Of(joined), joined.MemberSecrets
				return err
			},
			func() error {
				return os.Rename(filepath.Join(dir, "archive"), filepath.Join(dir, fmt.Sprint("archive.member-", before.ID)))
			},
			func() error { _, err := box.SetAside(t.Context(), o, before.ID, secrets.Signer); return err },
			func() error { return membership.Write(dir, m) },
			func() error { return os.Rename(filepath.Join(next, pin.File), filepath.Join(dir, pin.File)) },
			func() error { return os.Remove(next) },
			func() error { return box.JoinCluster(t.Context(), o, m.ID, secrets) },
		}
		for i, step := range steps[:cut+1] {
			if err := step(); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
		}
		soon(t, "back", func(ctx context.Context) (err error) { // it may be that no box leads for a moment
			m, _, err = RejoinCluster(ctx, o)
			return err
		})
		if m.ID <= before.ID || m.Name != "c" {
			t.Errorf("cut off after step %d: %+v, and %d before", cut, m, before.ID)
		}
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprint("archive.member-", before.ID), "checkpoint")); err != nil {
			t.Errorf("cut off after step %d: the ledger of before is not aside: %v", cut, err)
		}
		back := sit(t, dir, place(t, all["c"].far))
		back.voting(3)
		if _, err := back.client.Work(t.Context(), "T-1"); err != nil {
			t.Errorf("cut off after step %d: %v", cut, err)
		}
		if n := len(back.Box.Members().All); n != 3 {
			t.Errorf("cut off after step %d: the cluster has %d boxes", cut, n)
		}
		back.leave()
	}
}
