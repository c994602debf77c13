package question

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type labelled struct {
	class Class
	text  string
}

// load reads questions with their classes.
func load(t *testing.T, name string) []labelled {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var all []labelled
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		class, text, found := strings.Cut(line, "\t")
		if !found || !slices.Contains(Classes(), Class(class)) {
			t.Fatalf("%s: a line without a class, a tab and a question", name)
		}
		all = append(all, labelled{Class(class), text})
	}
	return all
}

// confusion counts by the labelled class, then by the one that Classify told.
type confusion map[Class]map[Class]int

func (c confusion) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s", "is \\ told")
	for _, told := range Classes() {
		fmt.Fprintf(&b, "%16s", told)
	}
	for _, is := range Classes() {
		fmt.Fprintf(&b, "\n%-16s", is)
		for _, told := range Classes() {
			fmt.Fprintf(&b, "%16d", c[is][told])
		}
	}
	return b.String()
}

// TestLabelled measures the classifier. Of the held-out half it never prints a
// question: who mends the tables by looking at its misses has no measure left.
func TestLabelled(t *testing.T) {
	for _, half := range []struct {
		file    string
		percent int // at least
	}{
		{"development.tsv", 97},
		{"held-out.tsv", 90},
	} {
		t.Run(half.file, func(t *testing.T) {
			all := load(t, half.file)
			table := confusion{}
			right := 0
			for _, q := range all {
				told := Classify(q.text).Class
				if table[q.class] == nil {
					table[q.class] = map[Class]int{}
				}
				table[q.class][told]++
				if told == q.class {
					right++
				}
			}
			t.Logf("%d of %d right, %.1f %%\n%s", right, len(all), 100*float64(right)/float64(len(all)), table)
			if len(all) < 100 || right*100 < len(all)*half.percent {
				t.Errorf("%d of %d right: at least %d %% of at least 100 are demanded", right, len(all), half.percent)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	tests := []struct {
		text string
		want Class
	}{
		// Words end where they end: encode is not code, thinking no thanks.
		{"how do birds encode songs", Research},
		{"is documentary photography an art", Research},
		{"where is encode defined", Code},
		{"unwritable", Research},
		// A word counts in its meaning there.
		{"what's the zip code of Boston", Research},
		{"does a blood test show vitamin levels", Research},
		// Courtesy before a request does not count, and alone is all there is.
		{"Hi! Thanks. Where is parseHeader defined?", Code},
		{"Hi! Thanks.", Conversational},
		{"hey, please rename parseHeader", Action},
		// An order to do is an action, one to tell is not.
		{"Would you mind deleting docs/old.md?", Action},
		{"Would you mind explaining docs/old.md?", Documentation},
		{"explain parseHeader and then delete it", Action},
		{"how do I delete a plugin", Documentation},
		{"Say that again, but shorter.", Conversational},
		{"the build fails with exit code 2", Code},
		{"build the docs", Action},
		// No hint at all.
		{"", Research},
		{"   \r\n\t ", Research},
		{"?!…", Research},
		{"zxqv", Research},
		{"東京の人口は", Research},
		{"\x00\xff\xfe", Research},
		// Lines may end in any way.
		{"hello\r\nwhere is parseHeader defined\r\n", Code},
		{"hello\rdelete parseHeader\r", Action},
		{"the old parser\rdelete parseHeader\r", Action},
	}
	for _, tt := range tests {
		if got := Classify(tt.text); got.Class != tt.want {
			t.Errorf("Classify(%q) = %+v, want %s", tt.text, got, tt.want)
		}
	}
}

// TestPoints shows by one question where points come from.
func TestPoints(t *testing.T) {
	got := Classify("what does the README say about proxies")
	if got.Class != Documentation || got.Points.Documentation <= got.Points.Code || got.Points.Action != 0 {
		t.Errorf("Classify = %+v, want documentation by points, and none for action", got)
	}
	for _, c := range Classes() {
		if got.Points.Of(c) > got.Points.Of(got.Class) {
			t.Errorf("%s has more points than the class told: %+v", c, got)
		}
	}
	if p := (Points{1, 2, 3, 4, 5}); !cmp.Equal([]int{5, 1, 2, 4, 3}, []int{p.Of(Action), p.Of(Code), p.Of(Documentation), p.Of(Conversational), p.Of(Research)}) || p.Of("other") != 0 {
		t.Errorf("Of mixes up classes of %+v", p)
	}
}

// hostile are texts that are large, broken, or made to be slow.
var hostile = map[string]string{
	"a megabyte of one word":      strings.Repeat("how ", 1<<18),
	"a megabyte without blanks":   strings.Repeat("a", 1<<20),
	"a megabyte of clauses":       strings.Repeat("do,", 1<<20/3),
	"a megabyte of openers":       strings.Repeat("so ok ", 1<<20/6),
	"a megabyte of strokes":       strings.Repeat("/", 1<<20),
	"a megabyte of punctuation":   strings.Repeat("?!.'\"(", 1<<20/6),
	"a megabyte of broken text":   strings.Repeat("\xff\xc3", 1<<19),
	"a megabyte of wide letters":  strings.Repeat("語", 1<<20/3),
	"a megabyte of apostrophes":   strings.Repeat("x'y'", 1<<18),
	"a megabyte of gaps to match": strings.Repeat("why is explain where ", 1<<20/21),
	"a nul in every word":         strings.Repeat("fi\x00x ", 100),
}

func TestHostileText(t *testing.T) {
	for name, text := range hostile {
		got := Classify(text)
		if !slices.Contains(Classes(), got.Class) {
			t.Errorf("%s: %+v is no class", name, got)
		}
		if n := testing.AllocsPerRun(5, func() { Classify(text) }); n > 4*MaxText {
			t.Errorf("%s: %.0f allocations for %d characters that are read", name, n, MaxText)
		}
	}
}

func TestOnlyTheBeginningIsRead(t *testing.T) {
	text := "where is parseHeader defined? " + strings.Repeat("語", MaxText)
	if got := Classify(text + " delete everything, please. Delete it!"); got != Classify(text) || got.Class != Code {
		t.Errorf("Classify = %+v, want code by what stands at the beginning", got)
	}
	if n := utf8.RuneCountInString(read(text).text); n != MaxText {
		t.Errorf("%d characters are read, want %d", n, MaxText)
	}
}

func TestSameTextSameResult(t *testing.T) {
	for _, q := range load(t, "development.tsv") {
		first := Classify(q.text)
		for range 20 {
			if diff := cmp.Diff(first, Classify(q.text)); diff != "" {
				t.Fatalf("Classify(%q) differs:\n%s", q.text, diff)
			}
		}
	}
}

// TestTables finds what compile takes for a word although nobody writes it so.
func TestTables(t *testing.T) {
	for _, tab := range []*table{tables(), wishes()} {
		for first, patterns := range tab.byFirst {
			checkWords(t, newPart(first))
			for _, p := range patterns {
				for _, part := range p.rest {
					checkWords(t, part)
				}
			}
		}
	}
}

func checkWords(t *testing.T, p part) {
	t.Helper()
	for w := range p.words {
		if w == "" || strings.ContainsAny(w, "^$<>{}._") || w != strings.ToLower(w) {
			t.Errorf("a pattern has %q for a word", w)
		}
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{"code", "the codes", true},
		{"code", "encode decoder codebase", false},
		{"class", "classes", true},
		{"read|write it", "he can write it", true},
		{"read|write it", "he can write, it is said", true},
		{"read|write it", "he can write. it is said", false},
		{"where is _ defined", "where is it defined", true},
		{"where is _ defined", "where is defined", false},
		{"where ... defined", "where defined", true},
		{"where ... defined", "where a b c d e f g h defined", true},
		{"where ... defined", "where a b c d e f g h i defined", false},
		{"^ run", "ok so run", true},
		{"^ run", "could you run", true},
		{"^ run", "tests run", false},
		{"again $", "say it again", true},
		{"again $", "again and again, sir", false},
		{"is <name>", "where is parseHeader?", true},
		{"is <name>", "where is Paris?", false},
		{"mind {doing}", "mind swapping the two", true},
		{"mind {doing}", "mind the gap", false},
		{"do not", "don't", true},
	}
	for _, tt := range tests {
		tab := compile([]line{{Points{Code: 1}, tt.pattern}})
		if got := tab.points(read(tt.text)).Code == 1; got != tt.want {
			t.Errorf("%q in %q: %t, want %t", tt.pattern, tt.text, got, tt.want)
		}
	}
}

func TestHowOftenALineCounts(t *testing.T) {
	tab := compile([]line{{Points{Code: 1}, "a, b, c, d, e"}})
	if got := tab.points(read("a a b")).Code; got != 2 {
		t.Errorf("%d points, want 2: a pattern counts once", got)
	}
	if got := tab.points(read("a b c d e")).Code; got != maxHits {
		t.Errorf("%d points, want %d", got, maxHits)
	}
	tab = compile([]line{{Points{Action: pointsDo}, "a, b"}})
	if got := tab.points(read("a b")).Action; got != pointsDo {
		t.Errorf("%d points, want %d", got, pointsDo)
	}
}

func TestLook(t *testing.T) {
	tests := map[string]kind{
		"word": isPlain, "Denmark": isPlain, "API": isPlain, "and/or": isPlain, "km/h": isPlain, "GitHub": isPlain, "Node.js": isPlain, "half-life": isPlain, "e.g": isPlain, "--": isPlain, "/": isPlain, "": isPlain,
		"parseHeader": isName, "archived_at": isName, "Store.Get": isName, "main()": isName, "Tree::insert": isName, "`x`": isName, "f(x": isName, "MAX_SIZE": isName,
		"validators.py": isSource, "src/lexer.rs": isSource, "Makefile": isSource, ".gitignore": isSource,
		"SPEC.md": isDocument, "docs/install": isDocument, "README.de": isDocument,
		"feature/old-ui": isPath, "/etc/hosts": isPath, "./run": isPath, "internal/": isPath,
		"--verbose": isFlag, "-v": isFlag,
		"42": isNumber, "2.4.0": isNumber, "20%": isNumber, "v2": isNumber,
		"https://go.dev": isAddress,
	}
	for text, want := range tests {
		if got := look(text); got != want {
			t.Errorf("look(%q) = %s, want %s", text, kinds[got], kinds[want])
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	texts := map[string]string{"long": strings.Repeat("Could you tell me where the config file is read, and why? ", 100)}
	for name, text := range hostile {
		texts[name] = text
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Classify(texts[name])
			}
		})
	}
}

func FuzzClassify(f *testing.F) {
	f.Add("where is parseHeader defined?")
	f.Add("Hi,\r\nplease don't -- fix 'src/a b.go' (or \xff)…")
	f.Add("`` /  // a/b ./ ~/ x:: :: -> () ' '' 's n't -")
	f.Fuzz(func(t *testing.T, text string) {
		got := Classify(text)
		if !slices.Contains(Classes(), got.Class) {
			t.Errorf("%q is no class", got.Class)
		}
		if again := Classify(text); again != got {
			t.Errorf("%+v, then %+v", got, again)
		}
	})
}
