package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price/fetch"
)

const (
	key    = "0123456789abcdef0123456789abcdef"
	header = "date,close,high,low,open,volume,adjClose,adjHigh,adjLow,adjOpen,adjVolume,divCash,splitFactor\n"
)

var (
	from = portfolio.NewDate(2024, 1, 2)
	to   = portfolio.NewDate(2024, 1, 31)
)

// provider is one that answers with handler.
func provider(t *testing.T, handler http.HandlerFunc) fetch.Provider {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return fetch.Provider{URL: server.URL, Key: key, Client: server.Client()}
}

// answering is a handler that answers always the same.
func answering(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestFetch(t *testing.T) {
	var asked, authorization string
	p := provider(t, func(w http.ResponseWriter, r *http.Request) {
		asked, authorization = r.Method+" "+r.URL.String(), r.Header.Get("Authorization")
		fmt.Fprint(w, header+
			"2024-01-02,21.65,22.08,21.5,21.93,17000000,20.9,21.3,20.75,21.2,17000000,0.0,1.0\n"+
			"2024-01-03,21.02,21.4,20.97,21.33,15000000,20.3,20.7,20.2,20.6,15000000,0.0,1.0\n")
	})
	quotes, err := p.Fetch(t.Context(), "brk.b", from, to)
	if err != nil {
		t.Fatal(err)
	}
	if want := "GET /tiingo/daily/BRK-B/prices?endDate=2024-01-31&format=csv&startDate=2024-01-02"; asked != want {
		t.Errorf("asked %s, want %s", asked, want)
	}
	if authorization != "Token "+key {
		t.Errorf("Authorization is %q", authorization)
	}
	var got []string
	for _, q := range quotes {
		got = append(got, fmt.Sprint(q.Symbol, q.Date, q.Open, q.High, q.Low, q.Close, q.Adj))
	}
	want := []string{
		fmt.Sprint("BRK.B", "2024-01-02", 21.93, 22.08, 21.5, 21.65, 20.9),
		fmt.Sprint("BRK.B", "2024-01-03", 21.33, 21.4, 20.97, 21.02, 20.3),
	}
	if diff := cmp.Diff(strip(want), strip(got)); diff != "" {
		t.Error(diff)
	}
}

func strip(s []string) []string {
	for i := range s {
		s[i] = strings.ReplaceAll(s[i], " ", "")
	}
	return s
}

func TestFetchNothing(t *testing.T) {
	for _, body := range []string{"", "\n", "[]", header} {
		quotes, err := provider(t, answering(200, body)).Fetch(t.Context(), "SLV", from, to)
		if err != nil || len(quotes) > 0 {
			t.Errorf("%q: %v, %v; want no prices", body, quotes, err)
		}
	}
}

func TestFetchOddSymbolStaysInThePath(t *testing.T) {
	for symbol, want := range map[string]string{
		"A?B#C": "/tiingo/daily/A%3FB%23C/prices",
		"A%2FB": "/tiingo/daily/A%252FB/prices",
		"../X":  "/tiingo/daily/---X/prices",
		"..":    "/tiingo/daily/--/prices",
		"^GSPC": "/tiingo/daily/%5EGSPC/prices",
	} {
		var asked string
		p := provider(t, func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.EscapedPath() })
		if _, err := p.Fetch(t.Context(), symbol, from, to); err != nil {
			t.Error(err)
		}
		if asked != want {
			t.Errorf("%s: asked for %s, want %s", symbol, asked, want)
		}
	}
}

func TestFetchErrors(t *testing.T) {
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		is      error
		text    string
	}{
		{"key refused", answering(401, `{"detail":"Invalid token `+key+`"}`), fetch.ErrKeyRefused, "SLV: the price provider refuses the key (status 401 from HOST): check the key and what it may be used for"},
		{"forbidden", answering(403, ""), fetch.ErrKeyRefused, "status 403"},
		{"unknown symbol", answering(404, `{"detail":"Not found."}`), fetch.ErrUnknownSymbol, "SLV: the price provider does not know the symbol (status 404 from HOST)"},
		{"out of order", answering(503, "<html>"), fetch.ErrUnavailable, "SLV: the price provider is out of order; try again later (status 503 from HOST)"},
		{"another status", answering(418, "I am a \x1b[31mteapot, "+key), fetch.ErrAnswer, `(status 418 from HOST): I am a \x1b[31mteapot, [key]`},
		{"web page", answering(200, "<!DOCTYPE html><title>Log in</title>"), fetch.ErrAnswer, "SLV: the price provider answered something else than prices: a web page; either HOST is not its address"},
		{"JSON error", answering(200, `{"detail":"Error: the key `+key+` is spent"}`), fetch.ErrAnswer, `{"detail":"Error: the key [key] is spent"}`},
		{"text error", answering(200, "Error: \u202eover the limit"), fetch.ErrAnswer, `Error: \u202eover the limit`},
		{"other columns", answering(200, "Date,Open,High,Low,Close,Volume\n2024-01-02,1,1,1,1,1\n"), fetch.ErrAnswer, "Date,Open,High,Low,Close,Volume"},
		{"too large", answering(200, header+strings.Repeat("x", 33<<20)), fetch.ErrAnswer, "more than 33554432 bytes"},
		{"cut off", answering(200, header, "Content-Length", "100000"), nil, "SLV: no prices from HOST: unexpected EOF"},
		{"hang up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, "SLV: no prices from HOST: EOF"},
		{"round and round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }, nil, "it sends on without end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := provider(t, test.handler)
			quotes, err := p.Fetch(t.Context(), "SLV", from, to)
			if err == nil || quotes != nil {
				t.Fatalf("%v, %v; want an error", quotes, err)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
			want := strings.ReplaceAll(test.text, "HOST", strings.TrimPrefix(p.URL, "http://"))
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error is\n%s\nwant\n%s", err, want)
			}
			if text := fmt.Sprintf("%v %+v", err, p); strings.Contains(text, key) {
				t.Errorf("the key shows: %s", text)
			}
		})
	}
}

func TestFetchLimit(t *testing.T) {
	for _, test := range []struct {
		headers []string
		want    time.Duration
		text    string
	}{
		{[]string{"Retry-After", "90"}, 90 * time.Second, "wait 1m30s"},
		{[]string{"Retry-After", "Wed, 21 Oct 2026 08:28:00 GMT", "Date", "Wed, 21 Oct 2026 07:28:00 GMT"}, time.Hour, "wait 1h0m0s"},
		{[]string{"Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"}, 0, "wait an hour or until tomorrow"},
		{[]string{"Retry-After", "-5"}, 0, "wait an hour"},
		{[]string{"Retry-After", "soon"}, 0, "wait an hour"},
		{nil, 0, "wait an hour"},
	} {
		_, err := provider(t, answering(429, "", test.headers...)).Fetch(t.Context(), "SLV", from, to)
		var limit *fetch.LimitError
		if !errors.As(err, &limit) || limit.Retry != test.want || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%v: %v, want %v and %q", test.headers, err, test.want, test.text)
		}
	}
}

func TestFetchReportsSkippedRows(t *testing.T) {
	p := provider(t, answering(200, header+
		"2024-01-02,21.65,22.08,21.5,21.93,1,20.9,1,1,1,1,0.0,1.0\n"+
		"2024-01-03,"+key+",21.4,20.97,21.33,1,20.3,1,1,1,1,0.0,1.0\n"+
		"2024-01-04,0,0,0,0,1,20.3,1,1,1,1,0.0,1.0\n"))
	quotes, err := p.Fetch(t.Context(), "SLV", from, to)
	var skipped *fetch.SkippedError
	if !errors.As(err, &skipped) || len(skipped.Rows) != 2 || len(quotes) != 1 {
		t.Fatalf("%v, %v; want one price and two rows left out", quotes, err)
	}
	if want := `SLV: 2 rows of the price provider's answer were left out; the first is line 3: the close "[key]" is not a number`; err.Error() != want {
		t.Errorf("the error is\n%s\nwant\n%s", err, want)
	}
	if strings.Contains(fmt.Sprintf("%+v", *skipped), key) {
		t.Error("the key shows")
	}
}

func TestFetchKeepsTheKeyFromOtherHosts(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(other.Close)
	p := provider(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/?token="+key, http.StatusFound)
	})
	_, err := p.Fetch(t.Context(), "SLV", from, to)
	if err == nil || reached || !strings.Contains(err.Error(), "where the key must not go") || strings.Contains(err.Error(), key) {
		t.Errorf("reached is %v, the error %v", reached, err)
	}
}

func TestFetchFollowsItsOwnHost(t *testing.T) {
	p := provider(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/moved" {
			http.Redirect(w, r, "/moved", http.StatusMovedPermanently)
			return
		}
		fmt.Fprint(w, header+"2024-01-02,21.65,22.08,21.5,21.93,1,20.9,1,1,1,1,0.0,1.0\n")
	})
	if quotes, err := p.Fetch(t.Context(), "SLV", from, to); err != nil || len(quotes) != 1 {
		t.Errorf("%v, %v; want one price", quotes, err)
	}
}

func TestFetchCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := provider(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := p.Fetch(ctx, "SLV", from, to); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

func TestFetchNotConfigured(t *testing.T) {
	for _, p := range []fetch.Provider{
		{},
		{URL: "https://prices.example"},
		{Key: key},
		{URL: "prices.example", Key: key},
		{URL: "ftp://prices.example", Key: key},
		{URL: "http://prices.example", Key: key},
		{URL: "https://prices.example/?token=" + key, Key: key},
		{URL: "https://" + key + "@prices.example", Key: key},
		{URL: "https://prices.example/\x7f" + key, Key: key},
		{URL: "https://prices.example", Key: key + "\n"},
	} {
		_, err := p.Fetch(t.Context(), "SLV", from, to)
		if !errors.Is(err, fetch.ErrNotConfigured) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestFetchRefusesBadQuestions(t *testing.T) {
	p := provider(t, func(http.ResponseWriter, *http.Request) { t.Error("it asked") })
	if _, err := p.Fetch(t.Context(), "S LV", from, to); err == nil {
		t.Error("a symbol with a blank is none")
	}
	if _, err := p.Fetch(t.Context(), "SLV", to, from); err == nil {
		t.Error("the days are the wrong way round")
	}
	if _, err := p.Fetch(t.Context(), "SLV", portfolio.Date{}, to); err == nil {
		t.Error("there is no first day")
	}
}
