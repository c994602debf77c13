package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/safetext"
)

// An agent's program must be able to write what it keeps, or logins would not stay good; and
// beside the logins lie settings, hooks and instructions, which the same program follows when it
// reviews. So these are looked at before the first agent of a run is started, and again before
// each reviewer is started and before its word is taken.

// followed is what the programs of reviewers follow, and how it was.
type followed struct {
	file string             // that keeps it, so that a box that was killed does not forget
	dirs []sandbox.Followed // empty if nobody is confined: then nothing is protected
	mu   sync.Mutex
}

// followedState is what the file keeps.
type followedState struct {
	Dirs []string     `json:"dirs"` // that were looked at
	Seen sandbox.Seen `json:"seen"`
	Told []string     `json:"told,omitempty"` // what was changed, and nobody has agreed to yet
}

// judges are the roles whose word decides, or is heard by one that does.
var judges = []agentsig.Role{agentsig.RoleCritic, agentsig.RoleAuditor, agentsig.RoleExpert}

func newFollowed(dir string, c config.Config) *followed {
	f := &followed{file: filepath.Join(dir, "followed.json")}
	if !slices.ContainsFunc(agentsig.Roles(), func(r agentsig.Role) bool { return c.Role(r).Sandbox != sandbox.None }) {
		return f
	}
	for _, role := range judges {
		agent, ok := c.Agents[c.Role(role).Agent]
		if !ok {
			continue
		}
		getenv := func(name string) string { return cmp.Or(agent.Env[name], os.Getenv(name)) }
		for _, d := range sandbox.FindFollowed(agent.Resolve(c.Dir), getenv("HOME"), getenv, c.Sandbox.Write) {
			if !slices.ContainsFunc(f.dirs, func(o sandbox.Followed) bool { return o.Dir == d.Dir }) {
				f.dirs = append(f.dirs, d)
			}
		}
	}
	return f
}

// read returns what is kept; nothing, if no run was started yet.
func (f *followed) read() (s followedState, err error) {
	data, err := os.ReadFile(f.file)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

func (f *followed) write(s followedState) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return durable.WriteFile(f.file, data)
}

// look returns how everything is now, and in words what can't be read.
func (f *followed) look() (now sandbox.Seen, unread []string) {
	now = sandbox.Seen{}
	for _, d := range f.dirs {
		unread = append(unread, d.Look(now)...)
	}
	return now, unread
}

// take keeps how everything is: of all directories, or only of those that were not looked at
// before. What was changed, and nobody has agreed to, stays changed.
func (f *followed) take(all bool) (unread []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, err := f.read()
	if err != nil || len(f.dirs) == 0 {
		return nil, err
	}
	s := followedState{Told: before.Told}
	s.Seen, unread = f.look()
	for _, d := range f.dirs {
		s.Dirs = append(s.Dirs, d.Dir)
	}
	stays := func(path string) bool {
		return slices.Contains(before.Told, path) || !all && sandbox.InAny(path, before.Dirs)
	}
	for path := range s.Seen {
		if stays(path) {
			delete(s.Seen, path)
		}
	}
	for path, digest := range before.Seen {
		if stays(path) && sandbox.InAny(path, s.Dirs) {
			s.Seen[path] = digest
		}
	}
	return unread, f.write(s)
}

// changed returns what is not as it was, and keeps that it was told.
func (f *followed) changed() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.dirs) == 0 {
		return nil, nil
	}
	s, err := f.read()
	if err != nil {
		return nil, err
	}
	now, _ := f.look() // what can't be read was said when it was taken, or is a change
	changed := s.Seen.Changed(now)
	if slices.Equal(changed, s.Told) {
		return changed, nil
	}
	s.Told = changed
	return changed, f.write(s)
}

// accept takes what was told as it is now.
func (f *followed) accept() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.read()
	if err != nil {
		return err
	}
	now, _ := f.look() // as above
	for _, path := range s.Told {
		if digest, ok := now[path]; ok {
			s.Seen[path] = digest
		} else {
			delete(s.Seen, path)
		}
	}
	s.Told = nil
	return f.write(s)
}

// lookFollowed looks how everything is that reviewers' programs follow, before an agent is
// started: anew, unless agents of another run have been able to write it since.
func (x *Runner) lookFollowed(alone bool) error {
	unread, err := x.followed.take(alone)
	for _, what := range unread {
		x.logger.Warn("what reviewers' programs follow can't be looked at", "error", what)
	}
	return err
}

// LeaveFollowed looks once more when a run has ended, so that what its agents changed is told
// in the next one.
func (x *Runner) LeaveFollowed(run string) {
	changed, err := x.followed.changed()
	if err != nil || len(changed) > 0 {
		x.logger.Warn("what reviewers' programs follow was changed while agents could write it; the next run will be paused for it", "run", run, "paths", changed, "error", err)
	}
}

// AcceptFollowed takes what a run was paused for as the operator's will, who resumes it.
func (x *Runner) AcceptFollowed() error { return x.followed.accept() }

// errDistrust is why a reviewer is not started.
var errDistrust = errors.New("what its program follows was changed")

// trust refuses to start a reviewer whose program would follow what an agent may have written,
// and pauses the run.
func (x *Runner) trust(ctx context.Context, o order.Order) error {
	if !o.Reviews {
		return nil
	}
	reason, err := x.Distrust(o.Run.ID, o.Session.ID)
	if err != nil || reason == "" {
		return err
	}
	if err := x.tell(ctx, o, delivery.Distrust{Session: o.Session.ID, Reason: reason}); err != nil {
		return err
	}
	return errDistrust
}

// Distrust says in words why no reviewer of a run is to be believed now, and what to do; "" if there is no reason.
func (x *Runner) Distrust(run, _ string) (string, error) {
	changed, err := x.followed.changed()
	if err != nil || len(changed) == 0 {
		return "", err
	}
	return x.redact(distrustWords(changed, run)), nil
}

// distrustWords says what was changed, and what to do.
func distrustWords(changed []string, run string) string {
	home, most := os.Getenv("HOME"), 3
	var names []string
	for _, path := range changed[:min(most, len(changed))] {
		if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
			path = "~/" + filepath.ToSlash(rest)
		}
		names = append(names, safetext.Escape(path))
	}
	if more := len(changed) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("reviewers follow %s, which was changed while agents could write it: look at it, then `signalbox pause --resume %s`", strings.Join(names, ", "), run)
}
