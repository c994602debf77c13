package bench

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
)

var pages = flag.Int("pages", 0, "TestPages builds the program, and has so many pages open")

// TestPages prints how many handoffs a box makes in a second with pages open, among them one whose browser never reads, beside how
// many it makes without, in turn. Each page does what the page's script does: it hears what has changed, and fetches that. It judges
// nothing but that all pages are open, and that all of them hear of a question: docs/testing.md has the figures of -pages.
func TestPages(t *testing.T) {
	open, rounds, o := 8, 1, Options{Dir: t.TempDir(), Items: 20, Clients: 8}
	if *pages > 0 {
		open, rounds, o.Items, o.Clients = *pages, 7, 1000, 64
		o.Program = filepath.Join(t.TempDir(), "signalbox")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", o.Program, "../../cmd/signalbox").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	} else {
		t.Setenv("SIGNALBOX_TEST_PROGRAM", "true") // the tests' program is the program: see TestMain
		var err error
		if o.Program, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	b, err := o.startBox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	}()
	measure := func(name string) float64 {
		t.Helper()
		if err := o.addItems(t.Context(), b, name); err != nil {
			t.Fatal(err)
		}
		made, err := o.handOver(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	measure("warm")
	var without, with []float64
	for round := range rounds {
		without = append(without, measure(fmt.Sprintf("without-%d", round)))
		p := openPages(t, b.client, open)
		with = append(with, measure(fmt.Sprintf("with-%d", round)))
		p.question(fmt.Sprintf("asked-%d", round))
		p.close()
	}
	a, c := median(without), median(with)
	t.Logf("%d pages open and one that never reads: %.0f handoffs/s; without: %.0f; ratio %.2f (without %.0f; with %.0f)", open, c, a, c/a, without, with)
}

// opened are pages that are open in a box.
type opened struct {
	t       *testing.T
	client  *api.Client
	end     context.CancelFunc
	all     sync.WaitGroup
	saw     sync.WaitGroup // those that have not seen a question that waits
	address string
	host    string
	cookie  string
}

// openPages has so many pages open, half of them the inbox and half of them the runs, and one more that never reads.
func openPages(t *testing.T, client *api.Client, n int) *opened {
	t.Helper()
	link, err := client.Page(t.Context(), api.NewPage{Scope: access.Read})
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(link.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := &opened{t: t, client: client, address: "127.0.0.1:" + at.Port(), host: at.Host}
	login := url.Values{"link": {at.Query().Get("link")}}.Encode()
	in := p.dial()
	resp := p.ask(in, bufio.NewReader(in), "POST /login HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\nContent-Length: "+fmt.Sprint(len(login)), login)
	_ = resp.Body.Close() // the cookie is in the head
	if cookies := resp.Cookies(); len(cookies) == 1 {
		p.cookie = "Cookie: " + cookies[0].Name + "=" + cookies[0].Value + "\r\n"
	} else {
		t.Fatalf("a login is answered with %s, %q", resp.Status, cookies)
	}
	_ = in.Close() // as a browser may
	var ctx context.Context
	ctx, p.end = context.WithCancel(t.Context())
	for i := range n + 1 {
		view := []string{"inbox", "runs"}[i%2]
		stream := p.dial()
		from := bufio.NewReader(stream)
		if resp := p.ask(stream, from, "GET /stream?on="+view+"&since="+fmt.Sprint(1<<40)+" HTTP/1.1", ""); resp.StatusCode != http.StatusOK { //nolint:bodyclose // it goes on until its connection is closed
			t.Fatalf("page %d of %d: %s", i+1, n, resp.Status)
		}
		context.AfterFunc(ctx, func() { _ = stream.Close() })
		if i == n {
			break // nobody reads it
		}
		fetches := p.dial()
		context.AfterFunc(ctx, func() { _ = fetches.Close() })
		p.saw.Add(1)
		p.all.Go(func() { p.show(ctx, view, bufio.NewScanner(from), fetches) })
	}
	return p
}

func (p *opened) dial() net.Conn {
	p.t.Helper()
	conn, err := new(net.Dialer).DialContext(p.t.Context(), "tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	return conn
}

// ask sends a request, of which the first lines are given, and reads the head of its answer. The answer's body is still to come.
func (p *opened) ask(to io.Writer, from *bufio.Reader, lines, body string) *http.Response {
	_, err := io.WriteString(to, lines+"\r\nHost: "+p.host+"\r\n"+p.cookie+"\r\n"+body)
	var resp *http.Response
	if err == nil {
		resp, err = http.ReadResponse(from, nil)
	}
	if err != nil {
		resp = &http.Response{Status: err.Error(), Body: http.NoBody}
	}
	return resp
}

// show does what the page's script does, until the stream ends.
func (p *opened) show(ctx context.Context, view string, lines *bufio.Scanner, fetches net.Conn) {
	path := map[string]string{"inbox": "/?part=inbox", "runs": "/runs?part=runs"}[view]
	seen := sync.OnceFunc(p.saw.Done)
	defer seen() // nobody waits for it any more
	if view == "runs" {
		seen() // there are none
	}
	from := bufio.NewReader(fetches)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "data: [") {
			continue
		}
		resp := p.ask(fetches, from, "GET "+path+" HTTP/1.1", "")
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close() // it was read
		if ctx.Err() == nil && (resp.StatusCode != http.StatusOK || err != nil) {
			p.t.Errorf("%s: %s, %v", path, resp.Status, err)
			return
		}
		if strings.Contains(string(text), "Which door?") {
			seen()
		}
	}
	if ctx.Err() == nil {
		p.t.Errorf("the stream of a page ended: %v", lines.Err())
	}
}

// question has a question asked, waits until all pages that show the inbox show it, and answers it.
func (p *opened) question(id string) {
	p.t.Helper()
	ctx := p.t.Context()
	item, err := p.client.Add(ctx, api.AddWork{ID: id, Title: "A task", Phase: phases[0]})
	if err != nil {
		p.t.Fatal(err)
	}
	grant, err := p.client.Claim(ctx, api.Claim{Work: item.ID, Actor: "bench", Wait: true})
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.client.Emit(ctx, grant.Session, []byte("SEEKING_DIVINE_CLARIFICATION\nQuestion: Which door?\n")); err != nil {
		p.t.Fatal(err)
	}
	p.saw.Wait() // what would never come runs into the test's time
	all, err := p.client.Questions(ctx)
	if err != nil || len(all) != 1 {
		p.t.Fatalf("%+v, %v", all, err)
	}
	if _, err := p.client.Answer(ctx, all[0].ID, api.Answer{Text: "the left one"}); err != nil {
		p.t.Fatal(err)
	}
}

// close closes all pages.
func (p *opened) close() {
	p.end()
	p.all.Wait()
}
