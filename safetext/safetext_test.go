package safetext_test

import (
	"math"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

const accent = "\u0301"

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"plain é 漢 🚀":           "plain é 漢 🚀",
		"\x1b[2J\x07\x7f":       `\x1b[2J\x07\x7f`,
		"a\u202eb\u200bc\ufeff": `a\u202eb\u200bc\ufeff`,
		"\u009b31m":             `\u009b31m`,
		"caf\xe9":               `caf\xe9`,
		"a\nb\tc\r":             `a\nb\tc\r`,
		"\U000e0041":            `\U000e0041`,
		"\ufffd":                "\ufffd", // a character like any other, if it is written as one
		`\x1b`:                  `\x1b`,
		"e" + accent + "t" + accent + strings.Repeat(accent, 2): "e" + accent + "t" + strings.Repeat(accent, 3),
		"e" + strings.Repeat(accent, 5):                         "e" + strings.Repeat(accent, 3) + `\u0301\u0301`,
		accent + "e":                                            `\u0301e`,
		"e\x1b" + accent:                                        `e\x1b\u0301`,
		"ก\u0e49":                                               "ก\u0e49",
		"\u1112\u1161\u11ab":                                    "\u1112\u1161\u11ab", // 한, in three
	} {
		if got := safetext.Escape(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestEscapeLines(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\tc\x1b\r":   "a\nb\tc" + `\x1b\r`,
		"a\n" + accent:    "a\n" + `\u0301`,
		"a\u2028b\u0085c": `a\u2028b\u0085c`,
	} {
		if got := safetext.EscapeLines(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e" + accent: 1, "日本": 4, "ｗｉｄｅ": 8, "한글": 4, "\u1112\u1161\u11ab": 2, "🎉": 2, "✓✗●○…·└━": 8, "ก\u0e49": 1,
	} {
		if got := safetext.Width(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"},
		{"ab", 1, "…"}, {"ab", 0, ""}, {"ab", -1, ""}, {"", 0, ""}, {"", -1, ""}, {"a" + accent + "b", 2, "a" + accent + "b"},
		{"abc" + accent, 2, "a…"}, {"\x1b[2J", 4, `\x1…`}, {"abc", math.MaxInt, "abc"},
	} {
		if got := safetext.Cut(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

// A long text is looked at as far as it shows, also one that has as many bytes in a column as there can be.
func TestClipLong(t *testing.T) {
	one := "𝒜" + strings.Repeat("\U0001e023", safetext.MaxMarks)
	long := strings.Repeat(one, 1_000_000)
	if got, whole := safetext.Clip(long, 5); whole || got != strings.Repeat(one, 5) {
		t.Errorf("got %q, all of it: %v", got, whole)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cut := safetext.Cut(strings.Repeat("\x1b", 1<<20), 5)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; cut != `\x1b…` || n > 2<<20 {
		t.Errorf("got %q, which took %d bytes", cut, n)
	}
}

// What is escaped is safe, and stays as it is; what is cut fits, and is a part of it.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b]0;title\a", "a\xffb", "日本\u202e語", "e" + strings.Repeat(accent, 9), accent, "🚀\ufe0f"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, columns int) {
		for name, escape := range map[string]func(string) string{"Escape": safetext.Escape, "EscapeLines": safetext.EscapeLines} {
			out := escape(s)
			marks := safetext.MaxMarks
			for _, r := range out {
				kept := name == "EscapeLines" && (r == '\n' || r == '\t')
				if safetext.Invisible(r) && !kept {
					t.Fatalf("%s(%q) has %U", name, s, r)
				}
				if marks++; safetext.RuneWidth(r) > 0 {
					marks = 0
				} else if marks > safetext.MaxMarks {
					t.Fatalf("%s(%q) has a pile of accents: %q", name, s, out)
				}
			}
			if !utf8.ValidString(out) || escape(out) != out {
				t.Fatalf("%s(%q) is %q, and escaped again %q", name, s, out, escape(out))
			}
		}
		cut, whole := safetext.Clip(s, columns)
		all := safetext.Escape(s)
		if w := safetext.Width(cut); w > max(columns, 0) || whole != (cut == all) || !strings.HasPrefix(all, cut) {
			t.Fatalf("%q in %d columns is %q, which takes %d; all of it: %v", s, columns, cut, w, whole)
		}
		if w := safetext.Width(safetext.Cut(s, columns)); w > max(columns, 0) {
			t.Fatalf("%q cut to %d columns takes %d", s, columns, w)
		}
	})
}
