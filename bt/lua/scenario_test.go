package lua

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/signalbox-dev/signalbox/internal/rehearsal"
)

// TestScenarios rehearses the trees in testdata/scenarios. A file says on top what it
// shows, and has the tree, what its leaves answer, and the trace that must come of it,
// which -update writes. To add a scenario, add a file without a trace.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(archive.Comment)) == 0 {
				t.Error("it does not say what it shows")
			}
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			var got bytes.Buffer
			if err := rehearse(t, parts["tree.lua"], parts["results"], &got); err != nil {
				got.WriteString("error: " + err.Error() + "\n")
			}
			if *update {
				archive.Files = []txtar.File{{Name: "tree.lua", Data: []byte(parts["tree.lua"])},
					{Name: "results", Data: []byte(parts["results"])}, {Name: "trace", Data: got.Bytes()}}
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(parts["trace"], got.String()); d != "" {
				t.Errorf("(-want +got; -update writes it):\n%s", d)
			}
		})
	}
}

func rehearse(t *testing.T, tree, results string, out *bytes.Buffer) error {
	t.Helper()
	loaded, err := Load(t.Context(), "tree.lua", []byte(tree))
	if err != nil {
		return err
	}
	parsed, err := rehearsal.Parse(results)
	if err != nil {
		return err
	}
	_, err = rehearsal.Rehearse(loaded, parsed, out)
	return err
}
