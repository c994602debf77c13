package service

import (
	"path/filepath"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/work"
)

const onePlan = "# A plan\n\n#### Task T-1: The task\n\n**Work**: Do it.\n\n**Blocked By**: none\n"

// optionsIn are those of a service that delivers plans in a repository, by agents whose program ends at once.
func optionsIn(t *testing.T, repo string) Options {
	t.Helper()
	settings, err := config.Parse(filepath.Join(repo, config.File), []byte("agents: {none: {command: [\"false\"]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return Options{Box: box.Options{Dir: box.Dir(filepath.Join(repo, ".signalbox"))}, Config: settings, Program: "false"}
}

// open opens such a service.
func open(t *testing.T, repo string) *Service {
	t.Helper()
	s, _, err := Open(t.Context(), optionsIn(t, repo))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// closed closes a service.
func closed(t *testing.T, s *Service) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// deliver starts a run of the plan.
func deliver(t *testing.T, s *Service) api.Run {
	t.Helper()
	r, err := s.Conductor.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unfinished returns a repository with a box in it that has a run which has not ended.
func unfinished(t *testing.T) (repo string) {
	t.Helper()
	repo = gittest.New(t)
	s := open(t, repo)
	s.Conductor.Drain(t.Context())
	deliver(t, s)
	closed(t, s)
	return repo
}
