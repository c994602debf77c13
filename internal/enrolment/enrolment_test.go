package enrolment_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// box is one that lets in who has its secret, and says then which key somebody has.
type box struct {
	key    *pin.Key
	secret string
	asked  []api.JoinRunner
	lose   bool // its answers
}

func (b *box) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/runner/join" {
		hash, _ := pin.PeerHash(r.TLS)
		_, _ = io.WriteString(w, hash)
		return
	}
	var q api.JoinRunner
	_ = json.NewDecoder(r.Body).Decode(&q)
	if b.asked = append(b.asked, q); q.Secret != b.secret {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode((&api.Problem{Code: api.CodeForbidden, Message: "it was redeemed"}).Details(http.StatusForbidden))
		return
	}
	if b.lose {
		panic(http.ErrAbortHandler)
	}
	_ = json.NewEncoder(w).Encode(api.JoinedRunner{Name: "gpu1", Labels: []string{"linux"}})
}

func key(t *testing.T) *pin.Key {
	t.Helper()
	k, err := pin.OpenKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// listening lets a box answer on loopback, and returns its invitation.
func listening(t *testing.T) (*box, access.Invitation) {
	t.Helper()
	b := &box{key: key(t), secret: access.InvitationSecret([32]byte{1})}
	s := httptest.NewUnstartedServer(b)
	s.TLS = pin.Server(b.key, nil, func(string) bool { return true }, func(string) bool { return false })
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	return b, access.Invitation{Box: []string{s.Listener.Addr().String()}, Key: b.key.Hash(), Secret: b.secret}
}

// Who joins keeps what it needs from then on, for its owner alone, and is known to the box by its key.
func TestJoin(t *testing.T) {
	b, i := listening(t)
	dir := filepath.Join(t.TempDir(), "runner")
	want := enrolment.Enrolment{Name: "gpu1", Box: i.Box, BoxKey: i.Key, Labels: []string{"linux"}}
	var was string
	for range 2 { // the second time with the key of the first
		got, err := enrolment.Join(t.Context(), dir, i.String())
		if err != nil || !cmp.Equal(got, want) {
			t.Fatalf("joined: %+v, %v", got, err)
		}
		e, k, err := enrolment.Read(dir)
		if err != nil || !cmp.Equal(e, want) || was != "" && k.Hash() != was {
			t.Fatalf("read: %+v, %v", e, err)
		}
		was = k.Hash()
		carrier := e.Carrier(k)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://whatever/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := carrier.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		hash, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil || string(hash) != was {
			t.Errorf("the box knows %q, not %q: %v", hash, was, err)
		}
		carrier.CloseIdleConnections()
	}
	for name, mode := range map[string]os.FileMode{".": os.ModeDir | 0o700, "runner.json": 0o600, pin.File: 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if len(b.asked) != 2 {
		t.Errorf("the box was asked %+v", b.asked)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "runner.json")); err != nil || strings.Contains(string(data), i.Secret) {
		t.Errorf("the secret stays: %s, %v", data, err)
	}
}

// No secret goes to a box that has another key, and nothing is kept of what did not work.
func TestNotJoined(t *testing.T) {
	b, i := listening(t)
	other := i
	other.Key = key(t).Hash()
	wrong := i
	wrong.Secret = access.InvitationSecret([32]byte{2})
	nobody := i
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Box = []string{l.Addr().String()}
	_ = l.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		line string
		says string
	}{
		"another key":    {t.Context(), other.String(), pin.ErrOtherBox.Error()},
		"another secret": {t.Context(), wrong.String(), "it was redeemed"},
		"nobody there":   {t.Context(), nobody.String(), "refused"},
		"no invitation":  {t.Context(), "sbr1_x", access.ErrBadInvitation.Error()},
		"interrupted":    {ended, i.String(), "canceled"},
	} {
		dir := filepath.Join(t.TempDir(), "runner")
		if e, err := enrolment.Join(c.ctx, dir, c.line); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the directory stays: %v", name, err)
		}
	}
	full := t.TempDir() // what was there stays
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := enrolment.Join(t.Context(), full, nobody.String()); !errors.Is(err, enrolment.ErrNotReached) || strings.Contains(err.Error(), "http://") {
		t.Errorf("nobody there: %v", err)
	}
	if left, err := os.ReadDir(full); err != nil || len(left) != 1 || left[0].Name() != "mine" {
		t.Errorf("there is %v, %v", left, err)
	}
	for _, q := range b.asked {
		if q.Secret == i.Secret {
			t.Error("the secret went out")
		}
	}
	// A directory that belongs to another box stays as it is.
	dir := t.TempDir()
	has := enrolment.Enrolment{Name: "x", Box: []string{"a:1"}, BoxKey: other.Key}
	if err := enrolment.Write(dir, has); err != nil {
		t.Fatal(err)
	}
	if _, err := enrolment.Join(t.Context(), dir, i.String()); !errors.Is(err, enrolment.ErrOtherBox) {
		t.Errorf("joined another box: %v", err)
	}
	if e, _, err := enrolment.Read(dir); err != nil || !cmp.Equal(e, has) {
		t.Errorf("it is %+v now, %v", e, err)
	}
}

// Who is not told whether it has worked keeps its key, which the box may know by now, and can try again.
func TestAnswerLost(t *testing.T) {
	b, i := listening(t)
	b.lose = true
	dir := filepath.Join(t.TempDir(), "runner")
	if e, err := enrolment.Join(t.Context(), dir, i.String()); !errors.Is(err, enrolment.ErrNotReached) || len(b.asked) != 1 {
		t.Fatalf("joined: %+v, %v", e, err)
	}
	k, err := pin.OpenKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	b.lose = false
	if _, err := enrolment.Join(t.Context(), dir, i.String()); err != nil {
		t.Fatal(err)
	}
	if _, again, err := enrolment.Read(dir); err != nil || again.Hash() != k.Hash() {
		t.Errorf("it has another key: %v", err)
	}
}

// Of several addresses that one is taken where the box is: not where nobody is, and not where somebody else is.
func TestAddresses(t *testing.T) {
	_, i := listening(t)
	_, other := listening(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	i.Box = []string{"127.0.0.1:1", other.Box[0], plain.Listener.Addr().String(), i.Box[0]}
	if e, err := enrolment.Join(t.Context(), t.TempDir(), i.String()); err != nil || !cmp.Equal(e.Box, i.Box) {
		t.Errorf("joined: %+v, %v", e, err)
	}
	i.Box = i.Box[:3]
	if e, err := enrolment.Join(t.Context(), t.TempDir(), i.String()); !errors.Is(err, pin.ErrOtherBox) {
		t.Errorf("joined: %+v, %v", e, err)
	}
}

// A connection is used again, and tried first where the last one was.
func TestCarrier(t *testing.T) {
	_, i := listening(t)
	k := key(t)
	dialled := 0
	config := pin.Client(k, i.Key)
	config.VerifyConnection = func(tls.ConnectionState) error { dialled++; return nil }
	c := enrolment.NewCarrier([]string{"127.0.0.1:1", i.Box[0]}, config)
	for n := range 4 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/", nil)
		resp, err := c.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if n == 1 {
			c.CloseIdleConnections()
		}
	}
	if c.CloseIdleConnections(); dialled != 2 {
		t.Errorf("4 requests took %d connections", dialled)
	}
}

// A box that does not know the runner says so for good; who has not proven to be the box says nothing, whatever it sends.
func TestRemoved(t *testing.T) {
	b, i := listening(t)
	s := httptest.NewUnstartedServer(b)
	s.TLS = pin.Server(b.key, nil, func(string) bool { return false }, func(string) bool { return false })
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.StartTLS()
	t.Cleanup(s.Close)
	ask := func(address string) error {
		c := enrolment.NewCarrier([]string{address}, pin.Client(key(t), i.Key))
		defer c.CloseIdleConnections()
		answer, err := c.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/", nil))
		if err == nil {
			t.Error(errors.Join(errors.New("it is answered"), answer.Body.Close()))
		}
		return err
	}
	var p *api.Problem
	for range 100 { // a connection can break before the reason comes
		if errors.As(ask(s.Listener.Addr().String()), &p) {
			break
		}
	}
	if p == nil || p.Code != api.CodeUnauthorized || !strings.Contains(p.Message, "it was removed there") {
		t.Errorf("a runner that was removed is told %+v", p)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, 42}) // the alert of a refusal, in the clear
			_ = c.Close()
		}
	}()
	if err := ask(l.Addr().String()); !pin.Refused(err) || errors.As(err, &p) {
		t.Errorf("a stranger's alert is taken for the box's word: %v", err)
	}
}

func TestDamaged(t *testing.T) {
	good := `{"name":"a","box":["a:1"],"box_key":"` + strings.Repeat("a", 64) + `"}`
	for text, want := range map[string]bool{
		good: true, "": false, "{": false, "[]": false, "{}": false, strings.Replace(good, `"a"`, `"A"`, 1): false, strings.Replace(good, `["a:1"]`, `[]`, 1): false, strings.Replace(good, "aaa", "", 1): false,
		strings.Repeat(" ", 1<<20) + good: false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "runner.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := enrolment.Read(dir); (err == nil) != want || errors.Is(err, enrolment.ErrNotJoined) {
			t.Errorf("%.100q: %v", text, err)
		}
	}
}
