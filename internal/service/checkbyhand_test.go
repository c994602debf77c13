package service

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Work by hand is checked without agents too. That needs a repository, unless nothing is started; and no plan is delivered by it.
func TestCheckByHandAlone(t *testing.T) {
	repo := gittest.New(t)
	settings := func(dir string) config.Config {
		t.Helper()
		c, err := config.Parse(filepath.Join(dir, config.File), []byte("gate: {checks: on}\nchecks: [{name: test, command: 'true'}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	o := optionsIn(t, repo)
	o.Config = settings(repo)
	s, _, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Conductor.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, ""); err == nil {
		t.Error("a plan is delivered without agents")
	}
	if _, err := s.Box.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "T-1", Title: "t", Phase: agentsig.PhaseCIPending, Branch: "none"}, ""); err != nil {
		t.Fatal(err)
	}
	closed(t, s)

	elsewhere := t.TempDir()
	o.Config = settings(elsewhere)
	if s, _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "gate.checks is on") {
		if err == nil {
			closed(t, s)
		}
		t.Errorf("without a repository: %v", err)
	}
	o.Draining = true
	s, _, err = Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, s)
}
