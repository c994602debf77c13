//go:build unix

package home

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/gate"
)

// project is a repository with one check.
type project struct {
	name, check string
	files       map[string]string
	change      func(n int) (name, text string) // what a task changes
}

var projects = []project{
	{"go", "go vet ./... && go test ./...", map[string]string{
		"go.mod":           "module example.org/m\n\ngo 1.26\n",
		"main.go":          "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/m/greet\"\n)\n\nfunc main() { fmt.Println(greet.Hello(\"you\")) }\n",
		"greet/greet.go":   "// Package greet greets.\npackage greet\n\nimport (\n\t\"encoding/json\"\n\t\"strings\"\n)\n\n// Hello greets.\nfunc Hello(who string) string {\n\tb, _ := json.Marshal(who)\n\treturn strings.ToUpper(string(b)) + Mark\n}\n",
		"greet/g_test.go":  "package greet\n\nimport \"testing\"\n\nfunc TestHello(t *testing.T) {\n\tif Hello(\"a\") == \"\" {\n\t\tt.Error(\"nothing\")\n\t}\n}\n",
		"parse/parse.go":   "// Package parse parses.\npackage parse\n\nimport (\n\t\"strconv\"\n\t\"text/template\"\n)\n\n// Parse parses.\nfunc Parse(s string) (int, error) {\n\t_ = template.New(s)\n\treturn strconv.Atoi(s)\n}\n",
		"parse/p_test.go":  "package parse\n\nimport \"testing\"\n\nfunc TestParse(t *testing.T) {\n\tif n, err := Parse(\"7\"); n != 7 || err != nil {\n\t\tt.Error(n, err)\n\t}\n}\n",
		"greet/version.go": "package greet\n\n// Mark ends a greeting.\nconst Mark = \"0\"\n",
	}, func(n int) (string, string) {
		return "greet/version.go", fmt.Sprintf("package greet\n\n// Mark ends a greeting.\nconst Mark = %q\n", fmt.Sprint(n))
	}},
	{"node", "npm ci --no-audit --no-fund && npm test", map[string]string{
		"package.json":      `{"name": "m", "version": "1.0.0", "dependencies": {"dep": "file:dep"}, "scripts": {"test": "node --test"}}`,
		"package-lock.json": `{"name": "m", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {"": {"name": "m", "version": "1.0.0", "dependencies": {"dep": "file:dep"}}, "dep": {"version": "1.0.0"}, "node_modules/dep": {"resolved": "dep", "link": true}}}`,
		"dep/package.json":  `{"name": "dep", "version": "1.0.0"}`,
		"dep/index.js":      "module.exports = 0\n",
		"m.test.js":         "require('node:test')('dep', () => { require('node:assert').ok(require('dep') >= 0) })\n",
	}, func(n int) (string, string) { return "dep/index.js", fmt.Sprintf("module.exports = %d\n", n) }},
}

// BenchmarkGate compares a gate with the user's caches, which all share, with one whose home
// directory is its own, in turn: at the place where the caches were filled, as checks run
// mostly, and at another, as the second of two at once. The best of all rounds counts: the rest
// is other load on the machine.
func BenchmarkGate(b *testing.B) {
	for _, p := range projects {
		b.Run(p.name, func(b *testing.B) {
			top := b.TempDir()
			b.Cleanup(func() { _ = Remove(top) })
			gates, second := filepath.Join(top, "0"), filepath.Join(top, "1")
			for name, text := range p.files {
				for _, tree := range []string{gates, second} {
					put(b, filepath.Join(tree, name), text)
				}
			}
			shared := LoadUser(append(os.Environ(), "HOME="+filepath.Join(top, "user")), nil).Environment(filepath.Join(top, "user"))
			s := Open(filepath.Join(top, "caches"), time.Now)
			user := LoadUser(os.Environ(), nil)
			h, err := s.First(b.Context(), user)
			must(b, err)
			p.run(b, gates, h.Env)
			must(b, h.Keep("R1"))
			p.run(b, gates, shared)
			p.run(b, second, shared)
			own := func(tree string) (all, copying time.Duration) {
				began := time.Now()
				h, err := s.Take(b.Context(), "R1", user)
				must(b, err)
				took := p.run(b, tree, h.Env)
				must(b, h.Close())
				all = time.Since(began)
				return all, all - took
			}
			best := map[string]time.Duration{}
			note := func(what string, took time.Duration) {
				if before, ok := best[what]; !ok || took < before {
					best[what] = took
				}
			}
			n := 0
			for b.Loop() {
				n++
				for _, tree := range []string{gates, second} {
					name, text := p.change(n)
					put(b, filepath.Join(tree, name), text)
				}
				for place, tree := range map[string]string{"gate": gates, "second": second} {
					note(place+"-before-ms", p.run(b, tree, shared))
					all, copying := own(tree)
					note(place+"-after-ms", all)
					note("copy+remove-ms", copying)
				}
			}
			size, err := copyTree(context.Background(), s.path("base-R1"), b.TempDir(), Size{})
			must(b, err)
			for what, took := range best {
				b.ReportMetric(float64(took.Milliseconds()), what)
			}
			b.ReportMetric(float64(size.Files), "files")
			b.ReportMetric(float64(size.Bytes)/1e6, "MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// run runs the check, and says how long it took.
func (p project) run(b *testing.B, tree string, env []string) time.Duration {
	b.Helper()
	began := time.Now()
	r, err := gate.Run(b.Context(), []gate.Check{{Name: p.name, Command: p.check}}, gate.Options{Dir: tree, Inherit: env, Session: "bench"})
	must(b, err)
	if !r.Passed() {
		b.Fatal(r.Checks[0].Output)
	}
	return time.Since(began)
}

// BenchmarkCopy copies and removes a cache of 5,000 files and 200 MB.
func BenchmarkCopy(b *testing.B) {
	from := b.TempDir()
	text := make([]byte, 40_000)
	_, _ = rand.Read(text)
	for n := range 5000 {
		put(b, filepath.Join(from, fmt.Sprintf("%02x", n%256), fmt.Sprint(n)), string(text))
	}
	to := filepath.Join(b.TempDir(), "to")
	var copying, removing time.Duration
	n := 0
	for b.Loop() {
		n++
		must(b, os.Mkdir(to, 0o700))
		began := time.Now()
		_, err := copyTree(b.Context(), from, to, Size{})
		must(b, err)
		copied := time.Now()
		must(b, Remove(to))
		copying, removing = copying+copied.Sub(began), removing+time.Since(copied)
	}
	b.ReportMetric(float64(copying.Milliseconds())/float64(n), "copy-ms")
	b.ReportMetric(float64(removing.Milliseconds())/float64(n), "remove-ms")
	b.ReportMetric(0, "ns/op")
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// put writes a file with its directories.
func put(b *testing.B, name, text string) {
	b.Helper()
	must(b, os.MkdirAll(filepath.Dir(name), 0o700))
	must(b, os.WriteFile(name, []byte(text), 0o600))
}
