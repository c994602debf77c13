package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
)

// What a reply leaves out is in a file of the box's directory, which the reply names; a reply that has all writes none.
func TestStatusForAgentKeepsTheWhole(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := &app{dir: t.TempDir()}
	small := status{Run: &api.Run{ID: "R1", State: api.RunRunning}, Box: api.BoxStatus{Writable: true}}
	told := func(s status) agentformat.Response[agentreply.RunSnapshot] {
		t.Helper()
		reply, err := a.statusForAgent(s, true, now)
		if err != nil {
			t.Fatal(err)
		}
		return reply.(agentformat.Response[agentreply.RunSnapshot])
	}
	if got := told(small); got.FilePath != nil || got.FileError != "" {
		t.Errorf("a file was made for all of it: %v", got)
	}
	if _, err := os.Stat(filepath.Join(a.dir, agentreply.Directory)); !os.IsNotExist(err) {
		t.Errorf("a directory was made for nothing: %v", err)
	}
	large := status{Run: &api.Run{ID: "R1", State: api.RunRunning}, Box: api.BoxStatus{Writable: true}}
	for i := range 1000 {
		name := fmt.Sprintf("T-%d", i)
		large.Tasks = append(large.Tasks, api.Task{ID: name, Work: "R1." + name, Title: strings.Repeat("far ", 100), Phase: agentsig.PhaseImplementation, GateFailed: 1})
	}
	got := told(large)
	if got.FilePath == nil || filepath.Dir(*got.FilePath) != filepath.Join(a.dir, agentreply.Directory) {
		t.Fatalf("the file is %v, %s", got.FilePath, got.FileError)
	}
	data, err := os.ReadFile(*got.FilePath)
	if err != nil {
		t.Fatal(err)
	}
	var whole agentreply.RunSnapshot
	if err := json.Unmarshal(data, &whole); err != nil || len(whole.Tasks) != 1000 || len(whole.Failing.First) != 1000 || whole.Tasks[999].Title != strings.Repeat("far ", 100) {
		t.Errorf("the file has %d tasks, %d that fail: %v", len(whole.Tasks), len(whole.Failing.First), err)
	}
	large.Box = api.BoxStatus{Reason: "the disk is full"}
	if _, err := a.statusForAgent(large, true, now); err == nil || agentreply.Failed(err).Flags[0].Name != agentreply.FlagBoxNotWritable {
		t.Errorf("a box that can't write is told as %v", err)
	}
	ending := status{Run: &api.Run{ID: "R1", State: api.RunEnding}, Box: api.BoxStatus{Writable: true}}
	for running, want := range map[bool]string{true: agentreply.FlagRunEnding, false: agentreply.FlagRunStopped} {
		got, err := a.statusForAgent(ending, running, now)
		if err != nil || !strings.Contains(fmt.Sprint(got.(agentformat.Response[agentreply.RunSnapshot]).Flags), want) {
			t.Errorf("a run that ends, running %t: %v, %v", running, got, err)
		}
	}
	none, err := a.statusForAgent(status{Box: api.BoxStatus{Writable: true}}, true, now)
	if err != nil || none.(agentformat.Response[agentreply.RunsSnapshot]).Flags[0].Name != agentreply.FlagNoRuns {
		t.Errorf("no run is told as %v: %v", none, err)
	}
}
