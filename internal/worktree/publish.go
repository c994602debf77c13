package worktree

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// What keeps a pull request from being opened.
var (
	ErrNoBranch = errors.New("a pull request needs a branch to be for, and HEAD was on none when the run was started")
	ErrNoGH     = errors.New("pull requests are opened by the gh program, which was not found: install it and log in, or set merge: branch")
)

// PullRequest asks for a branch to be merged to another one by its forge.
type PullRequest struct {
	Branch, Onto string
	Title, Body  string
}

// Publish pushes a branch to origin and opens a pull request for it with the gh
// program, unless there is one. It returns the pull request's address.
func (r *Repo) Publish(ctx context.Context, p PullRequest) (string, error) {
	if p.Onto == "" {
		return "", ErrNoBranch
	}
	if _, err := r.read(ctx, r.home, "push", "--quiet", "origin", "refs/heads/"+p.Branch+":refs/heads/"+p.Branch); err != nil {
		return "", err
	}
	if url, err := r.gh(ctx, "pr", "view", p.Branch, "--json", "url", "--jq", ".url"); err == nil && url != "" {
		return url, nil
	}
	out, err := r.gh(ctx, "pr", "create", "--head", p.Branch, "--base", p.Onto, "--title", p.Title, "--body", p.Body)
	if err != nil {
		return "", err
	}
	lines := strings.Fields(out)
	if len(lines) == 0 {
		return "", errors.New("gh did not say where the pull request is")
	}
	return lines[len(lines)-1], nil
}

// gh runs the gh program in the checkout and returns what it prints.
func (r *Repo) gh(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := r.limit(ctx, 0)
	defer cancel()
	out, err := runGH(ctx, r.home.dir, maxOutput, args...)
	if errors.Is(err, exec.ErrNotFound) {
		err = ErrNoGH
	}
	return strings.TrimSpace(string(out)), err
}

// runGH runs the gh program in a directory and returns the first of what it prints, or [ErrTooMuch]. If there is no
// such program the error is [exec.ErrNotFound]; if it fails, an [exec.ExitError] with its last words.
func runGH(ctx context.Context, dir string, most int, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "gh", args...)
	cmd.Dir = dir
	cmd.Env = append(environment(), "GH_PROMPT_DISABLED=1")
	out := limited{most: most}
	var stderr tail
	cmd.Stdout, cmd.Stderr = &out, &stderr
	ownGroup(cmd)
	cmd.WaitDelay = endGrace
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, err
	case ctx.Err() != nil && err != nil:
		endGroup(cmd)
		return nil, fmt.Errorf("gh %s was stopped: %w", args[1], context.Cause(ctx))
	case err != nil:
		endGroup(cmd)
		return nil, fmt.Errorf("gh %s: %w: %s", args[1], err, safetext.EscapeLines(strings.TrimSpace(string(stderr))))
	case out.over:
		return nil, fmt.Errorf("gh %s: %w", args[1], ErrTooMuch)
	}
	return out.text, nil
}
