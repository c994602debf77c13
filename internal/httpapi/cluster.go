package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/memberlink"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Cluster is what a server has to know of the cluster that its box is in.
type Cluster interface {
	// Leading returns the term in which this box leads, and a context that ends when it leads no more; false if it does not lead, or is not ready to.
	Leading() (term uint64, until context.Context, leads bool)
	// Leader returns what carries requests to the box that leads, whatever host they name; false if none is known, or it is this one.
	Leader() (http.RoundTripper, bool)
	// Changed returns a channel that is closed when another box leads, or this one is ready to.
	Changed() <-chan struct{}
	// Heard says when this box last heard from the one that leads, or led; zero if it has not since it was started.
	Heard() time.Time
	// ByKey returns the box of the cluster that has the key of this hash.
	ByKey(hash string) (access.Member, bool)
	// Introduced takes who has a key for a member, if a proof holds which says that it joined after all that this box knows.
	Introduced(key string, p ledger.Proof) error
	// Linked are the boxes whose word or vote counts, those among them that are on their way out.
	Linked() []access.Member
	// Self is the box itself, as the others know it.
	Self() access.Member
	// Receive takes a message of another member.
	Receive(from uint64, message []byte)
	// Word is what the box says of itself.
	Word() api.MemberWord
	// Status says how the cluster is: it asks the others.
	Status(ctx context.Context) (api.ClusterStatus, error)
}

// WithCluster has the server answer as that of a member: what only the box that leads can answer is passed on to it.
func (s *Server) WithCluster(c Cluster) *Server {
	s.cluster = c
	return s
}

// What a box says of a request that it passes on: how many boxes have, by which key the connection was made that it came on, and whether that was
// over TLS. Only a box of the cluster is heard.
const (
	passedHeader = "Signalbox-Passed"
	keyHeader    = "Signalbox-Key"
	secureHeader = "Signalbox-Secure"
	boxHeader    = "Signalbox-Box" // the name of the box that was asked first
)

// mostPassed is how many boxes pass a request on: the second one may know a newer leader than the first.
const mostPassed = 2

// What of the cluster's state an answer is made from, if a box that does not lead is asked. By default the box that leads answers.
var (
	// answeredHere are the routes that are about the box that was asked.
	answeredHere = []string{
		"GET /metrics", "GET /v1/status", "POST /v1/page", "GET /v1/cluster",
		"POST " + ToolsPath, "POST " + memberlink.MessagesPath, "GET " + memberlink.FilesPath + "/{name...}", "GET /v1/member/word",
		"POST " + introducePath,
	}
	// answeredFromFold are those that any box answers which has folded all that was recorded when it was asked.
	answeredFromFold = []string{
		"GET /v1/work", "GET /v1/work/{id}", "GET /v1/events", "GET /v1/events/{sequence}/proof", "GET /v1/conversations/{id}", "GET /v1/tokens",
	}
	// answeredOld are those that it answers from what it has folded only for who takes what may be old: the one that leads also knows what agents do now.
	answeredOld = []string{"GET /v1/runs", "GET /v1/runs/{run}", "GET /v1/questions"}
)

// introducePath is where a member that this box does not know says that it has joined.
const introducePath = "/v1/member/introduce"

// maxIntroduction is how long its request may be, in bytes: an event, what proves it, and a checkpoint.
const maxIntroduction = 64 << 10

// How long a request waits: until the fold has caught up, before the box that leads is asked instead; and for a box that leads.
const (
	foldPatience   = time.Second
	leaderPatience = 3 * time.Second
)

var (
	errNoLeader   = errors.New("no box of the cluster leads, as too few of its boxes answer each other: nothing is recorded until they do; `signalbox cluster status` shows them")
	errLeaderGone = fmt.Errorf("%w: the box that leads did not answer: ask again with the same key", engine.ErrUnknown)
	errPassed     = errors.New("only a box of the cluster passes requests on: leave out " + passedHeader + ", " + keyHeader + ", " + secureHeader + " and " + boxHeader)
)

// origin is where a request came from that another box has passed on.
type origin struct {
	passed int
	key    string // the hash of the key that its connection was made with; "" for none
	secure bool   // it came over TLS
	box    string // that was asked
}

type originKey struct{}

// came returns a request with where it came from: it is another's word if a box of the cluster has passed it on.
func (s *Server) came(r *http.Request) (*http.Request, error) {
	h := r.Header
	if len(h.Values(passedHeader))+len(h.Values(keyHeader))+len(h.Values(secureHeader))+len(h.Values(boxHeader)) == 0 {
		return r, nil
	}
	if _, ok := s.peer(r); !ok {
		return r, forbidden{errPassed}
	}
	n, err := strconv.Atoi(h.Get(passedHeader))
	key := h.Get(keyHeader)
	if err != nil || n < 1 || n > mostPassed || key != "" && !pin.IsHash(key) {
		return r, badRequest{errPassed}
	}
	return r.WithContext(context.WithValue(r.Context(), originKey{}, origin{n, key, h.Get(secureHeader) == "true", h.Get(boxHeader)})), nil
}

// leads says whether this box leads; one that stands alone does.
func (s *Server) leads() bool {
	if s.cluster == nil {
		return true
	}
	_, _, leads := s.cluster.Leading()
	return leads
}

// peer returns the member whose connection a request came on.
func (s *Server) peer(r *http.Request) (access.Member, bool) {
	hash, ok := pin.PeerHash(r.TLS)
	if !ok {
		return access.Member{}, false
	}
	return s.memberByKey(hash)
}

// memberByKey returns the box of the cluster that has a key. One that stands alone knows none.
func (s *Server) memberByKey(hash string) (access.Member, bool) {
	if s.cluster == nil {
		return access.Member{}, false
	}
	return s.cluster.ByKey(hash)
}

// provenKey returns the hash of the key that the connection of whoever asks was made with.
func provenKey(r *http.Request) (string, bool) {
	if o, passed := r.Context().Value(originKey{}).(origin); passed {
		return o.key, o.key != ""
	}
	return pin.PeerHash(r.TLS)
}

// secureOrigin says whether a request came from another machine, by TLS.
func secureOrigin(r *http.Request) bool {
	if o, passed := r.Context().Value(originKey{}).(origin); passed {
		return o.secure
	}
	return r.TLS != nil
}

// asked returns the name of the box of the cluster that was asked; "" for one that stands alone.
func (s *Server) asked(r *http.Request) string {
	if o, passed := r.Context().Value(originKey{}).(origin); passed {
		return o.box
	}
	if s.cluster == nil {
		return ""
	}
	return s.cluster.Self().Name
}

// known returns who makes a request, if they may. What makes somebody known may have been recorded a moment ago, by another box.
func (s *Server) known(r *http.Request, needs access.Right) (access.Principal, error) {
	p, err := s.authorize(r, needs)
	if err != nil && s.cluster != nil {
		if s.catchUp(r.Context()) == nil {
			p, err = s.authorize(r, needs)
		}
	}
	return p, err
}

func (s *Server) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, foldPatience)
	defer cancel()
	return s.catches(ctx)
}

// settle says where a request is answered: by what carries it to the box that leads, or here if that is nil, and for how long.
func (s *Server) settle(w http.ResponseWriter, r *http.Request, asked route) (elsewhere http.RoundTripper, here *http.Request, done func(), err error) {
	none := func() {}
	if s.cluster == nil || slices.Contains(answeredHere, asked.pattern) || isHomes(asked.pattern) {
		return nil, r, none, nil
	}
	o, _ := r.Context().Value(originKey{}).(origin)
	fold := slices.Contains(answeredFromFold, asked.pattern)
	if (fold || slices.Contains(answeredOld, asked.pattern)) && r.URL.Query().Get("stale") == "ok" {
		w.Header().Set(api.EventsHeader, strconv.FormatUint(s.box.Folded(), 10))
		if heard := s.cluster.Heard(); !heard.IsZero() {
			w.Header().Set(api.AgeHeader, strconv.FormatInt(max(0, time.Since(heard).Milliseconds()), 10))
		}
		return nil, r, none, nil
	}
	waiting, cancel := context.WithTimeout(r.Context(), leaderPatience)
	defer cancel()
	for {
		changed := s.cluster.Changed()
		if term, until, leads := s.cluster.Leading(); leads {
			if !confirmed(asked) || s.catchUp(waiting) == nil {
				here, done := during(term, until, r)
				return nil, here, done, nil
			}
		} else if fold && s.catchUp(waiting) == nil {
			return nil, r, none, nil
		} else if carrier, ok := s.cluster.Leader(); ok && o.passed < mostPassed {
			return carrier, r, none, nil
		}
		select {
		case <-changed:
		case <-time.After(leaderPause):
		case <-waiting.Done():
			return nil, r, none, errNoLeader
		}
	}
}

// leaderPause is how long a request waits before it looks again for a box that leads, if it is not told of one.
const leaderPause = 50 * time.Millisecond

// confirmedRoutes are those by which a lease is renewed, and by which a session asks whether it may begin.
var confirmedRoutes = []string{"POST /v1/sessions/{session}/renew", "POST /v1/sessions/{session}/activity"}

// confirmed says whether the box that leads has to make sure that it still does before it answers: what is recorded is no answer before enough boxes have
// it, but what is read, and a lease that is renewed, would be.
func confirmed(asked route) bool {
	return strings.HasPrefix(asked.pattern, "GET ") || slices.Contains(confirmedRoutes, asked.pattern)
}

// refusal returns why a request is refused on which the box that leads has decided, or which it has not recorded. What it records is no answer before enough
// boxes have it; a refusal is one at once, and a box that was stopped for a while, and does not know yet that another one leads, would refuse by what was so
// before. So it makes sure that it has led since it began, in the term of the request.
func (s *Server) refusal(here *http.Request, why error) error {
	if s.cluster == nil {
		return why
	}
	if why != nil { // else the answer itself refuses it
		if _, p := problemOf(why); errors.Is(why, archive.ErrFailed) || p.Code == api.CodeInvalid { // of what is invalid nothing was decided
			return why
		}
	}
	err := s.catchUp(here.Context())
	term, settled := here.Context().Value(termKey{}).(uint64) // a home's routes look themselves who leads
	if now := s.box.InCluster(); err == nil && now.Leads && (now.Term == term || !settled) {
		return why
	}
	return errNoLeader
}

// termKey is that of the term in which the box leads that answers a request.
type termKey struct{}

// during returns a request that also ends when this box leads no more.
func during(term uint64, until context.Context, r *http.Request) (*http.Request, func()) {
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), termKey{}, term))
	stop := context.AfterFunc(until, cancel)
	return r.WithContext(ctx), func() {
		stop()
		cancel()
	}
}

// hopByHop are the headers that are about one connection alone.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// passOn has the box that leads answer a request.
func (s *Server) passOn(w http.ResponseWriter, r *http.Request, carrier http.RoundTripper, asked route) error {
	o, _ := r.Context().Value(originKey{}).(origin)
	out := r.Clone(r.Context())
	out.RequestURI = ""
	for _, name := range hopByHop {
		out.Header.Del(name)
	}
	out.Header.Set(passedHeader, strconv.Itoa(o.passed+1))
	out.Header.Del(keyHeader)
	if key, ok := provenKey(r); ok {
		out.Header.Set(keyHeader, key)
	}
	out.Header.Set(secureHeader, strconv.FormatBool(secureOrigin(r)))
	out.Header.Set(boxHeader, s.asked(r))
	begun := func() (end func()) { return func() {} }
	if asked.pattern == commandsRoute && s.homes.Through != nil {
		begun = func() func() { return s.homes.Through(r.PathValue("session")) }
	}
	if asked.most > largeRoom { // a push, which git bounds
		in, to, done := httpserver.Pieces(w, r, httpserver.StreamPatience)
		defer done()
		out.Body = io.NopCloser(in)
		return forward(w, to, out, carrier, begun)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return unread(err)
	}
	out.TransferEncoding = nil // its length is known now
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	if err := httpserver.Waits(r); err != nil {
		return err
	}
	_, to, done := httpserver.Pieces(w, r, httpserver.StreamPatience)
	defer done()
	return forward(w, to, out, carrier, begun)
}

// atOnce is up to how many bytes an answer is carried as a whole, if it says how many it has.
const atOnce = 16 << 10

// forward carries a request, and its answer back, piece by piece. Begun is called when that begins, and what it returns when it ends.
func forward(w http.ResponseWriter, to io.Writer, out *http.Request, carrier http.RoundTripper, begun func() (end func())) error {
	answer, err := carrier.RoundTrip(out)
	if err != nil {
		if out.Context().Err() != nil {
			return out.Context().Err()
		}
		return fmt.Errorf("%w (%w)", errLeaderGone, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusOK {
		defer begun()()
	}
	for _, name := range hopByHop {
		answer.Header.Del(name)
	}
	for name, values := range answer.Header {
		if name != "Date" {
			w.Header()[name] = values
		}
	}
	if n := answer.ContentLength; n >= 0 && n <= atOnce && out.Method != http.MethodHead { // it is there, or as good as: one piece, and not three
		body := make([]byte, n)
		if _, err := io.ReadFull(answer.Body, body); err != nil {
			panic(http.ErrAbortHandler) // as below
		}
		httpserver.Answering(w)
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(body) // who asked has gone, if it fails
		return nil
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = to.Write(nil) // its head goes out before its body comes
	if _, err := io.Copy(to, answer.Body); err != nil {
		panic(http.ErrAbortHandler) // whoever asked notices that the answer was cut off
	}
	return nil
}

// clusterRoutes are those of a cluster: for people, and for its boxes alone.
func (s *Server) clusterRoutes() []route {
	if s.cluster == nil {
		alone := func(http.ResponseWriter, *http.Request, access.Principal) error { return access.ErrNoCluster }
		return []route{
			{"GET /v1/cluster", access.ToRead, 0, alone},
			{"POST /v1/cluster/members", access.ToOwn, 0, alone},
			{"POST /v1/cluster/members/{name}/leave", access.ToOwn, 0, alone},
		}
	}
	return []route{
		{"GET /v1/cluster", access.ToRead, 0, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
			v, err := s.cluster.Status(r.Context())
			return reply(w, v, err)
		}},
		{"POST /v1/cluster/members", access.ToOwn, 0, post(func(_ *http.Request, p access.Principal, q api.NewMember, key string) (api.Invitation, error) {
			return s.inviteMember(p, q, key)
		})},
		{"POST /v1/cluster/members/{name}/leave", access.ToOwn, 0, func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
			withdrawn := false
			key, err := keyOf(r, p)
			if err == nil {
				withdrawn, err = s.box.LeaveCluster(p.Actor(), r.PathValue("name"), key)
			}
			if err != nil {
				return err
			}
			v, err := s.cluster.Status(r.Context())
			v.Withdrawn = withdrawn
			return reply(w, v, err)
		}},
		{"POST /v1/cluster/join", access.ToJoin, maxJoin, func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
			v, err := s.joinCluster(r, p)
			return reply(w, v, err)
		}},
		{"POST /v1/member/rejoin", access.ToShare, maxJoin, func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
			q, err := decode[api.RejoinCluster](r)
			if err != nil {
				return err
			}
			one, err := s.box.RejoinMember(p.Hash, q.Key, q.Addresses)
			return reply(w, s.joined(one), err)
		}},
		// A proof is looked at in less time than the handshake took: who sends others keeps nobody from being heard.
		{"POST " + introducePath, access.ToJoin, maxIntroduction, func(w http.ResponseWriter, r *http.Request, p access.Principal) error {
			q, err := decode[api.Introduction](r)
			if err == nil {
				err = s.cluster.Introduced(p.Hash, q.Proof)
			}
			return reply(w, struct{}{}, err)
		}},
		{"POST " + memberlink.MessagesPath, access.ToShare, maxMessages, s.messagesOf},
		{"GET " + memberlink.FilesPath + "/{name...}", access.ToShare, 0, func(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
			data, err := s.box.ReadFile(r.PathValue("name"))
			httpserver.Answering(w)
			return memberlink.ServeFile(w, data, err)
		}},
		{"GET /v1/member/word", access.ToShare, 0, func(w http.ResponseWriter, _ *http.Request, _ access.Principal) error {
			return reply(w, s.cluster.Word(), nil)
		}},
	}
}

// maxMessages is how much a member may say on one connection: it goes on for as long as that lasts, and each message is bounded.
const maxMessages = math.MaxInt64

// messagesOf takes what a member says, for as long as it does, and is one.
func (s *Server) messagesOf(w http.ResponseWriter, r *http.Request, p access.Principal) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	return memberlink.Serve(w, r.WithContext(ctx), p.Member, func(message []byte) {
		if o, known := s.memberByKey(p.Hash); known && o.ID == p.Member {
			s.cluster.Receive(p.Member, message)
			return
		}
		cancel()
	})
}

// inviteMember invites a box, and says in one word how it gets in: at any box of the cluster that answers.
func (s *Server) inviteMember(p access.Principal, q api.NewMember, key string) (api.Invitation, error) {
	if s.secure == nil {
		return api.Invitation{}, errNoSecure
	}
	places := q.Address
	if len(places) == 0 {
		places = s.cluster.Self().Addresses
	}
	if err := access.CheckAddresses(places); err != nil {
		return api.Invitation{}, badRequest{err}
	}
	o, secret, err := s.box.InviteMember(p.Actor(), q, key)
	if err != nil {
		return api.Invitation{}, err
	}
	word := access.Invitation{Box: places, Key: s.secure.Key.Hash(), Secret: secret}.ClusterString()
	return api.Invitation{Name: o.Name, Line: word, ExpiresAt: o.Expires}, nil
}

// joinCluster makes a member of who has an invitation's secret, and tells it what the boxes of the cluster have in common.
func (s *Server) joinCluster(r *http.Request, p access.Principal) (api.JoinedCluster, error) {
	if _, ok := s.joins.Take(time.Now()); !ok {
		return api.JoinedCluster{}, errManyJoins
	}
	q, err := decode[api.JoinCluster](r)
	if err != nil {
		return api.JoinedCluster{}, err
	}
	one, err := s.box.JoinMember(q.Secret, p.Hash, q.Addresses)
	if err != nil {
		return api.JoinedCluster{}, err
	}
	s.logger.Info("a box has joined the cluster", "name", one.Name, "id", one.ID, "key", one.Key, "from", r.RemoteAddr)
	return s.joined(one), nil
}

func (s *Server) joined(one access.Member) api.JoinedCluster {
	return api.JoinedCluster{ID: one.ID, Name: one.Name, Members: s.cluster.Linked(), MemberSecrets: s.box.Secrets()}
}
