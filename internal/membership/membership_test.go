package membership_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// other is a box of a cluster that lets in who has its secret, and members back whose key it knows.
type other struct {
	key     *pin.Key
	secret  string
	members map[string]bool // the keys that it takes for members'
	lose    bool            // its answers
	waits   int             // so many requests find no box that leads
	spoil   func(*api.JoinedCluster)

	mu     sync.Mutex
	joined []joined
}

// joined is what was asked, and by which key.
type joined struct {
	Path, Secret, Key, By string
	Addresses             []string
}

func (b *other) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Secret, Key string
		Addresses   []string
	}
	_ = json.NewDecoder(r.Body).Decode(&q)
	by, _ := pin.PeerHash(r.TLS)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.joined = append(b.joined, joined{r.URL.Path, q.Secret, q.Key, by, q.Addresses})
	key := by
	switch r.URL.Path {
	case "/v1/cluster/join":
		if q.Secret != b.secret {
			refuse(w, "it was redeemed")
			return
		}
	case "/v1/member/rejoin":
		if key = q.Key; !b.members[by] {
			refuse(w, "no member")
			return
		}
		b.members[key] = true
	default:
		http.NotFound(w, r)
		return
	}
	if b.waits > 0 {
		b.waits--
		answer(w, http.StatusServiceUnavailable, api.Problem{Code: api.CodeNoLeader, Message: "no box of the cluster leads"})
		return
	}
	if b.lose {
		panic(http.ErrAbortHandler)
	}
	j := api.JoinedCluster{
		ID: 2, Name: "b", Members: []access.Member{
			{ID: 1, Name: "a", Key: b.key.Hash(), Addresses: []string{"192.0.2.1:7443"}}, {ID: 2, Name: "b", Key: key, Addresses: q.Addresses},
		},
		MemberSecrets: api.MemberSecrets{Signer: "signer", Token: "token", Gate: "gate"},
	}
	if b.spoil != nil {
		b.spoil(&j)
	}
	_ = json.NewEncoder(w).Encode(j)
}

func refuse(w http.ResponseWriter, why string) {
	answer(w, http.StatusForbidden, api.Problem{Code: api.CodeForbidden, Message: why})
}

func answer(w http.ResponseWriter, status int, p api.Problem) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(p.Details(status))
}

func newKey(t *testing.T) *pin.Key {
	t.Helper()
	k, err := pin.OpenKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// listening lets a box answer on loopback, and returns where.
func listening(t *testing.T) (*other, string) {
	t.Helper()
	b := &other{key: newKey(t), secret: access.InvitationSecret([32]byte{1}), members: map[string]bool{}}
	s := httptest.NewUnstartedServer(b)
	s.TLS = pin.Server(b.key, nil, func(string) bool { return false }, func(hash string) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.members[hash]
	})
	s.StartTLS()
	t.Cleanup(s.Close)
	return b, s.Listener.Addr().String()
}

var here = []string{"[::1]:7443", "b.example.org:7443"}

func sample(t *testing.T) membership.Membership {
	t.Helper()
	return membership.Membership{ID: 2, Name: "b", Members: []access.Member{
		{ID: 1, Name: "a", Key: newKey(t).Hash(), Addresses: []string{"192.0.2.1:7443"}, Joined: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Votes: true},
		{ID: 2, Name: "b", Key: newKey(t).Hash(), Addresses: here},
	}}
}

// What is written is read, by nobody but the owner, until it is removed.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if _, err := membership.Read(dir); !errors.Is(err, membership.ErrNone) || !strings.Contains(err.Error(), dir) {
		t.Errorf("nothing: %v", err)
	}
	m := sample(t)
	for range 2 { // over the one before
		if err := membership.Write(dir, m); err != nil {
			t.Fatal(err)
		}
		got, err := membership.Read(dir)
		if err != nil || !cmp.Equal(got, m) {
			t.Fatalf("read: %+v, %v", got, err)
		}
		if !cmp.Equal(got.Self(), m.Members[len(m.Members)-1]) {
			t.Errorf("itself: %+v", got.Self())
		}
		m.Members = m.Members[1:]
	}
	if info, err := os.Stat(filepath.Join(dir, membership.File)); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := membership.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := membership.Read(dir); !errors.Is(err, membership.ErrNone) {
		t.Errorf("removed: %v", err)
	}
	if err := membership.Remove(dir); err != nil {
		t.Errorf("removed again, as after a cut: %v", err)
	}
}

// What no box has written is refused, and says what to do; it is never taken for a box that stands alone.
func TestDamaged(t *testing.T) {
	with := func(change func(*membership.Membership)) string {
		m := sample(t)
		change(&m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	whole := with(func(*membership.Membership) {})
	for name, text := range map[string]string{
		"nothing": "", "half": whole[:len(whole)/2], "another document": `[]`, "null": "null", "an empty one": "{}", "two": whole + whole, "no number": `{"id":"2"}`, "zeros": strings.Repeat("\x00", 300),
		"itself is not there":     with(func(m *membership.Membership) { m.Members = m.Members[:1] }),
		"itself by another name":  with(func(m *membership.Membership) { m.Name = "c" }),
		"itself by another id":    with(func(m *membership.Membership) { m.ID = 1 }),
		"no id":                   with(func(m *membership.Membership) { m.ID, m.Members[1].ID = 0, 0 }),
		"another without an id":   with(func(m *membership.Membership) { m.Members[0].ID = 0 }),
		"another without a key":   with(func(m *membership.Membership) { m.Members[0].Key = "" }),
		"another with half a key": with(func(m *membership.Membership) { m.Members[0].Key = m.Members[0].Key[1:] }),
		"nowhere":                 with(func(m *membership.Membership) { m.Members[1].Addresses = nil }),
		"another nowhere":         with(func(m *membership.Membership) { m.Members[0].Addresses = []string{"x"} }),
		"a name to print":         with(func(m *membership.Membership) { m.Members[0].Name = "\x1b[31m" }),
		"an id twice":             with(func(m *membership.Membership) { m.Members[0].ID = 2 }),
		"a key twice":             with(func(m *membership.Membership) { m.Members[0].Key = m.Members[1].Key }),
		"a very long one":         strings.Repeat(" ", 1<<17) + whole,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, membership.File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := membership.Read(dir)
		if err == nil || errors.Is(err, membership.ErrNone) || !strings.Contains(err.Error(), membership.File) || strings.Contains(err.Error(), "\x1b") || !cmp.Equal(m, membership.Membership{}) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, membership.File), 0o700); err != nil {
		t.Fatal(err)
	}
	if m, err := membership.Read(dir); err == nil || errors.Is(err, membership.ErrNone) {
		t.Errorf("a directory: %+v, %v", m, err)
	}
}

// A bit of each byte of the file, flipped: what is read is refused, or differs in that alone, and is never that of no cluster.
func TestDamagedBits(t *testing.T) {
	dir, m := t.TempDir(), sample(t)
	if err := membership.Write(dir, m); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, membership.File)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		bit := i*8 + i%8
		data[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := membership.Read(dir)
		if errors.Is(err, membership.ErrNone) {
			t.Fatalf("bit %d: %v", bit, err)
		}
		if err == nil && (got.ID != m.ID || got.Name != m.Name || got.Self().Key == "") {
			t.Errorf("bit %d: it is another box: %+v", bit, got)
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
}

// Who joins has a key of its own, proves it, and is told what the cluster has; the same key is used when it asks again.
func TestJoin(t *testing.T) {
	b, at := listening(t)
	i := access.Invitation{Box: []string{at}, Key: b.key.Hash(), Secret: b.secret}
	dir := filepath.Join(t.TempDir(), "a", "box")
	var was string
	for range 2 {
		got, err := membership.Join(t.Context(), dir, i.ClusterString(), here)
		if err != nil {
			t.Fatal(err)
		}
		key, err := pin.OpenKey(dir)
		if err != nil || was != "" && key.Hash() != was {
			t.Fatalf("its key: %v", err)
		}
		was = key.Hash()
		if m := membership.Of(got); got.Signer != "signer" || got.Token != "token" || got.Gate != "gate" || m.ID != 2 || m.Self().Key != was || !cmp.Equal(m.Self().Addresses, here) || len(m.Members) != 2 {
			t.Errorf("joined: %+v", got)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("its directory: %v, %v", info, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 || all[0].Name() != pin.File {
		t.Errorf("it has written %v, %v", all, err)
	}
	want := joined{"/v1/cluster/join", b.secret, "", was, here}
	if !cmp.Equal(b.joined, []joined{want, want}) {
		t.Errorf("the cluster was asked %+v", b.joined)
	}
}

// No secret goes to a box that has another key, or for an invitation or an address that is none; the key stays for another time.
func TestNotJoined(t *testing.T) {
	b, at := listening(t)
	i := access.Invitation{Box: []string{at}, Key: b.key.Hash(), Secret: b.secret}
	otherKey, wrong, nobody := i, i, i
	otherKey.Key = newKey(t).Hash()
	wrong.Secret = access.InvitationSecret([32]byte{2})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Box = []string{l.Addr().String()}
	_ = l.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx       context.Context
		line      string
		addresses []string
		is        error
		says      string
	}{
		"another key":    {t.Context(), otherKey.ClusterString(), here, enrolment.ErrNotReached, pin.ErrOtherBox.Error()},
		"another secret": {t.Context(), wrong.ClusterString(), here, nil, "it was redeemed"},
		"nobody there":   {t.Context(), nobody.ClusterString(), here, enrolment.ErrNotReached, "refused"},
		"a runner's":     {t.Context(), i.String(), here, access.ErrBadClusterInvitation, "cluster invite"},
		"no address":     {t.Context(), i.ClusterString(), nil, access.ErrBadAddresses, ""},
		"a bad address":  {t.Context(), i.ClusterString(), []string{"b"}, access.ErrBadAddresses, ""},
		"interrupted":    {ended, i.ClusterString(), here, context.Canceled, ""},
	} {
		asked := len(b.joined)
		dir := filepath.Join(t.TempDir(), "box")
		j, err := membership.Join(c.ctx, dir, c.line, c.addresses)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), b.secret) || j.Signer != "" {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
		if name != "another secret" && len(b.joined) != asked {
			t.Errorf("%s: the box was asked", name)
		}
		if errors.Is(err, access.ErrBadAddresses) || errors.Is(err, access.ErrBadClusterInvitation) {
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: a directory was made: %v", name, err)
			}
		}
		if _, err := membership.Read(dir); !errors.Is(err, membership.ErrNone) {
			t.Errorf("%s: it is a member: %v", name, err)
		}
	}
	b.lose = true
	if _, err := membership.Join(t.Context(), t.TempDir(), i.ClusterString(), here); !errors.Is(err, enrolment.ErrNotReached) {
		t.Errorf("an answer that is lost: %v", err)
	}
}

// Of who answers with members that no cluster has nothing is taken, neither by who joins nor by who comes back.
func TestJoinsNoBox(t *testing.T) {
	b, at := listening(t)
	i := access.Invitation{Box: []string{at}, Key: b.key.Hash(), Secret: b.secret}
	old := newKey(t)
	b.members[old.Hash()] = true
	was := membership.Membership{ID: 3, Name: "c", Members: []access.Member{
		{ID: 2, Name: "b", Key: b.key.Hash(), Addresses: []string{at}}, {ID: 3, Name: "c", Key: old.Hash(), Addresses: here},
	}}
	for name, spoil := range map[string]func(*api.JoinedCluster){
		"nobody":            func(j *api.JoinedCluster) { j.Members = nil },
		"without who asked": func(j *api.JoinedCluster) { j.Members = j.Members[:1] },
		"who is nowhere":    func(j *api.JoinedCluster) { j.Members[1].Addresses = nil },
		"a name to print":   func(j *api.JoinedCluster) { j.Name, j.Members[1].Name = "\x1b[2J", "\x1b[2J" },
	} {
		b.spoil = spoil
		if j, err := membership.Join(t.Context(), t.TempDir(), i.ClusterString(), here); err == nil || errors.Is(err, enrolment.ErrNotReached) || j.Signer != "" {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
		if j, err := membership.Rejoin(t.Context(), old, was, t.TempDir()); err == nil || j.Signer != "" {
			t.Errorf("%s, back: %+v, %v", name, j, err)
		}
	}
}

// A member that comes back asks one of the others after the other, each by its key, with its old key, and never itself.
func TestRejoin(t *testing.T) {
	b, at := listening(t)
	old, next := newKey(t), t.TempDir()
	b.members[old.Hash()] = true
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	_ = l.Close()
	m := membership.Membership{ID: 3, Name: "c", Members: []access.Member{
		{ID: 1, Name: "a", Key: newKey(t).Hash(), Addresses: []string{gone}},
		{ID: 3, Name: "c", Key: old.Hash(), Addresses: here},
		{ID: 2, Name: "b", Key: b.key.Hash(), Addresses: []string{at}},
	}}
	b.lose = true
	if _, err := membership.Rejoin(t.Context(), old, m, next); err == nil || !strings.Contains(err.Error(), "a: ") || !strings.Contains(err.Error(), "b: ") {
		t.Errorf("an answer that is lost: %v", err)
	}
	again := m
	again.Members = slices.Concat(m.Members[:2], []access.Member{{ID: 4, Name: "a", Key: newKey(t).Hash(), Addresses: []string{gone}}})
	_, err = membership.Rejoin(t.Context(), old, again, next)
	if err == nil || strings.Count(err.Error(), "a: "+enrolment.ErrNotReached.Error()+" "+gone) != 1 || strings.Contains(err.Error(), "http://") {
		t.Errorf("boxes that do not answer: %v", err)
	}
	fresh, err := pin.OpenKey(next)
	if err != nil {
		t.Fatal(err)
	}
	b.lose = false
	got, err := membership.Rejoin(t.Context(), old, m, next)
	if err != nil || got.ID != 2 || got.Signer != "signer" {
		t.Errorf("back: %+v, %v", got, err)
	}
	want := joined{"/v1/member/rejoin", "", fresh.Hash(), old.Hash(), here}
	if !cmp.Equal(b.joined, []joined{want, want}) {
		t.Errorf("the cluster was asked %+v", b.joined)
	}
	// Another box is elected meanwhile.
	b.waits = 3
	if _, err := membership.Rejoin(t.Context(), old, m, next); err != nil || b.waits != 0 {
		t.Errorf("while no box leads: %v", err)
	}
	// Once the others know the new key, and the old one no more, it asks with that.
	delete(b.members, old.Hash())
	if _, err := membership.Rejoin(t.Context(), old, m, next); err == nil {
		t.Error("with a key that is nobody's")
	}
	if _, err := membership.Rejoin(t.Context(), fresh, m, next); err != nil {
		t.Errorf("with the new key: %v", err)
	}
	m.Members[2].Key = newKey(t).Hash()
	asked := len(b.joined)
	if _, err := membership.Rejoin(t.Context(), fresh, m, next); err == nil || len(b.joined) != asked {
		t.Errorf("a box with another key was asked: %v", err)
	}
	m.Members = m.Members[1:2]
	if j, err := membership.Rejoin(t.Context(), old, m, next); err == nil {
		t.Errorf("the only one comes back, by nobody: %+v", j)
	}
}
