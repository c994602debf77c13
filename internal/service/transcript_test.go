package service

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/web"
)

// told makes what several say in turn, with secrets of one line and of many, long lines and lines that are written over.
func told(r *rand.Rand, most int) (text string, voices []session.Voice, secrets []string) {
	var b strings.Builder
	token := func(n int) string {
		var s strings.Builder
		for range n {
			s.WriteByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[r.IntN(62)])
		}
		return s.String()
	}
	for i := 0; b.Len() < most; i++ {
		voices = append(voices, session.Voice{Offset: int64(b.Len()), At: time.UnixMilli(int64(i)), From: []agentsig.Source{agentsig.Voice, agentsig.Tool, agentsig.Prompt}[r.IntN(3)]})
		for range r.IntN(40) {
			switch r.IntN(9) {
			case 0:
				secrets = append(secrets, "ghp_"+token(36))
				fmt.Fprintf(&b, "the token is %s and good\n", secrets[len(secrets)-1])
			case 1:
				b.WriteString("-----BEGIN RSA PRIVATE KEY-----\n")
				for range 1 + r.IntN(30) {
					secrets = append(secrets, token(64))
					b.WriteString(secrets[len(secrets)-1] + "\n")
				}
				b.WriteString("-----END RSA PRIVATE KEY-----\n")
			case 2:
				b.WriteString("10%\r20%\r\n")
			case 3:
				b.WriteString(strings.Repeat("ä long line ", r.IntN(300)) + "\n")
			default:
				fmt.Fprintf(&b, "line %d\n", b.Len())
			}
		}
		b.WriteString("no end")
	}
	return b.String(), voices, secrets
}

// shown is what a stretch has, and fails the test if a secret, or a piece of one, is seen.
func shown(t *testing.T, p web.Printed, secrets []string) string {
	t.Helper()
	var text strings.Builder
	for _, part := range p.Parts {
		text.WriteString(part.Text)
	}
	for _, s := range secrets {
		for at := 0; at+20 <= len(s); at += 10 {
			if strings.Contains(text.String(), s[at:at+20]) {
				t.Fatalf("a piece of %s is seen in\n%.2000s", s, text.String())
			}
		}
	}
	return text.String()
}

// Who goes back through a transcript stretch by stretch sees all of it, each line once, and no piece of a secret; each stretch is bounded.
func TestStretches(t *testing.T) {
	known, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		text, voices, secrets := told(r, 60_000)
		var whole strings.Builder
		for _, one := range spansOf(voices, 0, len(text)) {
			whole.WriteString(known.Text(text[one.from:one.to]))
		}
		s := web.Stretch{Lines: 60 + r.IntN(200), Bytes: 8000 + r.IntN(20_000)}
		got := ""
		for pages := 0; ; pages++ {
			at := len(text)
			if s.Before > 0 {
				at = int(s.Before)
			}
			from := max(0, at-s.Bytes-2*secretMargin)
			p, err := transcript{text[from:], int64(from), spansOf(voices, int64(from), len(text)-from), known.Text}.before(at-from, s)
			if err != nil {
				t.Fatalf("seed %d: before %d: %v", seed, at, err)
			}
			one := shown(t, p, secrets)
			if lines := strings.Count(one, "\n") + strings.Count(one, "\r"); lines > 2*s.Lines || len(one) > s.Bytes {
				t.Errorf("seed %d: a stretch has %d lines, %d bytes; %+v", seed, lines, len(one), s)
			}
			if got = one + got; p.Begin == 0 {
				break
			}
			if p.Begin >= int64(at) || pages > 1000 {
				t.Fatalf("seed %d: what stands before %d begins at %d", seed, at, p.Begin)
			}
			s.Before = p.Begin
		}
		if got != whole.String() {
			t.Errorf("seed %d: %d bytes of %d are shown", seed, len(got), whole.Len())
		}
	}
}

// Whatever place somebody asks for: no piece of a secret is seen there.
func TestStretchAnywhere(t *testing.T) {
	known, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	text, voices, secrets := told(r, 300_000)
	for range 60 {
		at := r.IntN(len(text))
		s := web.Stretch{Before: int64(at) + 1, Lines: 1 + at%7, Bytes: 100 + at%400}
		from := max(0, at-s.Bytes-2*secretMargin)
		p, err := transcript{text[from:], int64(from), spansOf(voices, int64(from), len(text)-from), known.Text}.before(at-from, s)
		if err != nil && !errors.Is(err, errNoCut) {
			t.Fatal(err)
		}
		shown(t, p, secrets)
	}
}

// A line that is longer than there is room for is shown piece by piece; what is one secret all over is not.
func TestStretchOfOneLine(t *testing.T) {
	known, err := redact.New([]string{`Z+`})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		want error
	}{{strings.Repeat("ä", 100_000), nil}, {strings.Repeat("Z", 200_000), errNoCut}} {
		tr := transcript{c.text, 0, spansOf(nil, 0, len(c.text)), known.Text}
		p, err := tr.before(len(c.text), web.Stretch{Lines: 10, Bytes: 1000})
		if !errors.Is(err, c.want) || err == nil && (len(p.Parts) != 1 || len(p.Parts[0].Text) != 1000 || p.Begin != 199_000) {
			t.Errorf("%.10s: %d, %+.200v, %v", c.text, p.Begin, p, err)
		}
	}
}
