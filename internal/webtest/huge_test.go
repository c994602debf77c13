//go:build unix

package webtest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// transferred returns how many requests whose address has something in it were answered, and how many bytes the last answer took.
func (b *browser) transferred(what string) (bytes, requests int) {
	ids := map[string]bool{}
	for _, e := range b.heard("Network.requestWillBeSent", "Network.loadingFinished") {
		var m struct {
			RequestID         string `json:"requestId"`
			EncodedDataLength float64
			Request           struct{ URL string }
		}
		if json.Unmarshal(e.Params, &m) != nil {
			continue
		}
		if e.Method == "Network.requestWillBeSent" && strings.Contains(m.Request.URL, what) {
			ids[m.RequestID] = true
		}
		if e.Method == "Network.loadingFinished" && ids[m.RequestID] {
			bytes, requests = int(m.EncodedDataLength), requests+1
		}
	}
	return bytes, requests
}

// A run of a thousand tasks: its page is not long, comes soon, and a change of one task transfers that task. The time is printed,
// and not judged.
func TestHugeRun(t *testing.T) {
	b := openBrowser(t)
	w := hugeWorld(t)
	root := w.in(b)
	var first []float64
	for range 9 {
		b.visit(root + "run?id=R1")
		first = append(first, b.must("performance.getEntriesByType('navigation')[0].responseStart - performance.getEntriesByType('navigation')[0].requestStart").(float64))
	}
	slices.Sort(first)
	size := int(b.must("performance.getEntriesByType('navigation')[0].transferSize").(float64))
	t.Logf("a run of 1,000 tasks: %d bytes, the first byte after %.0f ms (median of %.0f)", size, first[len(first)/2], first)
	if n := b.must("document.querySelectorAll('.task').length"); n != 1000.0 || size > 300_000 {
		t.Errorf("%v tasks, %d bytes", n, size)
	}
	b.until("document.getElementById('live').textContent === 'Live'")
	b.must("window.others = [...document.querySelectorAll('.task')]")
	if _, err := w.client.CancelTask(t.Context(), "R1.T-500", api.Message{Text: "not needed"}); err != nil {
		t.Fatal(err)
	}
	b.until("document.querySelector('.board section:last-child').textContent.includes('T-500')")
	var sent, updates int
	w.until("told how long the update was", func() (bool, error) {
		sent, updates = b.transferred("part=run")
		return updates > 0, nil
	})
	t.Logf("the last of %d updates took %d bytes", updates, sent)
	if sent > 10_000 {
		t.Errorf("%d updates, the last of %d bytes", updates, sent)
	}
	if n := b.must("window.others.filter((e) => e.isConnected && document.getElementById(e.id) === e).length + ' ' + document.querySelectorAll('.task').length + ' ' + document.querySelectorAll('[data-same]').length"); n != "1000 1000 0" {
		t.Errorf("of the tasks that were there: %v", n)
	}
}
