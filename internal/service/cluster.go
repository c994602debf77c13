package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/memberlink"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

// cluster has a box take part in its cluster: it knows the ways to the others, and has the service lead and yield as the log says.
type cluster struct {
	dir     string
	key     *pin.Key
	links   *memberlink.Links
	logger  *slog.Logger
	version string

	settings string // the digest of what all boxes have to say alike

	box    atomic.Pointer[box.Box] // nil until it is open
	known  atomic.Pointer[membership.Membership]
	heard  atomic.Int64 // when the box that leads was heard last, in Unix nanoseconds
	stirs  chan struct{}
	group  *background.Group
	ready  func(ctx context.Context) // has the service know, before anybody is told that it leads, what who leads needs
	lead   func(ctx context.Context) // what the service starts when it leads; it ends with ctx
	yield  func()                    // and ends what it has started
	closed atomic.Bool

	mu      sync.Mutex
	changed chan struct{}
	term    context.Context // nil if this box does not lead
	end     context.CancelFunc
	leading uint64 // the term
	began   sync.WaitGroup

	left map[uint64]time.Time // when boxes that have left by the ledger were last needed, by id; guarded by mu

	lastSealed uint64
	problem    atomic.Pointer[string]

	introducing atomic.Bool
	introduced  introductions
	refused     refusals // used while introducing
}

// wordPatience is how long another box may take to say how it is.
const wordPatience = time.Second

// openCluster returns what a box needs to take part in the cluster that its directory says; nil if it says none.
func openCluster(dir string, secure *httpapi.Secure, version string, logger *slog.Logger) (*cluster, error) {
	m, err := membership.Read(dir)
	if errors.Is(err, membership.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, logger: logger, version: version, stirs: make(chan struct{}, 1), changed: make(chan struct{}), left: map[uint64]time.Time{}, refused: refusals{}}
	c.known.Store(&m)
	if secure == nil {
		return nil, fmt.Errorf("this box is in a cluster, and listens on its own machine alone, where the others do not reach it: start it with the address that they know, %s (signalbox up --listen, or listen in signalbox.yaml)", m.Self().Addresses[0])
	}
	if secure.Key.Hash() != m.Self().Key {
		return nil, errOtherKey(dir, m)
	}
	c.key = secure.Key
	c.links = memberlink.New(memberlink.Options{Key: secure.Key, Peers: c.peers, Leader: c.leaderID, Logger: logger, Stranger: c.introduce})
	return c, nil
}

// options are those of the box.
func (c *cluster) options(tick time.Duration) *box.Cluster {
	if c == nil {
		return nil
	}
	var peers []uint64
	for _, p := range c.peers() {
		peers = append(peers, p.ID)
	}
	return &box.Cluster{ID: c.known.Load().ID, Peers: peers, Transport: c.links, Changed: c.stir, Tick: tick, Elect: box.ClusterElect}
}

// stir has the cluster look again. It does not wait.
func (c *cluster) stir() {
	select {
	case c.stirs <- struct{}{}:
	default:
	}
}

// peers are the others, by the ledger as far as that is here, and before by what was known when the box joined.
func (c *cluster) peers() (all []memberlink.Peer) {
	self := c.known.Load().ID
	for _, o := range c.linked().All {
		if o.ID != self {
			all = append(all, memberlink.Peer{ID: o.ID, Name: o.Name, Key: o.Key, Addresses: o.Addresses})
		}
	}
	return all
}

func (c *cluster) leaderID() uint64 {
	if b := c.box.Load(); b != nil {
		return b.InCluster().Leader
	}
	return 0
}

// begin has the box, which is open, take part. Ready returns when the box can be asked as the one that leads, and lead starts what runs only there, each with a context
// that ends with that; yield returns when all of it has ended.
func (c *cluster) begin(b *box.Box, ready, lead func(context.Context), yield func()) {
	c.ready, c.lead, c.yield = ready, lead, yield
	c.group = background.New(context.Background())
	c.box.Store(b) // who finds it finds the rest
	c.group.Go(c.run)
	c.group.Go(c.compare)
}

// stop ends it.
func (c *cluster) stop() {
	if c == nil {
		return
	}
	if c.group != nil {
		c.group.Stop()
	}
	c.links.Stop()
}

// run leads and yields as the log says, and keeps who the others are.
func (c *cluster) run(ctx context.Context) {
	defer c.step(0)
	b := c.box.Load()
	for {
		select {
		case <-c.stirs:
		case <-ctx.Done():
			return
		case <-b.Done():
			return
		}
		c.keep(b.Members())
		now := b.InCluster()
		c.mu.Lock()
		leading := c.leading
		c.mu.Unlock()
		again := b.Shaken()
		if leading != 0 && (!now.Leads || now.Term != leading || again) {
			c.step(0)
		}
		if now.Leads && !c.closed.Load() {
			c.step(now.Term)
		}
		c.tell()
	}
}

// step has the box lead in a term, or no more if that is 0.
func (c *cluster) step(term uint64) {
	c.mu.Lock()
	was, end := c.leading, c.end
	c.mu.Unlock()
	b := c.box.Load()
	switch term {
	case was:
		return
	case 0:
		c.logger.Info("this box does not lead the cluster any more", "term", was)
		c.heard.Store(time.Now().UnixNano())
		c.mu.Lock()
		c.leading, c.term, c.end = 0, nil, nil
		c.mu.Unlock()
		end()
		c.began.Wait()
		c.yield()
		b.Yield()
	default:
		c.logger.Info("this box leads the cluster", "term", term)
		b.Lead()
		ctx, cancel := context.WithCancel(context.Background())
		c.ready(ctx)
		c.mu.Lock()
		c.leading, c.term, c.end = term, ctx, cancel
		c.mu.Unlock()
		c.began.Go(func() { c.lead(ctx) })
	}
	c.tell()
}

// tell wakes those who wait for a change.
func (c *cluster) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}

// keep keeps who the members are, for the next start.
func (c *cluster) keep(now access.Members) {
	before := c.known.Load()
	all := c.withLeaving(now).All
	if _, in := now.ByID(before.ID); !in || reflect.DeepEqual(stripped(all), stripped(before.Members)) {
		return // the ledger is not that far, or this box was removed
	}
	m := membership.Membership{ID: before.ID, Name: before.Name, Members: all}
	if err := membership.Write(c.dir, m); err != nil { // it is tried again when something changes
		c.logger.Warn("who the boxes of the cluster are can't be kept for the next start", "error", err)
		return
	}
	c.known.Store(&m)
}

// stripped are members as the file has them.
func stripped(all []access.Member) []access.Member {
	all = slices.Clone(all)
	for i := range all {
		all[i].Secret, all[i].Seq, all[i].Joined = [32]byte{}, 0, all[i].Joined.UTC()
	}
	return all
}

// Leading implements [httpapi.Cluster].
func (c *cluster) Leading() (term uint64, until context.Context, leads bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leading, c.term, c.term != nil
}

// Changed implements [httpapi.Cluster].
func (c *cluster) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Leader implements [httpapi.Cluster].
func (c *cluster) Leader() (http.RoundTripper, bool) {
	id := c.leaderID()
	if id == 0 || id == c.known.Load().ID {
		return nil, false
	}
	return c.links.Carrier(id)
}

// Heard implements [httpapi.Cluster].
func (c *cluster) Heard() time.Time {
	if _, _, leads := c.Leading(); leads {
		return time.Now()
	}
	at := c.heard.Load()
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at)
}

// members are the boxes of the cluster: by the ledger, once that says that this one is among them, and before by what was known when it joined.
func (c *cluster) members() access.Members {
	m := c.known.Load()
	if b := c.box.Load(); b != nil {
		if all := b.Members(); all.Last >= m.ID {
			return c.introduced.with(all)
		}
	}
	return c.introduced.with(access.Members{All: m.Members, Last: lastOf(m.Members)})
}

// ByKey implements [httpapi.Cluster].
func (c *cluster) ByKey(hash string) (access.Member, bool) { return c.linked().ByKey(hash) }

// Self implements [httpapi.Cluster].
func (c *cluster) Self() access.Member { return c.known.Load().Self() }

// Receive implements [httpapi.Cluster].
func (c *cluster) Receive(from uint64, message []byte) {
	if from == c.leaderID() {
		c.heard.Store(time.Now().UnixNano())
	}
	c.box.Load().ReceiveFrom(message)
}

// Word implements [httpapi.Cluster].
func (c *cluster) Word() api.MemberWord {
	b := c.box.Load()
	now := b.InCluster()
	w := api.MemberWord{ID: c.known.Load().ID, Term: now.Term, Leads: now.Leads, Applied: b.Folded(), Level: box.Level(), Version: c.version, Settings: c.settings}
	own, err := b.Signed()
	if w.Size, w.Root = uint64(own.Size), own.Root.String(); err != nil {
		w.Problem = err.Error()
	}
	if why := c.problem.Load(); why != nil && *why != "" {
		w.Problem = *why
	}
	return w
}

// words asks the others how they are; those that do not answer are left out.
func (c *cluster) words(ctx context.Context) map[uint64]api.MemberWord {
	ctx, cancel := context.WithTimeout(ctx, wordPatience)
	defer cancel()
	var mu sync.Mutex
	all := map[uint64]api.MemberWord{}
	var asking sync.WaitGroup
	for _, p := range c.peers() {
		carrier, ok := c.links.Carrier(p.ID)
		if !ok {
			continue
		}
		asking.Go(func() {
			w, err := api.ClientOver(carrier, "").MemberWord(ctx)
			if err == nil && w.ID == p.ID {
				mu.Lock()
				defer mu.Unlock()
				all[p.ID] = w
			}
		})
	}
	asking.Wait()
	return all
}

// Status implements [httpapi.Cluster].
func (c *cluster) Status(ctx context.Context) (api.ClusterStatus, error) {
	return c.status(ctx), nil
}

func (c *cluster) status(ctx context.Context) api.ClusterStatus {
	b := c.box.Load()
	words := c.words(ctx)
	own := c.Word()
	words[own.ID] = own
	now, all := b.InCluster(), c.members()
	s := api.ClusterStatus{Ledger: b.Origin(), Self: c.known.Load().Name, Term: now.Term, Level: all.Level, Members: []api.MemberStatus{}}
	for _, w := range words {
		s.Committed = max(s.Committed, w.Applied)
	}
	for _, o := range all.All {
		m := api.MemberStatus{Name: o.Name, ID: o.ID, Addresses: o.Addresses, Role: role(o.ID, now.Members.Voters, now.Members.Learners)}
		w, ok := words[o.ID]
		if m.State = api.MemberNotReached; ok {
			m.Size, m.Root, m.Lag, m.Level, m.Version, m.Problem = w.Size, w.Root, s.Committed-w.Applied, w.Level, w.Version, w.Problem
			m.State = state(o.ID, now.Leader, m.Lag)
			if leader, _ := all.ByID(now.Leader); m.Problem == "" {
				m.Problem = otherSettings(w, words[now.Leader], leader.Name)
			}
		}
		if o.ID == now.Leader {
			s.Leader = o.Name
		}
		s.Members = append(s.Members, m)
	}
	for _, id := range now.Members.All() {
		if _, in := all.ByID(id); !in {
			s.Members = append(s.Members, api.MemberStatus{Name: fmt.Sprintf("(member %d)", id), ID: id, Role: api.RoleLeaving, State: state(id, now.Leader, 0)})
		}
	}
	for _, p := range all.Open(time.Now()) {
		s.Members = append(s.Members, api.MemberStatus{Name: p.Name, Role: api.RoleInvited, State: api.MemberExpires, Expires: p.Expires})
	}
	return s
}

// otherSettings says that a box's settings are not those of the one that leads; "" if they are, or one of the two does not tell.
func otherSettings(w, leads api.MemberWord, name string) string {
	if w.Settings == "" || leads.Settings == "" || w.Settings == leads.Settings {
		return ""
	}
	return fmt.Sprintf("its settings are not those of %s, which leads: make signalbox.yaml the same on both machines, and start this box again", name)
}

func role(id uint64, voters, learners []uint64) string {
	switch {
	case slices.Contains(voters, id):
		return api.RoleVoter
	case slices.Contains(learners, id):
		return api.RoleLearner
	}
	return api.RoleLearner // it was taken in, and the log does not say so yet
}

// fetchesFrom is from how many events on a member that lags is said to fetch them.
const fetchesFrom = 1000

func state(id, leader, lag uint64) string {
	switch {
	case id == leader:
		return api.MemberLeads
	case lag >= fetchesFrom:
		return api.MemberFetches
	}
	return api.MemberFollows
}

// untilHandedOver returns a context that ends after ctx, once another box leads, or none takes it over.
func (c *cluster) untilHandedOver(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		c.handOver(longer)
		end()
	})
	return longer, func() {
		stop()
		end()
	}
}

// handOver has another box lead, before this one stops.
func (c *cluster) handOver(ctx context.Context) {
	if c == nil {
		return
	}
	b := c.box.Load()
	now := b.InCluster()
	if !now.Leads {
		return
	}
	words := c.words(ctx)
	voters := slices.DeleteFunc(slices.Clone(now.Members.Voters), func(id uint64) bool { _, answers := words[id]; return !answers })
	slices.SortFunc(voters, func(x, y uint64) int { return cmp.Compare(words[y].Applied, words[x].Applied) })
	c.closed.Store(true)
	for _, id := range voters {
		trying, cancel := context.WithTimeout(ctx, handOverPatience)
		err := b.HandOver(trying, id)
		for changed := c.Changed(); err == nil && b.InCluster().Leads && trying.Err() == nil; changed = c.Changed() {
			select {
			case <-changed:
			case <-trying.Done():
			}
		}
		cancel()
		if !b.InCluster().Leads {
			return
		}
	}
}

const handOverPatience = time.Second
