//go:build amd64 || arm64

package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// nestProbes are what a command tries with the process that runs it, whose number is $P, and
// with what programs keep. Each succeeds without a nest.
var nestProbes = []struct{ name, script string }{
	{"descriptor", `echo forged >/proc/$P/fd/9`},
	{"environment", `grep -qz SECRET /proc/$P/environ`},
	{"memory", `head -c 1 /proc/$P/exe && cat /proc/$P/maps | grep -q .`},
	{"directory", `cd /proc/$P/cwd && ls`},
	{"signal", `kill -USR1 $P`},
	{"prompt", `grep -q run= $HOME/.claude/projects/p.jsonl`},
	{"settings", `echo evil >$HOME/.claude/settings.json`},
	{"variable", `test -n "$PASSWORD"`},
	{"login", `ls $HOME/.claude | grep -q projects`},
}

// What is nested gets all that its program has, but can neither reach the program nor read
// what it keeps.
func TestNested(t *testing.T) {
	for _, kind := range sandbox.Kinds()[1:] {
		t.Run(string(kind), func(t *testing.T) {
			if err := sandbox.Available(kind); err != nil {
				t.Skipf("NOT TESTED: %v", err)
			}
			t.Parallel()
			for i, p := range nestProbes {
				if testing.Short() && i%3 != 0 {
					continue // one in three
				}
				if p.name == "signal" && kind == sandbox.Bubblewrap && os.Geteuid() == 0 {
					continue // the number that it sees is not one that it can name
				}
				if got := runNested(t, kind, "", p.script); !strings.Contains(got, "through") {
					t.Errorf("%s: the control fails: %s", p.name, got)
				}
				if got := runNested(t, kind, `"$SELF" nested "$NEST" --`, p.script); !strings.Contains(got, "refused") {
					t.Errorf("%s got through: %s", p.name, got)
				}
			}
			for name, way := range map[string]string{"nested": `"$SELF" nested "$NEST" -- sh -c`, "prefix": `"$NEST/prefix"`, "path": `PATH="$NEST/bin:$PATH" sh -c`} {
				got := runNested(t, kind, "", way+` 'echo work >"$WORK/file" && cat "$HOME/.claude/shell-snapshots/s" && cat "$WORK/file"'`)
				if !strings.Contains(got, "through") {
					t.Errorf("%s: a command can't do its work: %s", name, got)
				}
			}
		})
	}
}

// Shells that start shells are nested once, however many there are: a process can't be
// nested more than 16 times.
func TestNestDeep(t *testing.T) {
	for _, kind := range sandbox.Kinds()[1:] {
		t.Run(string(kind), func(t *testing.T) {
			if err := sandbox.Available(kind); err != nil {
				t.Skipf("NOT TESTED: %v", err)
			}
			got := runNested(t, kind, "", `PATH="$NEST/bin:$PATH" sh -c 'echo "[ \$1 = 0 ] || exec sh \$0 \$((\$1 - 1))" >"$WORK/deep" && sh "$WORK/deep" 20'`)
			if !strings.Contains(got, "through") {
				t.Error(got)
			}
		})
	}
}

// runNested runs a script, by a way or as it is, from a confined shell that has something to
// lose, and returns whether it got through.
func runNested(t *testing.T, kind sandbox.Kind, way, script string) string {
	t.Helper()
	home, work, nest := t.TempDir(), t.TempDir(), t.TempDir()
	state, err := sandbox.FindState([]string{"claude"}, home, func(string) string { return "" })
	check(t, err)
	for name, text := range map[string]string{"projects/p.jsonl": "run=NONCE", "settings.json": "{}", "shell-snapshots/s": "snapshot"} {
		path := filepath.Join(home, ".claude", name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check(t, os.WriteFile(path, []byte(text), 0o600))
	}
	nested := state.Nested(kind)
	nested.Unset = []string{"PASSWORD"}
	check(t, sandbox.MakeNest(nest, self(t), *nested))
	p := sandbox.Policy{Kind: kind, Network: true, Temp: t.TempDir(), Write: append(state.Own, work), Read: []string{nest, filepath.Dir(self(t)), home}}
	if way != "" {
		way += " "
	}
	inner := fmt.Sprintf(`exec 9>"$WORK/voice"; trap : USR1; export P=$$
		if %ssh -c '%s' >/dev/null; then echo through; else echo refused; fi`, way, script)
	if strings.Contains(script, "'") {
		inner = fmt.Sprintf("if %s; then echo through; else echo refused; fi", script)
	}
	command, err := p.Command(self(t), []string{"sh", "-c", inner})
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "WORK=" + work, "NEST=" + nest, "SELF=" + self(t), "SECRET=1", "PASSWORD=1", sandbox.NestVariable + "=" + nest}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if voice, err := os.ReadFile(filepath.Join(work, "voice")); err == nil && len(voice) > 0 && way != "" {
		t.Errorf("the voice says %q", voice)
	}
	return string(out)
}

// A helper that stands in the place of a shell runs nothing without its nest.
func TestNestMissing(t *testing.T) {
	nest, command := sandbox.Invoked([]string{"/bin/bash", "-lc", "true"}, func(string) string { return "" })
	if len(command) != 3 || command[1] != "-lc" {
		t.Fatalf("invoked as a shell: %q", command)
	}
	if err := sandbox.EnterNest(nest, command); err == nil || !strings.Contains(err.Error(), sandbox.NestVariable) {
		t.Errorf("without a nest: %v", err)
	}
	if _, command := sandbox.Invoked([]string{"/usr/bin/signalbox", "run"}, func(string) string { return "/nest" }); command != nil {
		t.Errorf("invoked by its own name: %q", command)
	}
}

// What it takes to start a command: as it is, and nested.
func BenchmarkNested(b *testing.B) {
	for _, kind := range sandbox.Kinds()[1:] {
		if err := sandbox.Available(kind); err != nil {
			b.Logf("NOT MEASURED: %v", err)
			continue
		}
		nest := b.TempDir()
		if err := sandbox.MakeNest(nest, self(b), sandbox.Policy{Kind: kind, Hidden: []string{b.TempDir()}}); err != nil {
			b.Fatal(err)
		}
		for name, command := range map[string][]string{"plain": {"true"}, "nested": {self(b), "nested", nest, "--", "true"}} {
			b.Run(string(kind)+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if out, err := exec.CommandContext(b.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
						b.Fatalf("%v: %s", err, out)
					}
				}
			})
		}
	}
}
