package toolbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type object = map[string]any

// tree writes files below a new directory, and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skip(err)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	b := opened(t, Config{Root: tree(t, map[string]string{
		"a.go":                 "package a\r\n\tfunc Needle() {}\n// needle\n",
		"sub/b.txt":            "x\n" + strings.Repeat("ä", 300) + " needle\n\x1b[2Jneedle\xff",
		"node_modules/x.js":    "needle",
		"sub/vendor/x.go":      "needle",
		".git/config":          "needle",
		".env":                 "needle",
		"deploy/id_ed25519":    "needle",
		"big.txt":              "needle\n" + strings.Repeat("x", maxFileSize),
		"binary":               "needle\x00",
		"long.txt":             strings.Repeat("x", maxLineLooked) + "needle",
		"a+b.txt":              "1+1 = 2\n",
		"sub/id_generator.txt": "needle",
	})})
	b.code.patience = 2 * time.Minute // a busy machine has longer
	for _, c := range []struct {
		a       object
		want    string
		sources []string
	}{
		{object{"query": "needle"}, "a.go:2: func Needle() {}\na.go:3: // needle\nsub/b.txt:2: " + strings.Repeat("ä", 200) + "…\nsub/b.txt:3: [2Jneedle\ufffd\nsub/id_generator.txt:1: needle",
			[]string{"a.go", "sub/b.txt", "sub/id_generator.txt"}},
		{object{"query": "Needle"}, "a.go:2: func Needle() {}", []string{"a.go"}},
		{object{"query": `^\S+\s+NEEDLE`, "regexp": true, "path": "a.go"}, `Nothing was found for "^\S+\s+NEEDLE" in 1 file.`, nil},
		{object{"query": `^\S+\s+needle`, "regexp": true, "path": "a.go"}, `a.go:3: // needle`, []string{"a.go"}},
		{object{"query": "1+1"}, "a+b.txt:1: 1+1 = 2", []string{"a+b.txt"}},
		{object{"query": "needle", "limit": 1, "path": "sub/vendor"}, "sub/vendor/x.go:1: needle", []string{"sub/vendor/x.go"}},
		{object{"query": "needle", "limit": 1}, "a.go:2: func Needle() {}\n[the search stopped early: it has 1 hit, and there are more; narrow it by the query or the path]", []string{"a.go"}},
	} {
		r := call(t, b, nameSearch, c.a)
		if diff := cmp.Diff(Result{Text: c.want, Sources: c.sources}, r); diff != "" {
			t.Errorf("%v: %s", c.a, diff)
		}
	}
	for _, c := range []struct {
		a    object
		want string
	}{
		{object{}, "the query has 1 to 300 bytes, not 0"},
		{object{"query": strings.Repeat("x", 301)}, "the query has 1 to 300 bytes, not 301"},
		{object{"query": "("}, ""},
		{object{"query": "(", "regexp": true}, "the query is no regular expression in RE2's syntax: "},
		{object{"query": "x", "limit": 0}, "limit is 1 to 50, not 0"},
		{object{"query": "x", "limit": "many"}, `the argument "limit" can't be a "string": see the tool's schema`},
		{object{"query": "x", "where": "y"}, "the arguments do not fit the tool's schema: unknown field \"where\""},
		{object{"query": "x", "path": "../"}, "leads out of the repository"},
		{object{"query": "x", "path": ".git"}, "secrets"},
		{object{"query": "x", "path": "none"}, `there is no file "none"`},
	} {
		if r := call(t, b, nameSearch, c.a); r.Failed != (c.want != "") || !strings.Contains(r.Text, c.want) {
			t.Errorf("%v: %+v", c.a, r)
		}
	}
}

func TestSearchIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 10,001 files; not with -short")
	}
	t.Parallel()
	dir := t.TempDir()
	for i := range maxFiles + 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := opened(t, Config{Root: dir})
	r := call(t, b, nameSearch, object{"query": "x"})
	// A slow machine runs out of time first.
	if !strings.Contains(r.Text, "it has looked at 10000 files") && !strings.Contains(r.Text, "its 2s were over") {
		t.Error(r.Text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := b.Call(ctx, nameSearch, []byte(`{"query":"x"}`)); !r.Failed || r.Text != "the search was cancelled: context canceled" {
		t.Errorf("%+v", r)
	}
}

// An expression that is made to take long does not.
func TestSearchWithHostileExpression(t *testing.T) {
	b := opened(t, Config{Root: tree(t, map[string]string{"a": strings.Repeat(strings.Repeat("x", maxLineLooked)+"\n", 400)})})
	ends(t, func() {
		for query, want := range map[string]string{
			strings.Repeat(`(x?){999}`, 33):        "the query takes too long",
			strings.Repeat(`(?:x?){200}`, 3) + "y": "its 2s were over",
		} {
			if testing.Short() && want == "its 2s were over" {
				continue // they are used up; not with -short
			}
			if r := call(t, b, nameSearch, object{"query": query, "regexp": true}); !strings.Contains(r.Text, want) {
				t.Errorf("%s: %+v", query, r)
			}
		}
	})
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "line %d\n", i+1)
	}
	b := opened(t, Config{Root: tree(t, map[string]string{
		"a.txt": "one\r\ntwo\x1b[2J\nthree", "many": many.String(), "empty": "", "binary": "a\x00b", "wide": strings.Repeat("x", 2500) + "\nend\n",
		"heavy": strings.Repeat(strings.Repeat("y", 1999)+"\n", 30), "dir/x": "", "dir/sub/y": "",
	})})
	for _, c := range []struct {
		a    object
		want string
	}{
		{object{"path": "a.txt"}, "     1\tone\n     2\ttwo[2J\n     3\tthree\n"},
		{object{"path": "./dir/../a.txt", "from": 2, "to": 2}, "     2\ttwo[2J\n[there is more: call again with from=3]\n"},
		{object{"path": "many", "from": 999, "to": 5000}, "   999\tline 999\n  1000\tline 1000\n"},
		{object{"path": "empty"}, "[the file is empty]"},
		{object{"path": "wide"}, "     1\t" + strings.Repeat("x", 2000) + " [left out of this line: 500 bytes]\n     2\tend\n"},
		{object{"path": "dir"}, "sub/\nx\n"},
	} {
		if diff := cmp.Diff(c.want, must(t, b, nameRead, c.a)); diff != "" {
			t.Errorf("%v: %s", c.a, diff)
		}
	}
	if got := must(t, b, nameRead, object{"path": "many"}); strings.Count(got, "\n") != 401 || !strings.HasSuffix(got, "line 400\n[there is more: call again with from=401]\n") {
		t.Errorf("%s", got)
	}
	if got := must(t, b, nameRead, object{"path": "heavy"}); len(got) > maxRead || !strings.HasSuffix(got, "[there is more: call again with from=17]\n") {
		t.Errorf("%d bytes, %s", len(got), got[len(got)-60:])
	}
	if r := call(t, b, nameRead, object{"path": "dir/../a.txt"}); !slices.Equal(r.Sources, []string{"a.txt"}) {
		t.Errorf("sources are %q", r.Sources)
	}
	for _, c := range []struct {
		a    object
		want string
	}{
		{object{}, "read_file needs a path"},
		{object{"path": "a.txt", "from": 0}, "lines from 1 on"},
		{object{"path": "a.txt", "from": 3, "to": 2}, "to not before from"},
		{object{"path": "a.txt", "from": 9}, `"a.txt": it has only 3 lines`},
		{object{"path": "binary"}, `"binary" is not text`},
		{object{"path": "none"}, `there is no file "none"`},
		{object{"path": "a.txt/b"}, `"a.txt/b"`},
		{object{"path": "a\x00b"}, `"a\x00b"`},
	} {
		if r := call(t, b, nameRead, c.a); !r.Failed || !strings.Contains(r.Text, c.want) {
			t.Errorf("%v: %+v", c.a, r)
		}
	}
}

// Nothing outside the directory is read, nor what holds secrets, by whatever way.
func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	outside := tree(t, map[string]string{"secret.txt": "SECRET"})
	root := tree(t, map[string]string{
		".env": "SECRET", ".env.local": "SECRET", "a/.ENV": "SECRET", "key.pem": "SECRET", "id_rsa": "SECRET", ".git/config": "SECRET", ".ssh/config": "SECRET", ".netrc": "SECRET",
		".signalbox/api.token": "SECRET", "box/gate.token": "SECRET", "prod.env": "SECRET", "service-account.json": "SECRET",
		".env.example": "public", "id_generator.go": "public", "id_rsa.pub": "public", "sub/x": "public",
	})
	at := func(name string) string { return filepath.Join(root, name) }
	symlink(t, filepath.Join(outside, "secret.txt"), at("absolute"))
	symlink(t, filepath.Join("..", filepath.Base(outside), "secret.txt"), at("relative"))
	symlink(t, outside, at("directory"))
	symlink(t, ".env", at("innocent.txt"))
	symlink(t, "../.git", at("sub/history"))
	symlink(t, "innocent.txt", at("twice"))
	symlink(t, "loop", at("loop"))
	symlink(t, "sub/x", at("fine"))
	b := opened(t, Config{Root: root})
	for _, name := range []string{
		".env", ".env.local", "a/.ENV", "key.pem", "id_rsa", ".git/config", ".git", ".ssh/config", ".netrc", ".signalbox/api.token", ".signalbox", "box/gate.token", "prod.env", "service-account.json", "sub/../.env", ".env/.", ".env::$DATA", ".git./config",
		"absolute", "relative", "directory/secret.txt", "innocent.txt", "sub/history/config", "twice", "loop",
		"../" + filepath.Base(outside) + "/secret.txt", filepath.Join(outside, "secret.txt"), "/etc/passwd", "sub/../../x", "..",
	} {
		r := call(t, b, nameRead, object{"path": name})
		if !r.Failed || strings.Contains(r.Text, "SECRET") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, name := range []string{".env.example", "id_generator.go", "id_rsa.pub", "fine"} {
		if got := must(t, b, nameRead, object{"path": name}); !strings.Contains(got, "public") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, path := range []string{"", "sub", "fine"} {
		if r := call(t, b, nameSearch, object{"query": "secret", "path": path}); r.Failed || strings.Contains(r.Text, "SECRET") {
			t.Errorf("%+v", r)
		}
	}
	if r := call(t, b, nameRead, object{"path": ".env"}); !r.Refused {
		t.Errorf("a file with secrets is not refused: %+v", r)
	}
	if r := call(t, b, nameRead, object{"path": "absent"}); r.Refused {
		t.Errorf("a file that is not there is refused: %+v", r)
	}
	if r := call(t, b, nameSearch, object{"query": "secret", "path": "directory"}); !r.Failed {
		t.Errorf("%+v", r)
	}
}

func TestRootIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{Root: filepath.Join(t.TempDir(), "none")})
	if err == nil || !strings.Contains(err.Error(), "builtin.code.root") {
		t.Error(err)
	}
}
