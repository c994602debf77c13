package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path"
	"slices"
	"strconv"

	"github.com/signalbox-dev/signalbox/safetext"
)

// What keeps issues from being read.
var (
	ErrNoGHIssues   = errors.New("issues are read by the gh program, which was not found: install it (https://cli.github.com), and log in with `gh auth login`")
	ErrGHLogin      = errors.New("the gh program is not logged in: run `gh auth login`, or set GH_TOKEN")
	ErrPullRequest  = errors.New("it is a pull request, and no issue: leave it out")
	ErrTooManyFound = errors.New("more issues were found than one plan can have: choose by another label, or by number")
)

const (
	exitLogin    = 4        // of gh: the command requires authentication
	maxIssues    = 64 << 20 // bytes of all issues that gh lists at once
	issueColumns = "number,title,body,url,state,author"
)

// Issue is an issue as GitHub has it. All of its text is its author's.
type Issue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	URL    string `json:"url"`
	State  string `json:"state"` // OPEN or CLOSED
	Author struct {
		Login string `json:"login"`
	} `json:"author"`
}

// Issues are those to read: those with the numbers, or those that are open and have all labels.
type Issues struct {
	Repo    string // OWNER/NAME; that of the checkout if empty
	Numbers []int
	Labels  []string
	Most    int // how many there may be
}

// Read reads the issues by the gh program, in a directory that is in a checkout if no repository is named: by number in
// that order, by label from the oldest on.
func (q Issues) Read(ctx context.Context, dir string) ([]Issue, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("after %v: %w", patience, ErrTooSlow))
	defer cancel()
	if len(q.Numbers) == 0 {
		return q.list(ctx, dir)
	}
	if len(q.Numbers) > q.Most {
		return nil, ErrTooManyFound
	}
	var all []Issue
	for _, n := range q.Numbers {
		i, err := q.view(ctx, dir, n)
		if err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return all, nil
}

func (q Issues) list(ctx context.Context, dir string) ([]Issue, error) {
	args := []string{"issue", "list", "--state", "open", "--limit", strconv.Itoa(q.Most + 1)}
	for _, label := range q.Labels {
		args = append(args, "--label="+label)
	}
	var all []Issue
	if err := q.ask(ctx, dir, &all, args...); err != nil {
		return nil, err
	}
	if len(all) > q.Most {
		return nil, ErrTooManyFound
	}
	slices.SortFunc(all, func(a, b Issue) int { return a.Number - b.Number })
	return slices.CompactFunc(all, func(a, b Issue) bool { return a.Number == b.Number }), nil
}

func (q Issues) view(ctx context.Context, dir string, number int) (i Issue, err error) {
	err = q.ask(ctx, dir, &i, "issue", "view", strconv.Itoa(number))
	failed := (*exec.ExitError)(nil)
	switch {
	case errors.As(err, &failed):
		return i, fmt.Errorf("issue #%d can't be read: check the number, and the repository (--repo OWNER/NAME): %w", number, err)
	case err != nil:
		return i, err
	case i.Number != number:
		return i, fmt.Errorf("issue #%d was asked for, and gh answered with #%d", number, i.Number)
	case i.pull():
		return i, fmt.Errorf("#%d can't be a task: %w", number, ErrPullRequest)
	}
	return i, nil
}

// pull reports whether it is a pull request: gh views these as issues, and their addresses alone are different.
func (i Issue) pull() bool {
	u, err := url.Parse(i.URL)
	return err == nil && path.Base(path.Dir(u.Path)) == "pull"
}

// ask has gh print JSON, and reads it.
func (q Issues) ask(ctx context.Context, dir string, to any, args ...string) error {
	args = append(args, "--json", issueColumns)
	if q.Repo != "" {
		args = append(args, "--repo="+q.Repo)
	}
	out, err := runGH(ctx, dir, maxIssues, args...)
	failed := (*exec.ExitError)(nil)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return ErrNoGHIssues
	case errors.As(err, &failed) && failed.ExitCode() == exitLogin:
		return ErrGHLogin
	case err != nil:
		return err
	}
	if err := json.Unmarshal(out, to); err != nil {
		return fmt.Errorf("what gh says of issues can't be read: %s: `gh --version` should say 2.0 or later", safetext.Escape(err.Error()))
	}
	return nil
}
