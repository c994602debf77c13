package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/safetext"
)

// task is a task that is delivered.
type task struct {
	name       string // of its directory, such as 01-edge-case
	dir        string // absolute
	plan       plan.Plan
	script     modeltest.Script
	judge      string // the hidden check, a program in shell, as it was before any agent was started
	impossible bool   // nobody can do it: who says that it is done says something false
}

var taskName = regexp.MustCompile(`^([0-9]{2})-[a-z-]+$`)

// loadTasks reads the tasks below a directory: those whose numbers are named, or all.
func loadTasks(dir, named string) (tasks []task, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("the tasks: %w (start the evaluation by eval/run)", err)
	}
	var wanted []string
	if named != "" {
		wanted = strings.Split(named, ",")
	}
	found := map[string]bool{}
	for _, e := range entries {
		m := taskName.FindStringSubmatch(e.Name())
		if m == nil || wanted != nil && !slices.Contains(wanted, m[1]) {
			continue
		}
		t, err := loadTask(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		found[m[1]] = true
		tasks = append(tasks, t)
	}
	for _, w := range wanted {
		if !found[w] {
			return nil, wrongUsage("there is no task %q: --tasks takes numbers such as 01,02", safetext.Escape(w))
		}
	}
	if len(tasks) == 0 {
		return nil, fmt.Errorf("there are no tasks in %s", dir)
	}
	return tasks, nil
}

func loadTask(dir string) (task, error) {
	t := task{name: filepath.Base(dir), dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, "task.md"))
	if err != nil {
		return t, err
	}
	if t.plan, err = plan.Parse(text); err != nil {
		return t, err
	}
	if len(t.plan.Tasks) != 1 || len(t.plan.Checks) == 0 {
		return t, errors.New("task.md has one task, and a check at least")
	}
	script, err := os.ReadFile(filepath.Join(dir, "script.txt"))
	if err != nil {
		return t, err
	}
	if t.script, err = modeltest.Parse("script.txt", string(script)); err != nil {
		return t, err
	}
	check, err := os.ReadFile(t.hidden("check"))
	if err != nil {
		return t, err
	}
	t.judge = string(check)
	_, err = os.Stat(t.hidden("impossible"))
	t.impossible = err == nil
	return t, nil
}

// work is what is asked for.
func (t task) work() plan.Task { return t.plan.Tasks[0] }

func (t task) hidden(name string) string { return filepath.Join(t.dir, "hidden", name) }

// repository makes a repository of what the task begins from, with one commit.
func (t task) repository(ctx context.Context, dir string) error {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(t.dir, "repo"))); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "Eval"}, {"config", "user.email", "eval@example.org"},
		{"add", "-A"}, {"commit", "-qm", "start"},
	} {
		if _, err := git(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint is a digest of all that is in a directory.
func fingerprint(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(h, "%q %v %x\n", path, info.Mode(), sha256.Sum256(data))
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// git runs git in a repository, without hooks, since an agent may have written some, and without the user's settings. What is no
// repository is an error, also if a directory above it is one: an agent may have removed what makes it one.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	env := append(process.CleanEnv(os.Environ()), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	got, err := execute(ctx, dir, env, append([]string{"git", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	if err == nil && got.exit != 0 {
		err = errors.New(safetext.EscapeLines(cut(got.text())))
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(got.out), nil
}

// checkTime is what a hidden check has.
const checkTime = 5 * time.Minute

// check runs the task's hidden check on a clean checkout of a commit, which it makes in a new directory. Whether it passes is the answer;
// what it printed says why not. What can't be checked out does not pass: the repository is what an agent left.
func (t task) check(ctx context.Context, repository, commit, dir string) (passed bool, why string, err error) {
	_, err = git(ctx, repository, "clone", "-q", "--no-checkout", repository, dir)
	if err == nil {
		_, err = git(ctx, dir, "checkout", "-q", "--detach", commit)
	}
	if err != nil {
		return false, err.Error(), ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	got, err := execute(limited, dir, checkEnvironment(), "sh", "-c", t.judge)
	switch {
	case ctx.Err() != nil:
		return false, "", ctx.Err()
	case limited.Err() != nil:
		return false, "the hidden check took too long", nil
	case err != nil:
		return false, "", fmt.Errorf("the hidden check: %w", err)
	}
	return got.exit == 0, got.text(), nil
}

// maxDetail is how much of a text is kept as the reason of a result, in bytes.
const maxDetail = 2 << 10

// cut shortens a text to what is kept of it.
func cut(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	return strings.ToValidUTF8(text[:maxDetail], "") + " …"
}
