package records_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/records"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// An author writes a transcript as a session does, piece by piece.
type author struct {
	t      *testing.T
	dir    string
	text   []byte
	voices []session.Voice
}

func (a *author) say(from agentsig.Source, text string) {
	a.t.Helper()
	if text == "" {
		return
	}
	if n := len(a.voices); n == 0 || a.voices[n-1].From != from || len(a.text)%3 == 0 {
		v := session.Voice{Offset: int64(len(a.text)), At: time.UnixMilli(int64(1000 + len(a.voices))), From: from}
		a.voices = append(a.voices, v)
		a.add("voices", v.Line())
	}
	a.text = append(a.text, text...)
	a.add("transcript", text)
}

func (a *author) add(name, text string) {
	a.t.Helper()
	f, err := os.OpenFile(filepath.Join(a.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// want is what each speaker said in one piece, without secrets.
func (a *author) want(redact func(string) string) (text string) {
	for i := 0; i < len(a.voices); {
		j := i + 1
		for j < len(a.voices) && a.voices[j].From == a.voices[i].From {
			j++
		}
		end := len(a.text)
		if j < len(a.voices) {
			end = int(a.voices[j].Offset)
		}
		text += redact(string(a.text[a.voices[i].Offset:end]))
		i = j
	}
	return text
}

// copyTo brings a copy up to date, as far as it can be.
func copyTo(t *testing.T, s *records.Source, dir string, over bool) {
	t.Helper()
	for {
		changes, err := s.Next(over)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if err := records.Keep(filepath.Join(dir, string(c.Name)), c); err != nil {
				t.Fatal(err)
			}
		}
		if len(changes) == 0 {
			return
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

const key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nVJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDu\nictGeurT8jNbvJZHtCSuYEvu\n-----END PRIVATE KEY-----\n"

// token is a secret, put together here so that nobody who looks for secrets finds one.
var token = "ghp" + "_0123456789abcdefghijklmnopqrstuvwxyzAB"

// While a transcript grows, the copy never has a secret in it; at its end it is what each said, without secrets, and says who said what.
func TestCopyGrows(t *testing.T) {
	secrets, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	pieces := []string{"a line\n", "half", " of it\n", token, "\n", token[:10], token[10:] + "\n", "-----\n", "Authorization:\n", " Bearer abcdefgh12345678\n", strings.Repeat("x", 700) + "\n", "é\x1b[0m\n"}
	pieces = append(pieces, strings.SplitAfter(key, "\n")...)
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		a, to := &author{t: t, dir: t.TempDir()}, t.TempDir()
		s := records.NewTranscript(a.dir, secrets.Text)
		for range rnd.IntN(60) {
			from := agentsig.Source(0)
			if rnd.IntN(4) == 0 {
				from = agentsig.Tool
			}
			if rnd.IntN(10) == 0 { // a key is said in one go, by one
				const line = "VJTUt9Us8cKjMzEfYyjiWA4R4"
				copyTo(t, s, to, false)
				before := strings.Count(read(t, filepath.Join(to, "transcript")), line)
				a.say(from, "\n")
				for _, line := range strings.SplitAfter(key, "\n") {
					a.say(from, line)
					copyTo(t, s, to, false)
				}
				if after := strings.Count(read(t, filepath.Join(to, "transcript")), line); after > before {
					t.Fatalf("seed %d: a key is in the copy", seed)
				}
			}
			a.say(from, pieces[rnd.IntN(len(pieces))])
			if rnd.IntN(2) == 0 {
				copyTo(t, s, to, false)
			}
			if rnd.IntN(30) == 0 {
				s.Anew()
			}
			want := a.want(secrets.Text)
			if got := read(t, filepath.Join(to, "transcript")); got != "" && !strings.HasSuffix(got, "\n") {
				t.Fatalf("seed %d: a line is copied that has not ended: %q", seed, got)
			}
			if got := read(t, filepath.Join(to, "transcript")); secrets.Text(got) != got && secrets.Text(want) == want { // two may say the halves of one
				t.Fatalf("seed %d: a secret is in the copy:\n%s", seed, got)
			}
		}
		copyTo(t, s, to, true)
		if diff := cmp.Diff(a.want(secrets.Text), read(t, filepath.Join(to, "transcript"))); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		checkVoices(t, a, to, secrets.Text)
	}
}

// checkVoices sees that the same say the same in the copy, where what they said is in it.
func checkVoices(t *testing.T, a *author, to string, redact func(string) string) {
	t.Helper()
	voices, err := session.Voices(to)
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, filepath.Join(to, "transcript"))
	was := map[time.Time]session.Voice{}
	for _, v := range a.voices {
		was[v.At] = v
	}
	changes := 0
	for i, v := range voices {
		if was[v.At].From != v.From {
			t.Fatalf("%v speaks at %v", v.From, v.At)
		}
		if i > 0 && voices[i-1].From != v.From {
			changes++
		}
		end := min(v.Offset+4, int64(len(text)))
		at := was[v.At].Offset
		if first := string(a.text[at:min(at+4, int64(len(a.text)))]); redact(string(a.text)) == string(a.text) && text[v.Offset:end] != first {
			t.Fatalf("%v begins with %q, not %q", v, text[v.Offset:end], first)
		}
	}
	want := 0
	for i := range a.voices {
		if i > 0 && a.voices[i-1].From != a.voices[i].From {
			want++
		}
	}
	if changes != want {
		t.Fatalf("another speaks %d times, want %d", changes, want)
	}
}

// A long record is copied a piece at a time, and what is far behind is not read again.
func TestCopyLong(t *testing.T) {
	secrets, err := redact.New([]string{`BEGIN-(?s:.)*?-END`})
	if err != nil {
		t.Fatal(err)
	}
	path, to := filepath.Join(t.TempDir(), "stderr"), filepath.Join(t.TempDir(), "copy")
	var all bytes.Buffer
	for i := range 8_000 {
		fmt.Fprintf(&all, "line %d %s\n", i, strings.Repeat("word ", i%20))
		if i%1000 == 0 {
			fmt.Fprintf(&all, "it is %s here\n", token)
		}
		if i%500 == 100 {
			fmt.Fprintf(&all, "BEGIN-%s-END\n", strings.Repeat("secret\n", 1500))
		}
	}
	all.WriteString("no end")
	s := records.NewText(order.SaidStderr, path, secrets.Text)
	sent, grown := 0, 0
	for n := 0; n <= all.Len(); n += 30_011 {
		if err := os.WriteFile(path, all.Bytes()[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			changes, err := s.Next(false)
			if err != nil {
				t.Fatal(err)
			}
			more = len(changes) > 0
			for _, c := range changes {
				sent += len(c.Data)
				if err := records.Keep(to, c); err != nil {
					t.Fatal(err)
				}
			}
		}
		grown = n
	}
	if err := os.WriteFile(path, all.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		changes, err := s.Next(true)
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) == 0 {
			break
		}
		for _, c := range changes {
			sent += len(c.Data)
			if err := records.Keep(to, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, want := read(t, to), secrets.Text(all.String()); got != want {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Fatalf("the copy has %d bytes, want %d; they differ at %d: %.80q, want %.80q", len(got), len(want), at, got[at:], want[at:])
	}
	if sent > all.Len()*11/10 {
		t.Fatalf("%d bytes were sent for %d (%d before the end)", sent, all.Len(), grown)
	}
}

// A record that is begun anew is copied anew, and so is one whose copy is gone.
func TestAnew(t *testing.T) {
	dir, plain := t.TempDir(), func(s string) string { return s }
	path, to := filepath.Join(dir, "log"), filepath.Join(dir, "copy")
	s := records.NewText(order.SaidChecks, path, plain)
	copyOnce := func(over bool) error {
		changes, err := s.Next(over)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if err := records.Keep(to, c); err != nil {
				return err
			}
		}
		return nil
	}
	for _, text := range []string{strings.Repeat("x\n", 100_000), strings.Repeat("y\n", 150_000), "one\ntwo\n", "as long\n", "other\ntwo and more\n", "o\n"} {
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		if err := copyOnce(false); err != nil {
			t.Fatal(err)
		}
		if got := read(t, to); got != text {
			t.Fatalf("the copy is %.80q, want %.80q", got, text)
		}
	}
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("o\nmore"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := copyOnce(true); !errors.Is(err, records.ErrGap) {
		t.Fatalf("the change was made to no copy: %v", err)
	}
	s.Anew()
	if err := copyOnce(true); err != nil || read(t, to) != "o\nmore" {
		t.Fatalf("%v: %q", err, read(t, to))
	}
}

// What no copy can become is refused, and nothing else is written over.
func TestKeepRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "transcript")
	for _, c := range []struct {
		change records.Change
		want   error
	}{
		{records.Change{Name: "../box.json"}, records.ErrName},
		{records.Change{Name: ""}, records.ErrName},
		{records.Change{Name: order.SaidTranscript, At: -1}, records.ErrLong},
		{records.Change{Name: order.SaidTranscript, At: records.Most, Data: []byte("x")}, records.ErrLong},
		{records.Change{Name: order.SaidTranscript, At: 1 << 62, Data: []byte("x")}, records.ErrLong},
		{records.Change{Name: order.SaidTranscript, At: 1, Data: []byte("x")}, records.ErrGap},
	} {
		if err := records.Keep(path, c.change); !errors.Is(err, c.want) {
			t.Errorf("%q at %d: %v, want %v", c.change.Name, c.change.At, err, c.want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Fatalf("%v %v", entries, err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	if err := records.Keep(path, records.Change{Name: order.SaidTranscript, At: 2, Data: []byte("ours")}); err == nil {
		t.Error("a link was followed")
	}
	if err := records.Keep(path, records.Change{Name: order.SaidTranscript, Data: []byte("ours")}); err != nil {
		t.Error(err)
	}
	if err := records.Keep(path, records.Change{Name: order.SaidTranscript, At: 1, Data: []byte("ld")}); err != nil || read(t, path) != "old" {
		t.Errorf("%v: %q", err, read(t, path))
	}
	if err := records.Keep(path, records.Change{Name: order.SaidTranscript, At: 5, Data: []byte("x")}); !errors.Is(err, records.ErrGap) {
		t.Errorf("a copy has a hole: %v", err)
	}
	if got := read(t, other) + read(t, path); got != "theirs"+"old" {
		t.Errorf("%q", got)
	}
}
