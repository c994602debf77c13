package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// fakeGH puts a gh in front of what is installed.
func fakeGH(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
}

// What keeps issues from being read can be told apart, and gh's own words are kept where they say more.
func TestIssuesRefused(t *testing.T) {
	one, labelled := worktree.Issues{Numbers: []int{7}, Most: 2}, worktree.Issues{Labels: []string{"a"}, Most: 2}
	t.Setenv("PATH", t.TempDir())
	if _, err := one.Read(t.Context(), "."); !errors.Is(err, worktree.ErrNoGHIssues) {
		t.Errorf("without gh: %v", err)
	}
	for _, c := range []struct {
		script string
		q      worktree.Issues
		want   error
		words  string
	}{
		{"echo please log in >&2; exit 4", one, worktree.ErrGHLogin, ""},
		{"printf 'no such \\033[2Jissue' >&2; exit 1", one, nil, `issue #7 can't be read: check the number, and the repository (--repo OWNER/NAME): gh view: exit status 1: no such \x1b[2Jissue`},
		{"echo nonsense", one, nil, "what gh says of issues can't be read"},
		{`echo '{"number":8,"url":"https://example.org/a/b/issues/8"}'`, one, nil, "gh answered with #8"},
		{`echo '{"number":7,"url":"https://example.org/a/b/pull/7"}'`, one, worktree.ErrPullRequest, "#7 can't be a task"},
		{"exit 0", worktree.Issues{Numbers: []int{1, 2, 3}, Most: 2}, worktree.ErrTooManyFound, ""},
		{`echo '[{"number":1},{"number":2},{"number":3}]'`, labelled, worktree.ErrTooManyFound, ""},
		{"yes | head -c 70000000", labelled, worktree.ErrTooMuch, ""},
	} {
		fakeGH(t, c.script)
		if _, err := c.q.Read(t.Context(), "."); err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", c.script, err)
		}
	}
}

// Issues that are named are read in that order; those with a label from the oldest on, each once.
func TestIssuesInOrder(t *testing.T) {
	fakeGH(t, `case $2 in
view) echo '{"number":'$3',"url":"https://github.com/acme/pull/issues/'$3'"}' ;;
list) echo '[{"number":9},{"number":4},{"number":9}]' ;;
esac
`)
	for _, c := range []struct {
		q    worktree.Issues
		want []int
	}{
		{worktree.Issues{Numbers: []int{9, 4}, Most: 5}, []int{9, 4}},
		{worktree.Issues{Labels: []string{"a"}, Most: 5}, []int{4, 9}},
	} {
		all, err := c.q.Read(t.Context(), ".")
		if err != nil || len(all) != 2 || all[0].Number != c.want[0] || all[1].Number != c.want[1] {
			t.Errorf("%+v: %+v, %v", c.q, all, err)
		}
	}
}
