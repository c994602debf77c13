package modeltest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

// deltas are the pieces that a Chat Completions stream has of a field.
func deltas(t *testing.T, s *modeltest.Server, field string) []string {
	t.Helper()
	resp := post(t, s.URL()+"/v1/chat/completions", chatClient().body([]said{{From: "user", Text: "go"}}, nil, true))
	defer resp.Body.Close()
	all, err := events(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	for _, e := range all {
		if p := str(e, "choices", 0, "delta", field); p != "" {
			pieces = append(pieces, p)
		}
	}
	return pieces
}

// A reply is cut at any place, but not within a character.
func TestCut(t *testing.T) {
	s := start(t, "== a\nasked: ^go\nsays: für\npieces: 1\n")
	want := map[int][]string{
		-1: {"f", "ü", "r"},
		0:  {"für"}, 1: {"f", "ür"}, 2: {"f", "ür"}, 3: {"fü", "r"}, 4: {"für"}, 99: {"für"},
	}
	for at, pieces := range want {
		s.Cut(at)
		if diff := cmp.Diff(pieces, deltas(t, s, "content")); diff != "" {
			t.Errorf("cut at %d (-want +got):\n%s", at, diff)
		}
	}
}

// A dripping answer is the same, sent in chunks of one byte.
func TestDrip(t *testing.T) {
	s := start(t, "== a\nasked: ^go\nsays: für\n")
	raw, err := json.Marshal(chatClient().body([]said{{From: "user", Text: "go"}}, nil, true))
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(s.URL(), "http://")
	ask := func() string {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", host, len(raw), raw)
		answer, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(answer), "\r\n\r\n")
		return body
	}
	whole, _ := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(ask())))
	s.Drip(true)
	var want strings.Builder
	for _, b := range whole {
		fmt.Fprintf(&want, "1\r\n%c\r\n", rune(b))
	}
	want.WriteString("0\r\n\r\n")
	var got strings.Builder
	for _, b := range []byte(ask()) {
		got.WriteRune(rune(b))
	}
	if withoutIDs(got.String()) != withoutIDs(want.String()) {
		t.Errorf("it sends\n%q\nwant\n%q", got.String(), want.String())
	}
}

// withoutIDs makes all digits one, which the ids are made of.
func withoutIDs(text string) string {
	return regexp.MustCompile("[0-9]").ReplaceAllString(text, "0")
}
