package memberlink_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/memberlink"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is who is a member, as all know it.
type world struct {
	mu     sync.Mutex
	peers  map[uint64]memberlink.Peer
	leader atomic.Uint64
}

func newWorld() *world { return &world{peers: map[uint64]memberlink.Peer{}} }

func (w *world) others(id uint64) []memberlink.Peer {
	w.mu.Lock()
	defer w.mu.Unlock()
	others := maps.Clone(w.peers)
	delete(others, id)
	return slices.SortedFunc(maps.Values(others), func(a, b memberlink.Peer) int { return int(a.ID) - int(b.ID) })
}

func (w *world) put(p memberlink.Peer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peers[p.ID] = p
}

func (w *world) remove(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.peers, id)
}

func (w *world) byKey(hash string) (uint64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, p := range w.peers {
		if p.Key == hash {
			return id, true
		}
	}
	return 0, false
}

// box is a member: what it sends by, and a server such as a box is.
type box struct {
	world   *world
	id      uint64
	key     *pin.Key
	links   *memberlink.Links
	address string
	give    func([]byte)
	read    func(name string) ([]byte, error)
	files   func(http.ResponseWriter) // answers instead of read, if it is set
	other   http.HandlerFunc          // what else is asked
	streams chan error                // how those of others ended
	opened  atomic.Int32              // how many connections there were
	logged  *lines
	refuses atomic.Bool // whoever asks
	stop    func() error
}

// lines counts what is logged.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(b))
	return len(b), nil
}

func (l *lines) with(text string) (count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.Contains(line, text) {
			count++
		}
	}
	return count
}

func newKey(t testing.TB) *pin.Key {
	t.Helper()
	k, err := pin.OpenKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// box adds a member to the world, which gives what it is sent.
func (w *world) box(t testing.TB, id uint64, give func([]byte)) *box {
	t.Helper()
	b := &box{
		world: w, id: id, key: newKey(t), give: give, streams: make(chan error, 100), logged: &lines{},
		read: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
	}
	b.links = memberlink.New(memberlink.Options{
		Key: b.key, Peers: func() []memberlink.Peer { return w.others(id) }, Leader: w.leader.Load,
		Logger: slog.New(slog.NewTextHandler(b.logged, nil)),
	})
	t.Cleanup(b.links.Stop)
	b.serve(t, "127.0.0.1:0")
	w.put(b.peer())
	return b
}

func (b *box) peer() memberlink.Peer {
	return memberlink.Peer{ID: b.id, Name: string(rune('a' + b.id)), Key: b.key.Hash(), Addresses: []string{b.address}}
}

// serve answers at an address until the box is stopped, or the test ends.
func (b *box) serve(t testing.TB, address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	b.address = listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+memberlink.MessagesPath, func(w http.ResponseWriter, r *http.Request) {
		if from, ok := b.from(w, r); ok {
			err := memberlink.Serve(w, r, from, b.give)
			b.streams <- err
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		}
	})
	mux.HandleFunc("GET "+memberlink.FilesPath+"/{name...}", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := b.from(w, r); ok {
			if b.files != nil {
				b.files(w)
				return
			}
			data, err := b.read(r.PathValue("name"))
			if memberlink.ServeFile(w, data, err) != nil {
				http.Error(w, "no", http.StatusInternalServerError)
			}
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := b.from(w, r); ok {
			b.other(w, r)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	s := httpserver.New(mux, slog.New(slog.DiscardHandler))
	s.BaseContext = func(net.Listener) context.Context { return ctx }
	s.Secure(pin.Server(b.key, nil, func(string) bool { return false }, func(hash string) bool {
		b.opened.Add(1)
		_, ok := b.world.byKey(hash)
		return ok
	}))
	served := make(chan error, 1)
	go func() { served <- s.ServeSecure(listener) }()
	b.stop = sync.OnceValue(func() error {
		cancel()
		patience, end := context.WithTimeout(context.Background(), 10*time.Second)
		defer end()
		err := errors.Join(s.Shutdown(patience), <-served) // which waits for what is under way
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	})
	stop := b.stop
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// from returns who asks, or refuses it.
func (b *box) from(w http.ResponseWriter, r *http.Request) (uint64, bool) {
	hash, _ := pin.PeerHash(r.TLS)
	id, ok := b.world.byKey(hash)
	if !ok || b.refuses.Load() {
		http.Error(w, "no member", http.StatusForbidden)
		return 0, false
	}
	if err := httpserver.Admit(w, r); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return 0, false
	}
	return id, true
}

// message is one from a member, with a text in it.
func message(from uint64, text string) []byte {
	return append(binary.AppendUvarint([]byte{1}, from), text...)
}
