package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openBox opens a box in a directory of its own until the test ends.
func openBox(t *testing.T) *box.Box {
	t.Helper()
	b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(t.TempDir()), ExitEnabled: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// tokenOf returns the token that requests to a box need.
func tokenOf(b *box.Box) string {
	token, _ := b.Tokens()
	return token
}

// serve lets a box answer on a real socket, as the program does, until the test ends.
func serve(t *testing.T) (address, token, gate string) {
	t.Helper()
	b := openBox(t)
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	token, gate = b.Tokens()
	return l.Addr().String(), token, gate
}

// Who can't have the address is told what to do.
func TestListenTaken(t *testing.T) {
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	address := l.Addr().String()
	if _, err := Listen(t.Context(), address); err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "name another address") {
		t.Errorf("a second box on %s: %v", address, err)
	}
}

// A box that is started again listens where it did, unless somebody has that port by now, or a port is named.
func TestListenAgain(t *testing.T) {
	dir := box.Dir(filepath.Join(t.TempDir(), "box"))
	if port := dir.LastPort(); port != 0 {
		t.Fatalf("a box that never was had port %d", port)
	}
	start := func(address string) (port uint16) {
		t.Helper()
		l, err := ListenAgain(t.Context(), address, dir.LastPort())
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := box.Open(t.Context(), box.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // it has announced itself by then
		if err := errors.Join(New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Serve(ctx, l), b.Close()); err != nil {
			t.Error(err)
		}
		return l.Addr().(*net.TCPAddr).AddrPort().Port()
	}
	first := start("127.0.0.1:0")
	if dir.LastPort() != first {
		t.Errorf("it listened on %d, and %d is kept", first, dir.LastPort())
	}
	somebody, err := Listen(t.Context(), fmt.Sprintf("127.0.0.1:%d", first))
	if err != nil {
		t.Skipf("somebody else has taken port %d meanwhile: %v", first, err)
	}
	second := start("127.0.0.1:0")
	if second == first || dir.LastPort() != second {
		t.Errorf("it listens on %d, which was taken, and keeps %d", second, dir.LastPort())
	}
	if err := somebody.Close(); err != nil {
		t.Fatal(err)
	}
	named, err := ListenAgain(t.Context(), fmt.Sprintf("127.0.0.1:%d", first), second)
	if err != nil {
		t.Skipf("somebody else has taken port %d meanwhile: %v", first, err)
	}
	defer named.Close()
	if got := named.Addr().(*net.TCPAddr).AddrPort().Port(); got != first {
		t.Errorf("port %d is named, and it listens on %d", first, got)
	}
	taken := 0
	for range 10 { // another program's connection may have the port for a moment
		again, err := ListenAgain(t.Context(), "127.0.0.1:0", second)
		if err != nil {
			t.Fatal(err)
		}
		if again.Addr().(*net.TCPAddr).AddrPort().Port() != second {
			taken++
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if taken == 10 {
		t.Errorf("it listened on %d before, and does not again", second)
	}
	for _, text := range []string{"", "x", "0", "65536", "-1", "80 80"} {
		if err := os.WriteFile(filepath.Join(string(dir), "port"), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if port := dir.LastPort(); port != 0 {
			t.Errorf("%q is port %d", text, port)
		}
	}
}

// A box for a single request is found by nobody else: it would be gone before it was asked.
func TestUnlisted(t *testing.T) {
	dir := box.Dir(filepath.Join(t.TempDir(), "box"))
	for _, unlisted := range []bool{true, false} {
		b, _, err := box.Open(t.Context(), box.Options{Dir: dir, Unlisted: unlisted})
		if err != nil {
			t.Fatal(err)
		}
		l, err := Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Serve(ctx, l) }()
		client := api.NewClient(l.Addr().String(), tokenOf(b))
		if _, err := client.Status(t.Context()); err != nil {
			t.Error(err)
		}
		if address, err := dir.Address(); (err == nil) == unlisted || unlisted && !errors.Is(err, api.ErrNotRunning) {
			t.Errorf("unlisted %v: its address is %q, %v", unlisted, address, err)
		}
		client.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if address, err := dir.Address(); !errors.Is(err, api.ErrNotRunning) {
			t.Errorf("it answers no more, and its address is %q, %v", address, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// fetch asks a box for a path.
func fetch(t *testing.T, address, path, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// A box whose disk fails says so, to whoever asks on a new connection, before it stops.
func TestCannotWrite(t *testing.T) {
	dir := box.Dir(t.TempDir())
	disk := &archivetest.Failing{FS: archive.Dir(dir.Archive(""))}
	b, _, err := box.Open(t.Context(), box.Options{Dir: dir, Files: disk})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Serve(ctx, listener) }()
	address := listener.Addr().String()
	if code, body := fetch(t, address, "/readyz", ""); code != http.StatusOK || body != "ok\n" {
		t.Fatalf("%d %s", code, body)
	}
	if s := b.Status(); !s.Box.Writable || s.Box.Reason != "" {
		t.Errorf("%+v", s.Box)
	}
	disk.Broken.Store(true)
	if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "a title"}, ""); err == nil {
		t.Fatal("acknowledged")
	}
	<-b.Done()
	code, body := fetch(t, address, "/readyz", "")
	var p api.ProblemDetails
	if err := json.Unmarshal([]byte(body), &p); err != nil || code != http.StatusServiceUnavailable || p.Status != code ||
		p.Type != "urn:signalbox:problem:cannot-write" || p.Code != api.CodeCannotWrite || !strings.Contains(p.Detail, archivetest.ErrDisk.Error()) {
		t.Errorf("%d %s, %v", code, body, err)
	}
	code, body = fetch(t, address, "/v1/status", tokenOf(b))
	var s api.Status
	if err := json.Unmarshal([]byte(body), &s); err != nil || code != http.StatusOK || s.Box.Writable || !strings.Contains(s.Box.Reason, archivetest.ErrDisk.Error()) {
		t.Errorf("%d %s, %v", code, body, err)
	}
	cancel() // the operator does not want to wait
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := b.Close(); !errors.Is(err, archivetest.ErrDisk) {
		t.Error(err)
	}
}

// A box that failed stops by itself, soon; one that was told to stop does so at once.
func TestTellFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, end := context.WithCancel(t.Context())
		end()
		failed := fmt.Errorf("%w: the disk is full", box.ErrCannotWrite)
		for _, s := range []struct {
			why  error
			ctx  context.Context
			want time.Duration
		}{{failed, t.Context(), failedListen}, {failed, ended, 0}, {box.ErrStopping, t.Context(), 0}} {
			begun := time.Now()
			tellFailure(s.ctx, s.why)
			if took := time.Since(begun); took != s.want {
				t.Errorf("%v: %v, not %v", s.why, took, s.want)
			}
		}
	})
}

// ask sends a request with a token on a connection, and returns the status of the answer and whether
// the connection stays.
func ask(t *testing.T, c net.Conn, head, token, body string) (status int, stays bool) {
	t.Helper()
	if token != "" {
		head += "\r\nAuthorization: Bearer " + token
	}
	if _, err := fmt.Fprintf(c, "%s\r\nHost: x\r\n\r\n%s", head, body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, !resp.Close
}

// Whoever has no token is answered once: whatever is asked, and whatever of the request does not come,
// the connection ends. Whoever has it stays.
func TestRefusedConnection(t *testing.T) {
	address, token, gate := serve(t)
	const add = "POST /v1/work HTTP/1.1\r\nContent-Length: 13"
	for _, c := range []struct {
		name, head, token, body string
		status                  int
		stays                   bool
	}{
		{"no token", add, "", "", 401, false},
		{"another token", add, "x", `{"title":"x"}`, 401, false},
		{"the gate's token", add, gate, `{"title":"x"}`, 403, false},
		{"the API's token for the gate", "POST /v1/work/x/gate HTTP/1.1\r\nContent-Length: 2", token, "{}", 403, false},
		{"no such thing", "GET /v2 HTTP/1.1", "", "", 404, false},
		{"another method", "PUT /v1/work HTTP/1.1\r\nContent-Length: 2", "", "", 405, false},
		{"how it is", "GET /healthz HTTP/1.1", "", "", 200, false},
		{"whether it is ready", "POST /readyz HTTP/1.1\r\nContent-Length: 1000", "", "", 405, false},
		{"the token", add, token, `{"title":"x"}`, 200, true},
		{"the gate, and the token", "POST /v1/work/x/gate HTTP/1.1\r\nContent-Length: 2", gate, "{}", 404, true},
	} {
		for _, first := range []bool{true, false} {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			if !first { // on a connection that is known
				if status, stays := ask(t, conn, "GET /v1/status HTTP/1.1", token, ""); status != 200 || !stays {
					t.Fatalf("status %d, %v", status, stays)
				}
				if c.status == 404 || c.status == 405 || c.status == 200 {
					c.stays = true
				}
				c.head = strings.Replace(c.head, "1000", "0", 1) // it would be waited for
				if strings.Contains(c.head, "PUT") {
					c.body = "{}"
				}
			}
			status, stays := ask(t, conn, c.head, c.token, c.body)
			if status != c.status || stays != c.stays {
				t.Errorf("%s, first %v: status %d, stays %v", c.name, first, status, stays)
			}
			if !stays {
				if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
					t.Errorf("%s: after the answer: %d bytes, %v", c.name, n, err)
				}
			}
			_ = conn.Close()
		}
	}
}
