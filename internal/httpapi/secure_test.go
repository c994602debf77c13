package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// made is a key of its own.
func made(t *testing.T) *pin.Key {
	t.Helper()
	k, err := pin.OpenKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// joined has a runner with a key join a box.
func joined(t *testing.T, b *box.Box, name string, k *pin.Key) {
	t.Helper()
	_, secret, err := b.InviteRunner(work.OperatorActor, api.NewRunner{Name: name}, "")
	if err == nil {
		_, err = b.JoinRunner(secret, k.Hash())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// shown is a connection by TLS on which a key was shown, or none.
func shown(t *testing.T, k *pin.Key) *tls.ConnectionState {
	t.Helper()
	if k == nil {
		return &tls.ConnectionState{HandshakeComplete: true}
	}
	c, err := pin.Client(k, "").GetClientCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.ConnectionState{HandshakeComplete: true, PeerCertificates: []*x509.Certificate{c.Leaf}}
}

// overTLS lists every kind of principal that comes from beyond the machine, and who is none.
func overTLS(t *testing.T, b *box.Box) []caller {
	t.Helper()
	own, gate := b.Tokens()
	runner, removed, guest := made(t), made(t), made(t)
	joined(t, b, "runner", runner)
	joined(t, b, "removed", removed)
	if _, err := b.RemoveRunner(work.OperatorActor, "removed", ""); err != nil {
		t.Fatal(err)
	}
	unfinished := shown(t, runner)
	unfinished.HandshakeComplete = false
	session := b.Ledger().SessionToken("x")
	return []caller{
		{"the owner, over TLS", bearer(own), "O", shown(t, nil)},
		{"the gate, over TLS", bearer(gate), "g", shown(t, nil)},
		{"nobody, over TLS", bearer(""), "-", shown(t, nil)},
		{"a token for read, over TLS", bearer(newToken(t, b, "far", 0, access.Read)), "r", shown(t, nil)},
		{"the session, over TLS and not by its runner", bearer(session), "n", shown(t, nil)},
		{"a runner", bearer(""), "R", shown(t, runner)},
		{"a runner with its session's token", bearer(session), "sR", shown(t, runner)},
		{"a runner with the token of another session", bearer(b.Ledger().SessionToken("y")), "R", shown(t, runner)},
		{"a runner with the owner's token", bearer(own), "R", shown(t, runner)},
		{"a runner with the gate's token", bearer(gate), "R", shown(t, runner)},
		{"a runner with a client's token", bearer(newToken(t, b, "at-a-runner", 0, access.Operate)), "R", shown(t, runner)},
		{"a runner that speaks for a client", bearer("", api.ClientHeader, "x", api.ScopesHeader, "operate"), "n", shown(t, runner)},
		{"a removed runner", bearer(""), "-G", shown(t, removed)},
		{"a removed runner with a session's token", bearer(session), "-G", shown(t, removed)},
		{"a guest", bearer(""), "-G", shown(t, guest)},
		{"a guest with the owner's token", bearer(own), "-G", shown(t, guest)},
		{"a runner before the handshake is over", bearer(""), "-", unfinished},
	}
}

// secured lets a box answer on two real sockets, with TLS on one, until the test ends.
func secured(t *testing.T, log io.Writer) (b *box.Box, owner *api.Client, address string, key *pin.Key) {
	t.Helper()
	b, key = openBox(t), made(t)
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ListenSecure(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	server := New(b, conductor.New(b.Ledger(), conductor.Options{}), slog.New(slog.NewTextHandler(log, nil))).WithSecure(&Secure{Listener: s, Key: key})
	go func() { ended <- server.Serve(ctx, l) }()
	owner = api.NewClient(l.Addr().String(), tokenOf(b))
	t.Cleanup(func() {
		owner.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return b, owner, s.Addr().String(), key
}

// lines are what is logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// far is a client from beyond the machine.
type far struct {
	address string
	*http.Transport
}

func (f far) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "https", f.address
	return f.Transport.RoundTrip(r)
}

func farClient(t *testing.T, address, token string, config *tls.Config) *api.Client {
	t.Helper()
	c := api.ClientOver(far{address, &http.Transport{TLSClientConfig: config}}, token)
	t.Cleanup(c.Close)
	return c
}

// codeOf is the code of the problem that a request met.
func codeOf(err error) string {
	var p *api.Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return fmt.Sprint(err)
}

// A runner that is invited joins over TLS, is known by its key from then on, and is nobody when it was removed.
func TestJoin(t *testing.T) {
	var log lines
	_, owner, address, box := secured(t, &log)
	invitation, err := owner.InviteRunner(t.Context(), api.NewRunner{Name: "gpu1", Labels: []string{"linux"}})
	if err != nil || invitation.Name != "gpu1" || invitation.ExpiresAt.IsZero() {
		t.Fatalf("invited: %+v, %v", invitation, err)
	}
	line, err := access.ParseInvitation(invitation.Line)
	if err != nil || line.Key != box.Hash() || !cmp.Equal(line.Box, []string{address}) {
		t.Fatalf("the line says %+v, %v, and the box is %s at %s", line, err, box.Hash(), address)
	}
	runner, other := made(t), made(t)
	join := api.JoinRunner{Secret: line.Secret}
	if _, err := farClient(t, address, "", pin.Client(runner, line.Key)).JoinRunner(t.Context(), join); err == nil {
		t.Error("a key that has not joined gets through as a runner's")
	}
	if _, err := owner.JoinRunner(t.Context(), join); codeOf(err) != api.CodeForbidden {
		t.Errorf("who has no key joins: %v", err)
	}
	joining, late := farClient(t, address, "", pin.Joining(runner, line.Key)), farClient(t, address, "", pin.Joining(other, line.Key))
	if _, err := late.JoinRunner(t.Context(), api.JoinRunner{Secret: access.InvitationSecret([32]byte{})}); codeOf(err) != api.CodeForbidden {
		t.Errorf("with another secret: %v", err)
	}
	for range 2 { // an answer can be lost
		if got, err := joining.JoinRunner(t.Context(), join); err != nil || !cmp.Equal(got, api.JoinedRunner{Name: "gpu1", Labels: []string{"linux"}}) {
			t.Errorf("joined: %+v, %v", got, err)
		}
	}
	if _, err := late.JoinRunner(t.Context(), join); codeOf(err) != api.CodeForbidden || !strings.Contains(err.Error(), "redeemed already") {
		t.Errorf("with another key: %v", err)
	}
	if all, err := owner.Runners(t.Context()); err != nil || !cmp.Equal(all, []api.Runner{{Name: "gpu1", Labels: []string{"linux"}, State: api.RunnerLost}}) {
		t.Errorf("listed: %+v, %v", all, err)
	}
	known := farClient(t, address, "", pin.Client(runner, line.Key))
	if _, err := known.Status(t.Context()); codeOf(err) != api.CodeForbidden {
		t.Errorf("a runner asks for what is not its own: %v", err)
	}
	if _, err := known.JoinRunner(t.Context(), join); err != nil { // its connection stays
		t.Errorf("a runner joins again: %v", err)
	}
	if r, err := owner.DrainRunner(t.Context(), "gpu1", api.DrainRunner{DeadlineMS: 60_000}); err != nil || r.State != api.RunnerDraining || r.DrainBy == nil {
		t.Errorf("drained: %+v, %v", r, err)
	}
	if r, err := owner.DrainRunner(t.Context(), "gpu1", api.DrainRunner{Back: true}); err != nil || r.State != api.RunnerLost || r.DrainBy != nil {
		t.Errorf("back: %+v, %v", r, err)
	}
	if r, err := owner.RemoveRunner(t.Context(), "gpu1"); err != nil || r.Name != "gpu1" {
		t.Errorf("removed: %+v, %v", r, err)
	}
	if _, err := known.Status(t.Context()); codeOf(err) != api.CodeUnauthorized {
		t.Errorf("a removed runner, on the connection that it has: %v", err)
	}
	if _, err := farClient(t, address, "", pin.Client(runner, line.Key)).Status(t.Context()); err == nil || codeOf(err) == api.CodeUnauthorized {
		t.Errorf("a removed runner, on another connection: %v", err)
	}
	if _, err := joining.JoinRunner(t.Context(), join); codeOf(err) != api.CodeForbidden {
		t.Errorf("a removed runner joins again: %v", err)
	}
	owner.Close()
	for _, want := range []string{"a runner has joined", "asks=\"POST /v1/runner/join\" why=\"the invitation", "a request was refused", "TLS handshake error"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %q: %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), line.Secret) {
		t.Error("the log has an invitation's secret")
	}
}

// Who has a token uses the box from afar as on its machine, and is asked for no certificate.
func TestFar(t *testing.T) {
	b, owner, address, _ := secured(t, io.Discard)
	browser := &tls.Config{InsecureSkipVerify: true}
	if _, err := farClient(t, address, tokenOf(b), browser).Add(t.Context(), api.AddWork{Title: "x"}); err != nil {
		t.Error(err)
	}
	if _, err := farClient(t, address, "", browser).Status(t.Context()); codeOf(err) != api.CodeUnauthorized {
		t.Errorf("without a token: %v", err)
	}
	if _, err := farClient(t, address, newToken(t, b, "ci", 0, access.Read), browser).Add(t.Context(), api.AddWork{Title: "x"}); codeOf(err) != api.CodeForbidden {
		t.Errorf("without the scope: %v", err)
	}
	if _, err := farClient(t, address, b.Ledger().SessionToken("x"), browser).Status(t.Context()); codeOf(err) != api.CodeForbidden {
		t.Errorf("a session by itself: %v", err)
	}
	if s, err := owner.Status(t.Context()); err != nil || s.Ledger.Events == 0 {
		t.Errorf("on this machine: %+v, %v", s, err)
	}
	plain, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	plain.Header = bearer(tokenOf(b))
	if resp, err := new(http.Transport).RoundTrip(plain); err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS it is answered: %d", resp.StatusCode)
		}
	}
}

// Who tries to join again and again is told to wait, and who has no invitation sends little.
func TestManyJoins(t *testing.T) {
	_, _, address, box := secured(t, io.Discard)
	guest := farClient(t, address, "", pin.Joining(made(t), box.Hash()))
	if _, err := guest.JoinRunner(t.Context(), api.JoinRunner{Secret: strings.Repeat("x", maxJoin)}); codeOf(err) != api.CodeInvalid {
		t.Errorf("a long request: %v", err)
	}
	for range 500 {
		if _, err := guest.JoinRunner(t.Context(), api.JoinRunner{Secret: "x"}); codeOf(err) == api.CodeBusy {
			return
		}
	}
	t.Error("nobody is told to wait")
}

// Without an address beyond its machine a box invites nobody; with one it says where it can be reached.
func TestPlaces(t *testing.T) {
	address, token, _ := serve(t)
	owner := api.NewClient(address, token)
	defer owner.Close()
	if _, err := owner.InviteRunner(t.Context(), api.NewRunner{Name: "gpu1"}); codeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("a box of this machine alone invites a runner: %v", err)
	}
	_, owner, _, _ = secured(t, io.Discard)
	invited := func(name string, address ...string) []string {
		t.Helper()
		i, err := owner.InviteRunner(t.Context(), api.NewRunner{Name: name, Address: address, TTLMS: 60_000})
		if err != nil {
			t.Fatal(err)
		}
		line, err := access.ParseInvitation(i.Line)
		if err != nil {
			t.Fatal(err)
		}
		return line.Box
	}
	if got := invited("a", "box.example.org:7", "2001:db8::1", "box.local"); len(got) != 3 || got[0] != "box.example.org:7" || !strings.HasPrefix(got[1], "[2001:db8::1]:") || !strings.HasPrefix(got[2], "box.local:") {
		t.Errorf("named addresses become %q", got)
	}
	for _, bad := range [][]string{{""}, {":7443"}, {"a b"}, {"\x1b"}, {strings.Repeat("a", 1000)}, slices.Repeat([]string{"a:1"}, access.MaxAddresses+1)} {
		if _, err := owner.InviteRunner(t.Context(), api.NewRunner{Name: "b", Address: bad}); codeOf(err) != api.CodeInvalid {
			t.Errorf("the address %.20q: %v", bad, err)
		}
	}
	for _, all := range []net.IP{net.IPv4zero, net.IPv6unspecified} {
		everywhere, err := reachable(&net.TCPAddr{IP: all, Port: 7443})
		if err != nil || len(everywhere) == 0 {
			t.Errorf("on all addresses: %q, %v", everywhere, err)
		}
		for _, a := range everywhere {
			host, port, err := net.SplitHostPort(a)
			if ip := net.ParseIP(host); err != nil || port != "7443" || ip == nil || ip.IsUnspecified() || all.To4() != nil && ip.To4() == nil {
				t.Errorf("an address of this machine, on %v: %q", all, a)
			}
		}
	}
	for address, want := range map[string]string{"0.0.0.0:0": "0.0.0.0", "127.0.0.1:0": "127.0.0.1", ":0": "::"} {
		l, err := ListenSecure(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Addr().(*net.TCPAddr).IP.String(); got != want && want != "::" {
			t.Errorf("on %s it listens on %s", address, got)
		}
		_ = l.Close()
	}
}

// Who asks from elsewhere, without a token, whether the box works is not told of its files.
func TestReadyFromAfar(t *testing.T) {
	b := openBox(t)
	b.Stop()
	h := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler()
	for far, want := range map[bool]string{false: b.Writable().Error(), true: errNotReady.Error()} {
		c := caller{headers: http.Header{}}
		if far {
			c.tls = shown(t, nil)
		}
		if status, answer := calledOver(t, h, "GET /readyz", "", c); status != http.StatusServiceUnavailable || !strings.Contains(answer, want) {
			t.Errorf("from afar %t: %d %s", far, status, answer)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		listen        string
		always        bool
		plain, secure string
	}{
		{"127.0.0.1:7071", false, "127.0.0.1:7071", ""},
		{"[::1]:0", false, "[::1]:0", ""},
		{"localhost:1", false, "localhost:1", ""},
		{"127.0.0.1:7071", true, "other", "127.0.0.1:7071"},
		{"192.0.2.7:7443", false, "other", "192.0.2.7:7443"},
		{"0.0.0.0:7443", false, "other", "0.0.0.0:7443"},
		{":7443", false, "other", ":7443"},
		{"box.example.org:7443", false, "other", "box.example.org:7443"},
		{"localhost.example.org:7443", false, "other", "localhost.example.org:7443"},
		{"7443", false, "7443", ""}, // which can't be listened on
	} {
		if plain, secure := Addresses(c.listen, "other", c.always); plain != c.plain || secure != c.secure {
			t.Errorf("%s, always %t: %q and %q", c.listen, c.always, plain, secure)
		}
	}
}

// Anybody can make a key, so the connection of who is about to join stays a stranger's.
func TestGuestsStayStrangers(t *testing.T) {
	_, _, address, box := secured(t, io.Discard)
	d := tls.Dialer{Config: pin.Joining(made(t), box.Hash())}
	c, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := `{"secret":"x"}`
	if _, err := fmt.Fprintf(c, "POST /v1/runner/join HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(c); err != nil || !strings.Contains(string(answer), "\r\nConnection: close\r\n") || !strings.Contains(string(answer), " 403 ") {
		t.Errorf("a guest is told %q, %v", answer, err)
	}
}
