//go:build unix

package webtest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/pin/pintest"
)

// On a phone in the box's network a person opens the link, and answers a question: by TLS, with a certificate of theirs. The page is live there, and
// the browser keeps the cookie for TLS and for this name alone.
func TestPhone(t *testing.T) {
	const name = "box.example.org"
	cert := pintest.New(t, name)
	hash := sha256.Sum256(cert.Leaf.RawSubjectPublicKeyInfo)
	b := openBrowser(t, "--ignore-certificate-errors-spki-list="+base64.StdEncoding.EncodeToString(hash[:]), "--host-resolver-rules=MAP "+name+" 127.0.0.1")
	secure, err := httpapi.ListenSecure(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := openWorld(t, secure, "tls: {cert: '"+cert.Cert+"', key: '"+cert.Key+"'}")
	w.asks("Which door?")
	link, err := w.client.Page(t.Context(), api.NewPage{Scope: access.Answer, Address: name})
	if err != nil {
		t.Fatal(err)
	}
	root, _, _ := strings.Cut(link.URL, "login")
	b.screen(390, "light")
	b.visit(link.URL)
	b.push("document.querySelector('button.primary')")
	b.until("document.title.startsWith('(1) Inbox') && document.getElementById('live').textContent === 'Live'")
	if b.must("location.href") != root || b.must("isSecureContext && document.cookie === ''") != true {
		t.Errorf("the browser is at %v, and scripts are shown the cookie %v", b.must("location.href"), b.must("document.cookie"))
	}
	var kept struct {
		Cookies []struct {
			Name, Domain, Path, SameSite string
			Secure, HTTPOnly             bool
		}
	}
	b.ask("Storage.getCookies", nil, &kept)
	if len(kept.Cookies) != 1 || kept.Cookies[0].Name != "__Host-signalbox" || kept.Cookies[0].Domain != name || kept.Cookies[0].SameSite != "Strict" || !kept.Cookies[0].Secure || !kept.Cookies[0].HTTPOnly {
		t.Errorf("the browser keeps %+v", kept)
	}
	w.asks("And then?")
	b.until("document.querySelectorAll('article').length === 2") // by itself
	b.must("document.querySelector('textarea[name=text]').focus()")
	b.typed("the left one")
	b.push("document.querySelector('textarea[name=text]').form.querySelector('button')")
	b.until("location.search.includes('did=answered') && document.querySelectorAll('article').length === 1")
	if all := w.recorded(`"QuestionAnswered"`); len(all) != 1 || !strings.Contains(all[0], "the left one") || !strings.Contains(all[0], `"actor":"client:page-`) {
		t.Errorf("recorded is %q", all)
	}
	for _, view := range []string{"runs", "runners", "stats", "ledger", "settings"} {
		b.visit(root + view)
		if said := b.must("document.querySelector('h1').innerText + ' ' + getComputedStyle(document.body).fontFamily + document.getElementById('live').textContent").(string); !strings.Contains(said, "sans") {
			t.Errorf("%s says %s", view, said)
		}
	}
	if wide := b.must("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
		t.Errorf("it scrolls sideways, by %v", wide)
	}
	b.clean(root)

	stranger := openBrowser(t, "--host-resolver-rules=MAP "+name+" 127.0.0.1") // which does not know the authority
	stranger.ask("Page.navigate", map[string]any{"url": link.URL}, nil)
	stranger.until("location.href !== 'about:blank'")
	var failed struct{ ErrorText string }
	for _, e := range stranger.heard("Network.loadingFailed") {
		_ = json.Unmarshal(e.Params, &failed) // what is not that is empty
	}
	if !strings.HasPrefix(failed.ErrorText, "net::ERR_CERT") {
		t.Errorf("a browser that does not know the authority says %q", failed.ErrorText)
	}
}
