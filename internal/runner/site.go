package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Site is a checkout of the user's, with the settings by which plans are delivered in it. To look at it
// changes nothing, and takes no runner.
type Site struct {
	repo   *worktree.Repo
	config config.Config
}

// OpenSite opens the checkout that a directory is in.
func OpenSite(ctx context.Context, dir string, c config.Config) (Site, error) {
	repo, err := worktree.Open(ctx, dir)
	return Site{repo, c}, err
}

// Root returns the user's checkout.
func (s Site) Root() string { return s.repo.Root() }

// Head returns the branch that the user's checkout is on, and its commit.
func (s Site) Head(ctx context.Context) (branch, commit string, err error) {
	branch, commit, err = s.repo.Head(ctx)
	if errors.Is(err, worktree.ErrNoCommit) {
		err = order.ErrNoCommit
	}
	return branch, commit, err
}

// Author returns the name and the address that commits here are made by; empty if git knows none.
func (s Site) Author(ctx context.Context) (name, address string, err error) {
	return s.repo.Author(ctx)
}

// Witnesses calls f with the messages of the commits that name a checkpoint of a ledger, those on agents' own
// branches left out.
func (s Site) Witnesses(ctx context.Context, origin string, f func(message string)) error {
	return s.repo.Messages(ctx, trailer.Witness(origin), allTaskBranches, f)
}

// Unprotected says in words which verdicts of a run could be forged by what is judged.
func (s Site) Unprotected() []string { return Unprotected(s.config) }

// Ready reports why a run could not be carried out here as the settings want it: a sandbox can't be made, a
// reviewer could not be protected, a program is missing, or an expert could not ask its model.
func (s Site) Ready() error {
	for _, can := range []func() error{s.canConfine, s.canReview, s.canStart} {
		if err := can(); err != nil {
			return err
		}
	}
	return nil
}

// canStart refuses roles whose programs are not here, or could not ask their model.
func (s Site) canStart() error {
	for _, role := range agentsig.Roles() {
		name := s.config.Role(role).Agent
		if agent, ok := s.config.Agents[name]; ok {
			if _, err := agent.Find(s.config.Dir); err != nil {
				return fmt.Errorf("%w (%s, which plays %s: %w)", order.ErrNoProgram, safetext.Escape(name), role, err)
			}
			if agent.Adapter != config.AdapterAsk {
				continue
			}
			if err := agent.TryAsk(context.Background(), s.config.Dir); err != nil { // it takes a moment, and no more than it may
				return fmt.Errorf("%w (%s, which plays %s: %w)", order.ErrNoModel, safetext.Escape(name), role, err)
			}
		}
	}
	return nil
}

// canReview refuses reviewers whose verdicts could be forged although they are confined,
// unless the settings say that this may be.
func (s Site) canReview() error {
	if s.config.Review == config.ReviewUnprotected {
		return nil
	}
	var all []string
	for _, role := range agentsig.Roles() {
		if s.config.Role(role).Sandbox == sandbox.None {
			continue // a run says what is not protected then
		}
		if err := Protect(s.config, role); err != nil {
			all = append(all, fmt.Sprintf("the %s: %v", role, err))
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("%w (%s)", order.ErrUnprotected, strings.Join(all, "; "))
	}
	return nil
}

// canConfine reports why the sandboxes of the settings can't be made, if that is so.
func (s Site) canConfine() error {
	kinds := []sandbox.Kind{s.config.Sandbox.Kind}
	for _, role := range agentsig.Roles() {
		kinds = append(kinds, s.config.Role(role).Sandbox)
	}
	slices.Sort(kinds)
	kinds = slices.DeleteFunc(slices.Compact(kinds), func(k sandbox.Kind) bool { return k == sandbox.None })
	for _, kind := range kinds {
		if err := sandbox.Available(kind); err != nil {
			return fmt.Errorf("%w (%w)", order.ErrNoSandbox, err)
		}
	}
	for _, path := range s.config.Sandbox.Write {
		if _, err := os.Stat(path); err != nil && len(kinds) > 0 {
			return fmt.Errorf("%w (sandbox.write: %w: make it, or take it out)", order.ErrNoSandbox, err)
		}
	}
	return nil
}
