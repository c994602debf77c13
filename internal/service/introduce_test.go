package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/homelink"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/memberlink"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/mutant"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// neighbour is a box of a cluster, whose directory and address outlive it.
type neighbour struct {
	*Service
	t        *testing.T
	dir, at  string
	stop     func()
	listener net.Listener
	ended    error // why it stopped
}

func newSeat(t *testing.T) *neighbour {
	l, err := httpapi.ListenSecure(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &neighbour{t: t, dir: filepath.Join(t.TempDir(), "box"), at: l.Addr().String(), listener: l}
}

func (s *neighbour) options() box.Options {
	return box.Options{Dir: box.Dir(s.dir), Logger: slog.New(slog.DiscardHandler)}
}

// start starts the box.
func (s *neighbour) start() {
	s.t.Helper()
	if s.listener == nil {
		l, err := httpapi.ListenSecure(s.t.Context(), s.at)
		if err != nil {
			s.t.Fatal(err)
		}
		s.listener = l
	}
	one, _, err := Open(s.t.Context(), Options{Box: s.options(), Secure: s.listener})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Service, s.listener = one, nil
	l, err := httpapi.Listen(s.t.Context(), "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	served := make(chan error, 1)
	go func() { served <- one.Serve(ctx, l) }()
	s.stop = func() {
		s.t.Helper()
		cancel()
		<-served
		s.ended = one.Close()
		s.stop = func() {}
	}
	s.t.Cleanup(func() { s.stop() })
}

// invites has the box that leads, which this one is, take another one in.
func (s *neighbour) invites(other *neighbour, name, replaces string) {
	s.t.Helper()
	_, secret, err := s.Box.InviteMember(work.OperatorActor, api.NewMember{Name: name, Replaces: replaces}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	line := access.Invitation{Box: []string{s.at}, Key: s.SecureKey(), Secret: secret}.ClusterString()
	if _, err := JoinCluster(s.t.Context(), other.options(), line, []string{other.at}); err != nil {
		s.t.Fatal(err)
	}
	other.start()
}

// until waits until the cluster is, as this box sees it, as it is wanted.
func (s *neighbour) until(what string, is func(api.ClusterStatus) bool) {
	s.t.Helper()
	late := time.After(time.Minute)
	for {
		changed := s.cluster.Changed()
		now := s.cluster.status(s.t.Context())
		if is(now) {
			return
		}
		select {
		case <-changed:
		case <-time.After(20 * time.Millisecond): // how far others are changes nothing here
		case <-late:
			s.t.Fatalf("%s: %+v", what, now)
		}
	}
}

// voters are the names of those that count, as long as nobody is on the way in or out.
func voters(s api.ClusterStatus) string {
	var names []string
	for _, m := range s.Members {
		if m.Role != api.RoleVoter {
			return ""
		}
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// A box that comes back, and does not know who has joined meanwhile, takes that one's word, for which there is a proof. One that is on its way out counts until the
// others have agreed on that, for which it may be needed. Who proves nothing, or another's joining, is refused.
func TestIntroduced(t *testing.T) {
	a, b, c, d := newSeat(t), newSeat(t), newSeat(t), newSeat(t)
	if _, err := InitCluster(t.Context(), a.options(), "a", []string{a.at}); err != nil {
		t.Fatal(err)
	}
	a.start()
	a.until("it leads", func(api.ClusterStatus) bool { _, _, leads := a.cluster.Leading(); return leads })
	a.invites(b, "b", "")
	a.invites(c, "c", "")
	a.until("three vote", func(s api.ClusterStatus) bool { return voters(s) == "a b c" })
	c.until("it knows all", func(s api.ClusterStatus) bool { return voters(s) == "a b c" })
	var proof, gone ledger.Proof
	b.until("its ledger says, and signs, that it has joined", func(api.ClusterStatus) (is bool) {
		var err error
		gone, err = b.Box.ProveJoined(b.cluster.Self().ID)
		return err == nil
	})
	c.stop()
	a.invites(d, "d", "b")
	d.until("its ledger says, and signs, that it has joined", func(api.ClusterStatus) (is bool) {
		var err error
		proof, err = d.Box.ProveJoined(d.cluster.Self().ID)
		return err == nil
	})
	if _, err := a.Box.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "W-1", Title: "work"}, ""); err != nil {
		t.Errorf("what b has to agree to, on its way out: %v", err)
	}
	b.stop()
	a.stop()
	c.start()
	c.until("d has introduced itself", func(api.ClusterStatus) bool {
		_, knows := c.cluster.ByKey(d.SecureKey())
		return knows
	})
	if _, in := c.Box.Members().ByKey(d.SecureKey()); in {
		t.Error("its ledger knows d, so nothing was tried")
	}
	a.start()
	c.until("d votes in place of b", func(s api.ClusterStatus) bool { return voters(s) == "a c d" })
	c.cluster.members()
	c.cluster.introduced.mu.Lock()
	if all := c.cluster.introduced.all; len(all) > 0 {
		t.Errorf("its ledger knows d, and it remembers %v", all)
	}
	c.cluster.introduced.mu.Unlock()
	if err := c.cluster.Introduced(d.cluster.Self().Key, proof); err == nil || !strings.Contains(err.Error(), errNotAhead.Error()) {
		t.Errorf("one that is known introduces itself: %v", err)
	}
	if err := c.cluster.Introduced(strings.Repeat("0", 64), proof); err == nil || !strings.Contains(err.Error(), errOthersKey.Error()) {
		t.Errorf("the proof of another's joining: %v", err)
	}
	forged := proof
	forged.Event = slices.Concat(proof.Event, []byte(" "))
	if err := c.cluster.Introduced(d.cluster.Self().Key, forged); err == nil {
		t.Error("an event that is not the one that was signed counts")
	}
	other, err := d.Box.Prove(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cluster.Introduced(c.cluster.Self().Key, other); err == nil {
		t.Error("that another box has joined counts")
	}
	if err := c.cluster.Introduced(b.cluster.Self().Key, gone); !errors.Is(err, access.ErrMemberGone) {
		t.Errorf("one that has left introduces itself: %v", err)
	}
	key, err := pin.OpenKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	carrier := enrolment.NewCarrier([]string{c.at}, pin.Joining(key, c.SecureKey()))
	defer carrier.CloseIdleConnections()
	err = api.ClientOver(carrier, "").Introduce(t.Context(), api.Introduction{Proof: proof})
	if _, answered := errors.AsType[*api.Problem](err); !answered || !strings.Contains(err.Error(), errOthersKey.Error()) {
		t.Errorf("a stranger with d's proof: %v", err)
	}
}

// A box that was taken out while it was down, for longer than the others wait to tell it, stops when it is started, and says what to do; it does not come back. Who does not know that the others have agreed
// on that does not say so: it may be needed for that.
func TestTakenOutWhileDown(t *testing.T) {
	a, b, c := newSeat(t), newSeat(t), newSeat(t)
	if _, err := InitCluster(t.Context(), a.options(), "a", []string{a.at}); err != nil {
		t.Fatal(err)
	}
	a.start()
	a.until("it leads", func(api.ClusterStatus) bool { _, _, leads := a.cluster.Leading(); return leads })
	a.invites(b, "b", "")
	a.invites(c, "c", "")
	a.until("three vote", func(s api.ClusterStatus) bool { return voters(s) == "a b c" })
	var proof ledger.Proof
	c.until("its ledger says, and signs, that it has joined", func(api.ClusterStatus) bool {
		var err error
		proof, err = c.Box.ProveJoined(c.cluster.Self().ID)
		return err == nil
	})
	c.stop()
	if _, err := a.Box.LeaveCluster(work.OperatorActor, "c", ""); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*neighbour{a, b} {
		s.until("two vote", func(s api.ClusterStatus) bool { return voters(s) == "a b" })
		s.cluster.mu.Lock()
		s.cluster.left[c.cluster.Self().ID] = time.Now().Add(-2 * toldFor)
		s.cluster.mu.Unlock()
	}
	c.start()
	select {
	case <-c.Box.Done():
	case <-time.After(time.Minute):
		t.Error("it runs on")
	}
	if c.stop(); !errors.Is(c.ended, access.ErrMemberGone) {
		t.Errorf("it stopped with %v", c.ended)
	}
	if _, _, err := RejoinCluster(t.Context(), c.options()); !errors.Is(err, access.ErrMemberGone) {
		t.Errorf("it comes back: %v", err)
	}
	b.stop()
	a.until("no box leads", func(s api.ClusterStatus) bool { return s.Leader == "" })
	if err := a.cluster.Introduced(c.cluster.Self().Key, proof); !errors.Is(err, errNotSettled) {
		t.Errorf("a box that has no leader says of one that was taken out: %v", err)
	}
}

// A box whose own ledger says that it was taken out stops when a majority of the others has refused it.
func TestRefusals(t *testing.T) {
	all := access.Members{All: []access.Member{{ID: 1}, {ID: 4}, {ID: 5}}}
	r := refusals{}
	for i, by := range []uint64{1, 1, 2, 5} {
		if settled := r.settled(by, all); settled != (i == 3) {
			t.Errorf("after the refusal of %d: %v", by, settled)
		}
	}
}

// A member whose disk was emptied refuses to start, before it begins another ledger, and says what to do. It comes back by that, also where an earlier version has begun a ledger;
// and nothing changes in the cluster if that can't succeed.
func TestEmptiedDisk(t *testing.T) {
	a, b := newSeat(t), newSeat(t)
	if _, err := InitCluster(t.Context(), a.options(), "a", []string{a.at}); err != nil {
		t.Fatal(err)
	}
	a.start()
	a.until("it leads", func(api.ClusterStatus) bool { _, _, leads := a.cluster.Leading(); return leads })
	a.invites(b, "b", "")
	b.stop()
	for _, name := range names(t, b.dir) {
		if name != membership.File && name != pin.File {
			if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	refused := func(when string) {
		t.Helper()
		far := place(t, b.at)
		defer far.Close()
		before := strings.Join(names(t, b.dir), " ")
		s, _, err := Open(t.Context(), Options{Box: b.options(), Secure: far})
		if err == nil {
			t.Fatal(when, s.Close())
		}
		if !strings.Contains(err.Error(), "`signalbox cluster rejoin`") {
			t.Errorf("%s: %v", when, err)
		}
		if after := strings.Join(names(t, b.dir), " "); after != before {
			t.Errorf("%s it has begun something: %s, and %s before", when, after, before)
		}
	}
	refused("emptied")
	// What an earlier version began there before it refused.
	o := b.options()
	o.Cluster = nil
	alone, _, err := box.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	last := a.Box.Members().Last
	stuck := func(when, want string) {
		t.Helper()
		if _, _, err := RejoinCluster(t.Context(), b.options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", when, err)
		}
		if now := a.Box.Members().Last; now != last {
			t.Errorf("%s, and the cluster has given it another id: %d, and %d before", when, now, last)
		}
	}
	stuck("while it runs", box.ErrLocked.Error())
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	refused("with another ledger")
	key := filepath.Join(b.dir, pin.File)
	if err := os.Rename(key, key+".old"); err != nil {
		t.Fatal(err)
	}
	stuck("without its key", pin.File)
	if err := os.Rename(key+".old", key); err != nil {
		t.Fatal(err)
	}
	m, aside, err := RejoinCluster(t.Context(), b.options())
	if err != nil || m.ID != last+1 || len(aside) != 2 {
		t.Fatalf("%+v, %q, %v", m, aside, err)
	}
	b.start()
	a.until("it follows", func(s api.ClusterStatus) bool {
		return len(s.Members) == 2 && s.Members[1].ID == m.ID && s.Members[1].State == api.MemberFollows
	})
}

// names are those of the files in a directory, but what is there while somebody looks.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); name != "lock" && name != "starting" && name != ".gitignore" {
			all = append(all, name)
		}
	}
	return all
}

// A box's links work before it takes part: who is refused in that moment introduces itself.
func TestIntroducesAtOnce(t *testing.T) {
	seat := newSeat(t)
	if _, err := InitCluster(t.Context(), seat.options(), "a", []string{seat.at}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = seat.listener.Close() }()
	key, err := pin.OpenKey(seat.dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openCluster(seat.dir, &httpapi.Secure{Listener: seat.listener, Key: key}, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o := seat.options()
	o.Cluster = c.options(box.ClusterTick)
	b, _, err := box.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	begun, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		close(begun)
		for !c.introducing.Load() {
			c.introduce(memberlink.Peer{ID: 9, Name: "z", Key: key.Hash(), Addresses: []string{"127.0.0.1:1"}})
		}
	}()
	<-begun
	c.begin(b, func(context.Context) {}, func(context.Context) {}, func() {})
	<-over
	b.Stop()
	c.stop()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// Only so many are remembered: those who joined last, until the ledger is that far.
func TestIntroductionsBounded(t *testing.T) {
	var all introductions
	for _, id := range []uint64{9, 4, 6, 6, 8, 5, 7} {
		all.add(access.Member{ID: id})
	}
	ids := func(m access.Members) (s string) {
		for _, o := range m.All {
			s += fmt.Sprint(o.ID, " ")
		}
		return s
	}
	known := access.Members{All: []access.Member{{ID: 1}, {ID: 2}}, Last: 3}
	if got := ids(all.with(known)); got != "1 2 7 8 9 " {
		t.Errorf("the members are %s", got)
	}
	if got := ids(known); got != "1 2 " {
		t.Errorf("what the ledger says became %s", got)
	}
	known.Last = 8
	if got := ids(all.with(known)); got != "1 2 9 " {
		t.Errorf("the members are %s", got)
	}
	if len(all.all) != 1 {
		t.Errorf("remembered: %v", all.all)
	}
}

// Each rule of who is taken for a member, dropped, is noticed.
func TestIntroduceMutants(t *testing.T) {
	const introduce = "introduce.go"
	mutant.All(t, []mutant.Noticed{
		{By: "^TestIntroduced$", Mutant: mutant.Mutant{Name: "a proof is anybody's", File: introduce, Old: "case !pin.Same(one.Key, key):", New: "case false:"}},
		{By: "^TestIntroduced$", Mutant: mutant.Mutant{Name: "who is known may introduce itself", File: introduce, Old: "case one.ID <= last:", New: "case one.ID < 0*last:"}},
		{By: "^TestIntroduced$", Mutant: mutant.Mutant{Name: "who is on its way out is cut off at once", File: introduce, Old: "!seen || slices.Contains(counted, o.ID)", New: "false && !seen && slices.Contains(counted, o.ID)"}},
		{By: "^TestIntroductionsBounded$", Mutant: mutant.Mutant{Name: "any number is remembered", File: introduce, Old: "more > 0 {", New: "more > 100 {"}},
		{By: "^TestIntroductionsBounded$", Mutant: mutant.Mutant{Name: "what the ledger says does not count", File: introduce, Old: "return o.ID <= known.Last", New: "return o.ID < 0*known.Last"}},
	})
}

// Whoever finds that a box leads finds the homes of runs: without them another box's run would be carried out here.
func TestHomesBeforeLeading(t *testing.T) {
	a := newSeat(t)
	if _, err := InitCluster(t.Context(), a.options(), "a", []string{a.at}); err != nil {
		t.Fatal(err)
	}
	a.start()
	a.until("it leads", func(api.ClusterStatus) bool { _, _, leads := a.cluster.Leading(); return leads })
	term := a.Box.InCluster().Term
	for range 20 { // as when something has failed because it did not lead for a moment
		a.cluster.step(0)
		a.cluster.step(term)
		if a.homes.others.Load() == nil {
			t.Fatal("it leads, and knows no home but its own")
		}
	}
}

// hangs carries requests to a box that says nothing.
type hangs struct{ asked chan struct{} }

func (h hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case h.asked <- struct{}{}:
	default:
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A box that leads no more yields at once, whatever it waits for at others: until it has, it can't lead again.
func TestYieldsAtOnce(t *testing.T) {
	a := newSeat(t)
	if _, err := InitCluster(t.Context(), a.options(), "a", []string{a.at}); err != nil {
		t.Fatal(err)
	}
	a.start()
	a.until("it leads", func(api.ClusterStatus) bool { _, _, leads := a.cluster.Leading(); return leads })
	a.cluster.step(0)
	other := hangs{make(chan struct{}, 1)}
	a.cluster.ready = func(ctx context.Context) {
		a.homes.others.Store(homelink.NewHomes(ctx, homelink.Options{
			Self: "a", Carrier: func(string) (http.RoundTripper, bool) { return other, true }, Open: func(string) []string { return nil }, Changed: func() {}, Logger: a.logger,
		}))
	}
	a.cluster.lead = func(context.Context) { _, _ = a.homes.of("b").Marked(func() []string { return nil }) }
	a.cluster.step(a.Box.InCluster().Term)
	<-other.asked
	began := time.Now()
	a.cluster.step(0)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Who the others are is kept as soon as that can be: also if it could not be when they came.
func TestKeptLater(t *testing.T) {
	a := newSeat(t)
	m, err := InitCluster(t.Context(), a.options(), "a", []string{a.at})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.listener.Close() }()
	key, err := pin.OpenKey(a.dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openCluster(a.dir, &httpapi.Secure{Listener: a.listener, Key: key}, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	b := access.Member{ID: 2, Name: "b", Key: strings.Repeat("2", 64), Addresses: []string{"192.0.2.2:7443"}}
	now := access.Members{All: []access.Member{m.Self(), b}, Last: 2}
	c.dir = filepath.Join(a.dir, "gone") // as when its disk is full
	c.keep(now)
	c.dir = a.dir
	c.keep(now)
	if kept, err := membership.Read(a.dir); err != nil || len(kept.Members) != 2 {
		t.Errorf("kept: %+v, %v", kept, err)
	}
}
