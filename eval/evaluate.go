package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/redact"
	"github.com/signalbox-dev/signalbox/safetext"
)

// evaluation is what all deliveries have in common.
type evaluation struct {
	options
	program   program
	signalbox string // the program's path
	dir       string // everything is below it
	redact    *redact.Redactor
}

// delivered is what a way makes of a task.
type delivered struct {
	state  state
	repo   string // that has the result; empty for the one that was worked in
	commit string // that is the result; empty for what the work begins from, in the repository that was worked in
	usage  delivery.Usage
	detail string
}

// room is where one delivery takes place.
type room struct {
	task task
	dir  string            // its own
	repo string            // the repository, below it
	env  map[string]string // that the agent's program gets besides its environment
}

// all delivers each task in each round and way, one after the other: at the same time they would slow each other down.
func (e evaluation) all(ctx context.Context, tasks []task, progress io.Writer) (results []result, err error) {
	if err := process.AdoptOrphans(); err != nil { // so that what an agent, or what it wrote, leaves running is found
		return nil, err
	}
	dir := filepath.Dir(tasks[0].dir)
	before, err := fingerprint(dir)
	if err != nil {
		return nil, err
	}
	for round := range e.rounds {
		for _, t := range tasks {
			for _, w := range []way{byAlone, bySignalbox} {
				r, err := e.one(ctx, t, w, round+1)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", t.name, w, err)
				}
				if now, err := fingerprint(dir); err != nil || now != before {
					return nil, errors.Join(fmt.Errorf("%s, %s: what is in %s was changed meanwhile, by the agent or by you, so no result counts: put it back, and begin again", t.name, w, dir), err)
				}
				fmt.Fprintf(progress, "%s, %s, round %d: %s, the hidden check %s: %s (%.0f s)\n", t.name, w, r.Round, r.State,
					map[bool]string{true: "passes", false: "fails"}[r.Passed], r.Verdict, r.Seconds)
				results = append(results, r)
			}
		}
	}
	return results, nil
}

// one delivers a task once, in one way, and checks what came of it.
func (e evaluation) one(ctx context.Context, t task, w way, round int) (r result, err error) {
	at := room{task: t, dir: filepath.Join(e.dir, fmt.Sprintf("%s-%s-%d", t.name, w, round))}
	at.repo = filepath.Join(at.dir, "repo")
	if err := os.Mkdir(at.dir, 0o700); err != nil {
		return r, err
	}
	if err := t.repository(ctx, at.repo); err != nil {
		return r, err
	}
	base, err := git(ctx, at.repo, "rev-parse", "HEAD")
	if err != nil {
		return r, err
	}
	if e.modelServer {
		server, failed := modeltest.Start(t.script)
		if failed != nil {
			return r, failed
		}
		defer func() { err = errors.Join(err, unexpected(server), server.Close()) }()
		if at.env, err = e.program.point(at.dir, server.URL()); err != nil {
			return r, err
		}
	}
	deliver := map[way]func(context.Context, room) (delivered, error){byAlone: e.alone, bySignalbox: e.box}[w]
	limited, cancel := context.WithTimeout(ctx, e.limit)
	defer cancel()
	began := time.Now()
	d, err := deliver(limited, at)
	took := time.Since(began)
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if err != nil {
		d = delivered{state: stateFailed, detail: err.Error(), usage: d.usage}
	}
	if d.commit == "" {
		d.repo, d.commit = at.repo, base
	}
	r = result{Task: t.name, Way: w, Round: round, State: d.state, Usage: d.usage, Seconds: took.Seconds()}
	why := ""
	if r.Passed, why, err = t.check(ctx, cmp.Or(d.repo, at.repo), d.commit, filepath.Join(at.dir, "result")); err != nil {
		return r, err
	}
	r.Verdict = judge(r.State, r.Passed, t.impossible)
	if r.Detail = d.detail; r.Detail == "" && !r.Passed {
		r.Detail = why
	}
	r.Detail = safetext.EscapeLines(cut(e.redact.Text(r.Detail))) // it is printed, and people pass it on
	return r, nil
}

// unexpected is an error if a model server was asked for what its script does not have: then the script is wrong, and no result counts.
func unexpected(s *modeltest.Server) error {
	for _, r := range s.Unexpected() {
		return fmt.Errorf("the script does not have what the model was asked: %s", r.Problem)
	}
	return nil
}
