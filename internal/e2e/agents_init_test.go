//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What init writes for the programs that people have is short and true, and a run takes it as it is: in a repository of
// Go, of Node and of Python, and in one that has nothing yet, once it has the first commit that init asks for.
func TestInitRealPrograms(t *testing.T) {
	t.Parallel()
	path := os.Getenv("PATH")
	for _, r := range reals {
		path = r.installed(t) + ":" + path
	}
	for name, c := range map[string]struct {
		files map[string]string
		has   []string
	}{
		"go": {map[string]string{"go.mod": "module example.org/m\n\ngo 1.23\n", "m.go": "package m\n"},
			[]string{"  - {name: go-vet, command: go vet ./...}\n  - {name: go-test, command: go test ./...}\n"}},
		"node": {map[string]string{"package.json": `{"scripts":{"test":"node --version"}}`, "package-lock.json": `{"lockfileVersion":3,"packages":{}}`},
			[]string{"  - {name: npm-test, command: npm test}\n", "  setup: npm ci\n"}},
		"python": {map[string]string{"requirements.txt": "pytest\n", "test_m.py": "def test_m(): pass\n"},
			[]string{"  - {name: pytest, command: python3 -m pytest}\n"}},
		"empty": {nil, []string{"# Without checks the gate passes everything.", "checks: []\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.env = []string{"PATH=" + path}
			for file, text := range c.files {
				w.write(file, text)
			}
			next := "Next: signalbox run "
			if len(c.files) == 0 {
				w.git("update-ref", "-d", "HEAD")
				next = "Next: git add . && git commit, "
			} else {
				w.git("add", "-A")
				w.git("commit", "-qm", "files")
			}
			if r := w.signalbox("init", "--force"); r.code != 0 || !strings.Contains(r.out, next) {
				t.Fatalf("%+v", r)
			}
			text, err := os.ReadFile(filepath.Join(w.dir, "signalbox.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			checkWritten(t, string(text), c.has)
			w.git("add", "-A")
			w.git("commit", "-qm", "settings")
			if r := w.signalbox("doctor"); r.code != 0 || strings.Contains(r.out, "missing") {
				t.Errorf("doctor: %+v", r)
			}
			if r := w.signalbox("run", "--dry-run", "say hello to whoever calls"); r.code != 0 || !strings.Contains(r.out, "T-1 (developer, claude)") {
				t.Errorf("dry run: %+v", r)
			}
		})
	}
}

// sandboxed matches what is said of the sandbox that is proposed, or of none.
var sandboxed = regexp.MustCompile(`(?m)^# When this was written: the checks pass in (\w+)\.\nsandbox: \{kind: (\w+)\}$|^# When this was written: (?:.+\n)+sandbox: \{kind: none\}$`)

func checkWritten(t *testing.T, text string, has []string) {
	t.Helper()
	has = append(has, "  claude: {adapter: acp, command: [claude-agent-acp], provider: anthropic}\n", "  codex: {adapter: acp, command: [codex-acp], provider: openai}\n",
		"roles: # person is you", "  developer: {agent: claude}\n", "  critic: {agent: codex}\n", "  auditor: {agent: codex}\n", "budget: {cost_usd: 20}")
	for _, one := range has {
		if !strings.Contains(text, one) {
			t.Errorf("it does not say %q", one)
		}
	}
	if said := sandboxed.FindStringSubmatch(text); said == nil || said[1] != said[2] {
		t.Errorf("of the sandbox it says %q", said)
	}
	if n := strings.Count(text, "\n"); n > 25 {
		t.Errorf("%d lines", n)
	}
	if t.Failed() {
		t.Log(text)
	}
}
