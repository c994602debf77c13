//go:build unix

package webtest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// clean fails the test if the browser has asked anybody else for anything, has run what it should not, or complains.
func (b *browser) clean(root string) {
	b.t.Helper()
	for _, e := range b.heard("Network.requestWillBeSent") {
		var sent struct{ Request struct{ URL string } }
		if err := json.Unmarshal(e.Params, &sent); err != nil || !strings.HasPrefix(sent.Request.URL, root) {
			b.t.Errorf("the browser asked for %s, %v", sent.Request.URL, err)
		}
	}
	for _, e := range b.heard("Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening", "Page.windowOpen", "Page.downloadWillBegin") {
		b.t.Errorf("the browser says %s: %s", e.Method, e.Params)
	}
}

// odd is what a page has that none has: elements, attributes and links that the page's templates do not make, and characters that
// nobody sees in what it shows.
const odd = `(() => {
  const tags = new Set('a article body button caption circle code dd details div dl dt form g h1 h2 h3 h4 head header html img input label legend li line link main meta nav ol option p path pre progress rect script section select small span strong summary svg table tbody td text textarea tfoot th thead time title tr tspan ul fieldset polyline polygon'.split(' '));
  const found = [];
  for (const e of document.querySelectorAll('*')) {
    if (!tags.has(e.localName)) found.push('<' + e.localName + '>');
    for (const a of e.attributes) {
      if (a.name.startsWith('on') || a.name === 'style' || a.name === 'srcdoc' || a.name === 'formaction' || a.name === 'xlink:href') found.push(e.localName + ' ' + a.name);
      if (['href', 'src', 'action', 'data', 'poster'].includes(a.name) && !new URL(a.value, location.href).href.startsWith(location.origin + '/')) found.push(e.localName + ' ' + a.name + '=' + a.value);
    }
  }
  const scripts = [...document.scripts].map((s) => s.getAttribute('src')).join();
  if (scripts !== 'idiomorph.js,page.js' && scripts !== '') found.push('scripts ' + scripts);
  const text = [...document.querySelectorAll('body *')].filter((e) => !e.matches('textarea')).flatMap((e) => [...e.childNodes, ...e.attributes]).filter((n) => n.nodeType === 3 || n.nodeType === 2 && n.name !== 'value' && n.name !== 'href').map((n) => n.nodeValue).join(' ');
  const unseen = text.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\ufeff\ufff9-\ufffc]/u);
  if (unseen) found.push('U+' + unseen[0].codePointAt(0).toString(16) + ' in ' + text.slice(Math.max(0, unseen.index - 50), unseen.index + 50));
  if (window.pwned !== undefined) found.push('pwned');
  return found.slice(0, 20).join('; ');
})()`

// Hostile strings in every field that a plan or an agent has the say of are shown in every view, and do nothing: no dialog, no script,
// no request to elsewhere, no complaint of the browser's, no element that the page does not make. A live update changes none of that.
func TestHostile(t *testing.T) {
	b := openBrowser(t)
	w := hostileWorld(t)
	root := w.in(b)
	for _, view := range views(t) {
		if view == "nowhere" {
			continue // the browser says that there is nothing
		}
		b.visit(root + view)
		if found := b.must(odd); found != "" {
			t.Errorf("%q has %v", view, found)
		}
		if slices.Contains([]string{"", "run?id=R1", "run?id=R1&view=plan", "task?id=R1.T-1"}, view) {
			if n := b.must("document.body.textContent.split('alert(1)').length").(float64); n < 20 {
				t.Errorf("%q shows %v of the strings: they are not there", view, n)
			}
		}
	}
	b.visit(root)
	b.until("document.getElementById('live').textContent === 'Live'")
	w.asks("<img src=x onerror=alert(1)> \u202e once more")
	b.until("document.body.textContent.includes('once more')")
	if found := b.must(odd); found != "" {
		t.Errorf("after an update the inbox has %v", found)
	}
	b.clean(root)
}
