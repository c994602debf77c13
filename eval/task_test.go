//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func allTasks(t *testing.T) []task {
	t.Helper()
	tasks, err := loadTasks("tasks", "")
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// patched makes the task's repository, with a patch if one is named, and returns it with its commit.
func (k task) patched(t *testing.T, patch string) (repo, commit string) {
	t.Helper()
	repo = filepath.Join(t.TempDir(), "repo")
	if err := k.repository(t.Context(), repo); err != nil {
		t.Fatal(err)
	}
	if patch != "" {
		for _, args := range [][]string{{"apply", "--index", k.hidden(patch)}, {"commit", "-qm", patch}} {
			if _, err := git(t.Context(), repo, args...); err != nil {
				t.Fatal(err)
			}
		}
	}
	commit, err := git(t.Context(), repo, "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return repo, commit
}

// The hidden checks can be trusted: each fails on what the task begins from and on a wrong result, and passes on a right one.
// Where nothing has to be changed, it passes on what the task begins from. The checks that the agent is told pass on both
// what it begins from and the right result: Signalbox would repair the environment first if they failed before any work.
func TestHiddenChecks(t *testing.T) {
	for i, k := range allTasks(t) {
		t.Run(k.name, func(t *testing.T) {
			asItIs, solved := exists(t, k.hidden("as-it-is")), exists(t, k.hidden("solution.patch"))
			if n := count(asItIs, solved, k.impossible); n != 1 {
				t.Fatalf("%d of solution.patch, as-it-is and impossible are there, want one", n)
			}
			cases := []struct {
				patch            string
				passes, goesWell bool // the hidden check, the visible ones
			}{{"", asItIs, true}, {"wrong.patch", false, false}}
			if solved {
				cases = append(cases, struct {
					patch            string
					passes, goesWell bool
				}{"solution.patch", true, true})
			}
			for j, c := range cases {
				t.Run("with "+c.patch, func(t *testing.T) {
					if testing.Short() && (i+j)%2 != 0 {
						t.Skip("one in two is checked with -short")
					}
					if testing.Short() && exists(t, k.hidden("../repo/go.mod")) {
						t.Skip("builds a Go program and its tests; not with -short")
					}
					t.Parallel()
					repo, commit := k.patched(t, c.patch)
					passed, why, err := k.check(t.Context(), repo, commit, filepath.Join(t.TempDir(), "result"))
					if err != nil || passed != c.passes {
						t.Errorf("the hidden check passes: %v, want %v, error %v:\n%s", passed, c.passes, err, why)
					}
					if !passed && why == "" {
						t.Error("the hidden check fails and does not say why")
					}
					for _, check := range k.plan.Checks {
						got, err := execute(t.Context(), repo, checkEnvironment(), "sh", "-c", check.Command)
						for range 3 { // one of the tasks is a check that fails once in 256 times
							if err == nil && c.goesWell && got.exit != check.Exit {
								got, err = execute(t.Context(), repo, checkEnvironment(), "sh", "-c", check.Command)
							}
						}
						if err != nil || c.goesWell && got.exit != check.Exit {
							t.Errorf("%s ends with %d, error %v:\n%s", check.Command, got.exit, err, got.text())
						}
					}
				})
			}
		})
	}
}

func count(all ...bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}
	return n
}

// There are ten tasks, numbered, and what the agent is told and begins from does not speak of what is hidden.
func TestTasks(t *testing.T) {
	tasks := allTasks(t)
	if len(tasks) != 10 {
		t.Errorf("there are %d tasks", len(tasks))
	}
	for i, k := range tasks {
		if want := fmt.Sprintf("%02d", i+1); k.name[:2] != want || k.work().ID != "E-"+want {
			t.Errorf("%s has the task %s, want %s", k.name, k.work().ID, want)
		}
		told, err := os.ReadFile(filepath.Join(k.dir, "task.md"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(told)), "hidden") {
			t.Errorf("%s: the agent is told that something is hidden", k.name)
		}
		for _, name := range []string{"hidden", "task.md", "script.txt"} {
			if exists(t, filepath.Join(k.dir, "repo", name)) {
				t.Errorf("%s: %s lies in what the agent gets", k.name, name)
			}
		}
	}
}

// A hidden check runs what an agent wrote, and gets no key.
func TestCheckHasNoKey(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "not-to-be-seen")
	k := task{dir: t.TempDir(), judge: "env\nexit 1\n"}
	if err := errors.Join(os.Mkdir(filepath.Join(k.dir, "repo"), 0o700), os.WriteFile(filepath.Join(k.dir, "repo", "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	repo, commit := k.patched(t, "")
	passed, said, err := k.check(t.Context(), repo, commit, filepath.Join(t.TempDir(), "result"))
	if err != nil || passed || !strings.Contains(said, "PATH=") {
		t.Fatalf("passed %v, error %v:\n%s", passed, err, said)
	}
	if strings.Contains(said, "not-to-be-seen") {
		t.Errorf("the check gets a key:\n%s", said)
	}
}

// A package that ends the test's process before the tests have run has not passed them.
func TestHiddenChecksAreRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds Go programs and their tests; not with -short")
	}
	for _, k := range allTasks(t) {
		if !exists(t, filepath.Join(k.dir, "repo", "go.mod")) {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			repo, _ := k.patched(t, "solution.patch")
			name, err := execute(t.Context(), repo, checkEnvironment(), "go", "list", "-f", "{{.Name}}")
			if err != nil || name.exit != 0 {
				t.Fatal(name, err)
			}
			if err := os.WriteFile(filepath.Join(repo, "end.go"), []byte("package "+name.text()+"\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			left := filepath.Join(t.TempDir(), "left")
			commit, err := taken(t.Context(), repo, left)
			if err != nil {
				t.Fatal(err)
			}
			passed, why, err := k.check(t.Context(), left, commit, filepath.Join(t.TempDir(), "result"))
			if err != nil || passed || !strings.Contains(why, "before") {
				t.Errorf("passed %v, error %v: %s", passed, err, why)
			}
		})
	}
}

// What is checked is a clean checkout of the commit, and nothing that lies beside it.
func TestCheckIsClean(t *testing.T) {
	k := allTasks(t)[0]
	repo, commit := k.patched(t, "")
	solution, _ := k.patched(t, "solution.patch")
	bin := filepath.Join(repo, "bin")
	if err := errors.Join(os.RemoveAll(bin), os.CopyFS(bin, os.DirFS(filepath.Join(solution, "bin")))); err != nil {
		t.Fatal(err)
	}
	passed, _, err := k.check(t.Context(), repo, commit, filepath.Join(t.TempDir(), "result"))
	if err != nil || passed {
		t.Errorf("what is not committed counts: %v, %v", passed, err)
	}
}

// What can't be checked out does not pass, and does not end the evaluation. A repository above it, such as one of the home directory, is
// not taken for it.
func TestCheckOfNothing(t *testing.T) {
	k := allTasks(t)[0]
	repo, commit := k.patched(t, "solution.patch")
	if err := os.Rename(filepath.Join(repo, ".git"), filepath.Join(filepath.Dir(repo), ".git")); err != nil {
		t.Fatal(err)
	}
	if found, err := git(t.Context(), repo, "rev-parse", "HEAD"); err == nil {
		t.Errorf("the commit of a repository above: %s", found)
	}
	passed, why, err := k.check(t.Context(), repo, commit, filepath.Join(t.TempDir(), "result"))
	if err != nil || passed || !strings.Contains(why, "git clone") {
		t.Errorf("passed %v, error %v: %s", passed, err, why)
	}
}

func TestLoadTasks(t *testing.T) {
	tasks, err := loadTasks("tasks", "02,05")
	if err != nil || len(tasks) != 2 || tasks[0].name != "02-write-test" || !tasks[1].impossible || tasks[0].impossible {
		t.Errorf("got %v, %v", tasks, err)
	}
	var usage usageError
	for _, wrong := range []string{"1", "99", "01,,02", "01-edge-case"} {
		if _, err := loadTasks("tasks", wrong); !errors.As(err, &usage) {
			t.Errorf("--tasks %s: %v", wrong, err)
		}
	}
}
