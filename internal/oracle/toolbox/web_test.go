package toolbox

import (
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// site is a web site on loopback, with its host and port.
func site(t *testing.T, h http.HandlerFunc) (base, host string) {
	t.Helper()
	s, _ := address(t, h)
	return s.URL, strings.TrimPrefix(s.URL, "http://")
}

// fetching is a toolbox that gets pages from these hosts. A busy machine has longer for each.
func fetching(t *testing.T, hosts ...string) *Toolbox {
	t.Helper()
	b := opened(t, Config{Web: Web{Enabled: true, Hosts: hosts}})
	b.web.patience = 2 * time.Minute
	return b
}

func TestFetch(t *testing.T) {
	t.Parallel()
	base, host := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html><head><title>A &amp; B</title><script>var x = '<p>no</p>'</script></head><body><p>Hello\n  <b>world</b></p></body></html>")
		case "/text":
			fmt.Fprint(w, "plain\x1b[2J text")
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"a":1}`)
		case "/image":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "12345")
		case "/missing":
			http.Error(w, "nothing here", http.StatusNotFound)
		case "/on":
			http.Redirect(w, r, "/text", http.StatusFound)
		case "/out":
			http.Redirect(w, r, "http://example.invalid/", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/large":
			w.Header().Set("Content-Type", "text/plain")
			for range 200 {
				_, _ = w.Write([]byte(strings.Repeat("x", 1<<14)))
			}
		case "/endless":
			w.Header().Set("Content-Type", "text/plain")
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(strings.Repeat("x", 1<<14)))
			}
		case "/bomb":
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 200 {
				_, _ = z.Write(make([]byte, 1<<20))
			}
			_ = z.Close()
		}
	})
	b := fetching(t, host)
	for path, want := range map[string]string{
		"/html":  "200 OK, text/html, " + base + "/html\n\nA & B\nHello world",
		"/text":  "200 OK, text/plain, " + base + "/text\n\nplain[2J text",
		"/json":  "200 OK, application/json, " + base + "/json\n\n" + `{"a":1}`,
		"/image": "200 OK, image/png, " + base + "/image\n\n[this is not text]",
		"/on":    "200 OK, text/plain, " + base + "/text\n\nplain[2J text",
	} {
		r := call(t, b, nameFetch, object{"url": base + path})
		place := strings.TrimSuffix(strings.Fields(want)[3], "\n")
		if diff := cmp.Diff(Result{Text: want, Sources: []string{place}}, r); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	for path, want := range map[string]string{
		"/missing": "404 Not Found, text/plain, " + base + "/missing\n\nnothing here",
		"/out":     "does not allow the host",
		"/file":    "only http and https",
		"/loop":    "it leads on more than 5 times",
	} {
		if r := call(t, b, nameFetch, object{"url": base + path}); !r.Failed || !strings.Contains(r.Text, want) || r.Sources != nil {
			t.Errorf("%s: %+v", path, r)
		}
	}
	if got := must(t, b, nameFetch, object{"url": base + "/large"}); len(got) > maxResult || !strings.HasSuffix(got, " bytes more were left out]") {
		t.Errorf("%d bytes: %s", len(got), got[len(got)-100:])
	}
	for _, path := range []string{"/bomb", "/endless"} {
		ends(t, func() { must(t, b, nameFetch, object{"url": base + path}) })
	}
	for address, want := range map[string]string{
		"":                     "only http and https",
		"file:///etc/passwd":   "only http and https",
		"http://":              "has no host",
		"http://a:b@" + host:   "has a user in it",
		"http://example.com/":  "does not allow the host",
		"http://[::1":          "is not an address",
		"http://" + host + "1": "does not allow the host",
		"http://a/" + strings.Repeat("x", maxURL): "is not an address",
	} {
		if r := call(t, b, nameFetch, object{"url": address}); !r.Failed || !strings.Contains(r.Text, want) {
			t.Errorf("%.60s: %+v", address, r)
		}
	}
}

func TestFetchIsOff(t *testing.T) {
	t.Parallel()
	b := opened(t, Config{Root: t.TempDir()})
	if r := call(t, b, nameFetch, object{"url": "http://example.com"}); !r.Failed || !strings.Contains(r.Text, "there is no tool") {
		t.Errorf("%+v", r)
	}
}

// Without being named, this machine is not reached: in no spelling, and not by a redirect.
func TestFetchRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	base, host := site(t, func(http.ResponseWriter, *http.Request) { t.Error("the site was reached") })
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		t.Fatal(err)
	}
	b := fetching(t)
	for _, address := range []string{
		base, "http://localhost:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://[::1]:" + port, "http://0.0.0.0:" + port, "http://169.254.169.254/latest/meta-data/",
		"http://10.0.0.1/", "http://[fd00::1]/", "http://[fe80::1%25lo]/",
	} {
		ends(t, func() {
			if r := call(t, b, nameFetch, object{"url": address}); !r.Failed || !strings.Contains(r.Text, "not on the public internet") {
				t.Errorf("%s: %+v", address, r)
			}
		})
	}
	// A place that is named leads to one that is not.
	_, named := site(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://localhost:"+port, http.StatusFound)
	})
	w := newWeb(Web{Hosts: []string{named}})
	defer w.close()
	w.client.CheckRedirect = nil // the dialler alone
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+named, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := w.client.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Error("the redirect was followed")
	} else if !strings.Contains(err.Error(), "not on the public internet") {
		t.Error(err)
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]bool{ // unnamed, named
		"8.8.8.8": {true, true}, "2606:4700::1111": {true, true}, "64:ff9b::808:808": {true, true}, "2002:808:808::1": {true, true},
		"127.0.0.1": {false, true}, "127.9.9.9": {false, true}, "10.1.2.3": {false, true}, "172.31.0.1": {false, true}, "192.168.1.1": {false, true}, "100.64.0.1": {false, true},
		"::1": {false, true}, "fd12::1": {false, true}, "::ffff:10.0.0.1": {false, true}, "64:ff9b::a00:1": {false, true}, "2002:a00:1::1": {false, true}, "::7f00:1": {false, true},
		"169.254.169.254": {}, "::ffff:169.254.169.254": {}, "64:ff9b::a9fe:a9fe": {}, "fe80::1": {}, "fe80::1%eth0": {}, "fd00:ec2::254": {}, "100.100.100.200": {}, "168.63.129.16": {},
		"224.0.0.1": {}, "255.255.255.255": {}, "ff02::1": {}, "::": {}, "2001:db8::1": {}, "2001:0:1::1": {}, "4000::1": {},
	} {
		a := netip.MustParseAddr(address)
		if got := [2]bool{reachable(a, false), reachable(a, true)}; got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
	g := guard("169.254.169.254", true)
	if err := g(context.Background(), "tcp", "169.254.169.254:80", nil); err != nil {
		t.Errorf("an address that is named itself: %v", err)
	}
	if err := guard("metadata", true)(context.Background(), "tcp", "169.254.169.254:80", nil); err == nil {
		t.Error("a name stands for the metadata")
	}
}

func TestFetchIsCancelled(t *testing.T) {
	t.Parallel()
	over, started := make(chan struct{}), make(chan struct{}, 1)
	base, host := site(t, func(_ http.ResponseWriter, r *http.Request) {
		started <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	})
	t.Cleanup(func() { close(over) })
	b := fetching(t, host)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	ends(t, func() {
		if r := b.Call(ctx, nameFetch, []byte(`{"url":"`+base+`"}`)); !r.Failed || !strings.Contains(r.Text, "was cancelled") {
			t.Errorf("%+v", r)
		}
	})
}

func TestTextOfHTML(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"":                     "",
		"plain":                "plain",
		"a < b && c > d":       "a < b && c > d",
		"<p>a<p>b":             "a\nb",
		"a<br>b<br/>c":         "a\nb\nc",
		"<ul><li>x</li><li>y":  "- x\n- y",
		"<td>a</td><td>b</td>": "a b",
		"x<b>y</b> z":          "xy z",
		"x <i> y</i>":          "x y",
		"&lt;b&gt; &eacute;&#233;&nonsense; &#x1F600;": "<b> éé&nonsense; 😀",
		"<pre>  a\n    b</pre>c":                       "a\n    b\nc",
		"<!-- <p>no --> yes":                           "yes",
		"<!-- no":                                      "",
		"<SCRIPT>if (a</b) x</script >after":           "after",
		"<script>never ends":                           "",
		"<style>p{}</style><svg><p>no</p></svg>yes":    "yes",
		`<a title="a > b" href='x">'>text</a>`:         "text",
		`<a title="never ends>text`:                    "",
		"<!DOCTYPE html><?xml?><p":                     "",
		"<":                                            "<",
		"a</":                                          "a",
		"<noscript>turn it on</noscript>x":             "x",
	} {
		if diff := cmp.Diff(want, textOfHTML(page)); diff != "" {
			t.Errorf("%q: %s", page, diff)
		}
	}
	for _, part := range []string{"<", "<a ", `<a "`, "<!--", "<script>", "</", "<script></", "&", "<p>"} {
		ends(t, func() { textOfHTML(strings.Repeat(part, maxPage/len(part))) })
	}
}

func FuzzTextOfHTML(f *testing.F) {
	f.Add("<p>a<script>b</script>&amp;<!-- c --><a href='d'>")
	f.Fuzz(func(t *testing.T, page string) {
		if text := textOfHTML(page); len(text) > 4*len(page)+10 {
			t.Errorf("%d bytes of %d", len(text), len(page))
		}
	})
}

func TestHosts(t *testing.T) {
	t.Parallel()
	w := newWeb(Web{Hosts: []string{"go.dev", "localhost:8080", "::1"}})
	for address, want := range map[string]bool{
		"https://go.dev/x": true, "http://GO.dev.": true, "http://go.dev:8443": true, "http://pkg.go.dev": false, "http://go.dev.evil.example": false,
		"http://localhost:8080": true, "http://localhost": false, "http://[::1]:9": true,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.allows(u); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}
