package box_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/box"
)

// served is a box that answers on a real socket, as the program's does.
type served struct {
	*bench
	address string
}

// serve starts a box and lets it answer until the test ends.
func serve(t *testing.T) *served {
	t.Helper()
	u := up(t, t.TempDir())
	l, err := box.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- u.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &served{u, l.Addr().String()}
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
	u := serve(t)
	token, gate := u.token(t, "api.token"), u.token(t, "gate.token")
	const add = "POST /v1/work HTTP/1.1\r\nContent-Length: 13"
	for _, c := range []struct {
		name, head, token, body string
		status                  int
		stays                   bool
	}{
		{"no token", add, "", "", 401, false},
		{"another token", add, "x", `{"title":"x"}`, 401, false},
		{"the gate's token", add, gate, `{"title":"x"}`, 401, false},
		{"the API's token for the gate", "POST /v1/work/x/gate HTTP/1.1\r\nContent-Length: 2", token, "{}", 403, false},
		{"no such thing", "GET /v2 HTTP/1.1", "", "", 404, false},
		{"another method", "PUT /v1/work HTTP/1.1\r\nContent-Length: 2", "", "", 405, false},
		{"how it is", "GET /healthz HTTP/1.1", "", "", 200, false},
		{"whether it is ready", "POST /readyz HTTP/1.1\r\nContent-Length: 1000", "", "", 405, false},
		{"the token", add, token, `{"title":"x"}`, 200, true},
		{"the gate, and the token", "POST /v1/work/x/gate HTTP/1.1\r\nContent-Length: 2", gate, "{}", 404, true},
	} {
		for _, first := range []bool{true, false} {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.address)
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
