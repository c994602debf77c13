package redact

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// pieces are what random texts are made of.
func pieces() []string {
	all := []string{`"`, `\`, "\n", "\t", " ", "-----", "://", ":", "@", "u:", "[", "]", "[redacted:jwt]", "é", "<", "&", "n", "_", "Authorization: Bearer ", "secret_access_key=", "\x1b[0m"}
	for _, s := range samples {
		all = append(all, s.secret, s.secret[:len(s.secret)/2])
	}
	for _, k := range kinds {
		all = append(all, k.prefixes...)
	}
	return append(all, leftAlone...)
}

func TestRandomTexts(t *testing.T) {
	r, listing := redactor(t), redactor(t, `u.?`, `(?i)bearer \S+`)
	rnd := rand.New(rand.NewPCG(3, 4))
	pieces := pieces()
	for range 5_000 {
		var b strings.Builder
		for range rnd.IntN(8) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		checkProperties(t, r, b.String())
		once := listing.Text(b.String())
		if again := listing.Text(once); again != once {
			t.Fatalf("%q becomes %q and then %q", b.String(), once, again)
		}
	}
}

// checkProperties holds for every text: redacting twice changes nothing, and JSON
// stays JSON, also JSON in JSON.
func checkProperties(t *testing.T, r *Redactor, s string) {
	t.Helper()
	once := r.Text(s)
	if again := r.Text(once); again != once {
		t.Fatalf("%q becomes %q and then %q", s, once, again)
	}
	if json.Valid([]byte(s)) && !json.Valid([]byte(once)) {
		t.Fatalf("%q is JSON, and %q is not", s, once)
	}
	value, depth := any(map[string]any{s: []string{s, "x"}}), 3
	for range depth {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		redacted := r.Bytes(encoded)
		if !json.Valid(redacted) {
			t.Fatalf("%s became %s, which is not JSON", encoded, redacted)
		}
		value = string(encoded)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range pieces() {
		f.Add(s)
		f.Add(`{"a":"` + s + `"}`)
	}
	r := redactor(f)
	f.Fuzz(func(t *testing.T, s string) { checkProperties(t, r, s) })
}

// If the time were not linear, most of these would take minutes, and the test would not end
// in its time.
func TestHostileTextsTakeLinearTime(t *testing.T) {
	r := redactor(t)
	texts := []string{
		"-", "eyJ-", "eyJ.", "%41eyJ", `\neyJ`, "eyJaaaaaaaaaaaa.", "://a:", "://a:a@", "a://:b:c", "SG.-", `\`, `\u0041`, "[redacted:", "[redacted:jwt]", "[0m",
		begin("PRIVATE KEY"), begin("PRIVATE KEY") + "\n", begin("PRIVATE KEY") + " Comment: ", begin("PRIVATE KEY") + " a",
		begin("PRIVATE KEY") + strings.Repeat("a b ", 1000), "authorization: bearer ", "secret_access_key= ", "hooks.slack.com/services/",
	}
	for _, k := range kinds {
		texts = append(texts, k.prefixes[0], k.prefixes[0]+" ")
	}
	for _, unit := range texts {
		const size = 64 << 10
		r.Text(strings.Repeat(unit, size/len(unit)))
		r.Text(unit + strings.Repeat("a", size))
		r.Text(unit + strings.Repeat("a ", size/2))
	}
	for _, unit := range []string{"eyJ", dash + "BEGIN"} {
		r.Text(strings.Repeat(unit, 4<<20/len(unit)))
	}
}

func BenchmarkText(b *testing.B) {
	r := redactor(b)
	listing := redactor(b, `ACME-[0-9]{8}`)
	prose := strings.Repeat("The scanner reads a line, asks whether it can matter, and passes it on as text: that is all.\n", 11_000)
	code := strings.Repeat("\tif err := s.write(ctx, tasks[i].Name, \"https://example.com/a/b\"); err != nil { return fmt.Errorf(\"write: %w\", err) }\n", 9_000)
	secrets := strings.Repeat("some text before it, then a token="+samples[2].secret+" and text after it\n", 11_000)
	for _, c := range []struct {
		name string
		r    *Redactor
		text string
	}{{"prose", r, prose}, {"code", r, code}, {"listed", listing, prose}, {"secrets", r, secrets}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				c.r.Text(c.text)
			}
		})
	}
}
