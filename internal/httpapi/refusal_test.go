package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
)

// unheard is a way to nobody.
type unheard struct{}

func (unheard) Send(context.Context, uint64, ...[]byte) error { return nil }
func (unheard) Fetch(context.Context, string) ([]byte, error) { return nil, context.Canceled }

// A refusal counts if the box has led since it was asked. If it has lost the lead and got it back meanwhile, others may have recorded what it did not know.
func TestRefusalInItsTerm(t *testing.T) {
	o := box.Options{Dir: box.Dir(t.TempDir())}
	var id uint64
	found := access.FoundCluster{Name: "a", Key: strings.Repeat("a", 64), Addresses: []string{"127.0.0.1:7443"}}
	if _, err := box.InitCluster(t.Context(), o, found, func(m access.Member) error { id = m.ID; return nil }); err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 1)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	o.Cluster = &box.Cluster{ID: id, Transport: unheard{}, Changed: tell, Tick: 5 * time.Millisecond, Elect: 3}
	b, _, err := box.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	for !b.InCluster().Leads {
		<-changed
	}
	b.Lead()
	c := clusterOf(made(t))
	h := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).WithCluster(c).Handler()
	add := func(term uint64) int {
		c.number = term
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/work", strings.NewReader(`{"id":"T-1","title":"x"}`))
		r.Header = bearer(tokenOf(b), api.KeyHeader, api.NewKey())
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	now := b.InCluster().Term
	for _, ask := range []struct {
		term uint64
		want int
	}{{now, http.StatusOK}, {now, http.StatusConflict}, {now - 1, http.StatusServiceUnavailable}} {
		if got := add(ask.term); got != ask.want {
			t.Errorf("asked in term %d, and it is %d: %d, want %d", ask.term, now, got, ask.want)
		}
	}
}
