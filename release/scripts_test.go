package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// What a workflow of GitHub's runs is named by what is in it, and what people outside write (titles, branches) reaches no
// shell; a pull request gets neither a secret nor a right to write.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range wrongWorkflow(string(data)) {
			t.Errorf("%s: %s", file, wrong)
		}
	}
	for what, text := range map[string]string{
		"a moving action":    "permissions: {}\n      - uses: actions/checkout@v6",
		"a branch in a run":  "permissions: {}\n      - run: echo ${{ github.head_ref }}",
		"more in a run":      "permissions: {}\n      - run: |\n          true\n          echo ${{ github.event.pull_request.title }}",
		"a fork with rights": "on:\n  pull_request_target:\npermissions: {}",
		"all rights":         "jobs:\n",
		"a secret":           "on:\n  pull_request:\npermissions: {}\n  x: ${{ secrets.KEY }}",
		"a right to write":   "on:\n  pull_request:\npermissions:\n  contents: write",
		"a login that stays": "permissions: {}\n      - uses: actions/checkout@df4cb1c069e1874edd31b4311f1884172cec0e10",
	} {
		if len(wrongWorkflow(text)) == 0 {
			t.Errorf("%s: nobody noticed", what)
		}
	}
}

var (
	used    = regexp.MustCompile(`uses: +(\S+)`)
	pinned  = regexp.MustCompile(`@[0-9a-f]{40}$`)
	written = regexp.MustCompile(`\$\{\{[^}]*\bgithub\.(event\.|head_ref|ref_name|ref\b|actor)`)
)

// wrongWorkflow returns what is wrong with a workflow.
func wrongWorkflow(text string) (wrong []string) {
	runs := -1 // how far the lines of a command are indented
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indent := len(line) - len(strings.TrimLeft(line, " -"))
		if runs >= 0 && indent <= runs {
			runs = -1
		}
		if strings.HasPrefix(strings.TrimLeft(line, " -"), "run:") {
			runs = indent
		}
		if runs >= 0 && written.MatchString(line) {
			wrong = append(wrong, "text of others is part of a command: "+line)
		}
		if m := used.FindStringSubmatch(line); m != nil && !pinned.MatchString(m[1]) {
			wrong = append(wrong, m[1]+" is not named by a commit")
		}
	}
	if strings.Count(text, "actions/checkout@") != strings.Count(text, "persist-credentials: false") {
		wrong = append(wrong, "a checkout keeps the token")
	}
	if !regexp.MustCompile(`(?m)^permissions:`).MatchString(text) {
		wrong = append(wrong, "it has all rights")
	}
	switch {
	case strings.Contains(text, "pull_request_target") || strings.Contains(text, "workflow_run"):
		wrong = append(wrong, "a fork's change runs with the repository's rights")
	case strings.Contains(text, "pull_request:") && (strings.Contains(text, "secrets.") || strings.Contains(text, ": write")):
		wrong = append(wrong, "a pull request gets a secret or a right to write")
	}
	return wrong
}

// All that the changelog tells is under a version: release/notes would leave out what is above the first.
func TestChangelog(t *testing.T) {
	data, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(data), "\n## ")
	for line := range strings.Lines(before) {
		if strings.HasPrefix(line, "- ") {
			t.Errorf("under no version: %s", line)
		}
	}
}

// A directory that is no snapshot is not removed for one.
func TestSnapshotRemovesNothingElse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("release/snapshot is for Linux and macOS")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "mine")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "./snapshot", dir)
	cmd.Env = append(os.Environ(), "GOPATH="+t.TempDir(), "GOPROXY=off") // so that it ends at once if it goes on
	said, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "is no snapshot") {
		t.Errorf("%v, %s", err, said)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// The demonstration takes a program that is named from here, works below a directory with blanks and quotes, asks nobody for a
// passphrase, and leaves nothing behind when it is interrupted.
func TestDemo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the demonstration is for Linux and macOS")
	}
	home := t.TempDir()
	temporary := filepath.Join(home, "a b'c")
	program := "#!/bin/sh\necho called\ngit log --oneline\nkill -TERM $PPID\n" // as Ctrl-C does, but it is heard also by a shell in the background
	settings := "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/false\n"
	for path, text := range map[string]string{"signalbox": program, ".gitconfig": settings} {
		if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(temporary, 0o700); err != nil {
		t.Fatal(err)
	}
	demo, err := filepath.Abs("../examples/quickstart/demo")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", demo)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + temporary, "SIGNALBOX=./signalbox"}
	said, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 130 || strings.Count(string(said), "called") != 1 || !strings.Contains(string(said), " start\n") {
		t.Errorf("%v\n%s", err, said)
	}
	if left := below(t, temporary); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
