// Package mutant checks that tests can fail: it breaks a package on purpose,
// one rule at a time, and sees whether the package's own tests notice.
//
// A mutant is a textual change of one source file. It is compiled in place of
// that file by the go command's -overlay flag, so the sources stay untouched
// and need no hooks for tests.
package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Mutant is one rule dropped.
type Mutant struct {
	Name string // the rule, in words
	File string // from the package's directory; it may be another package's, as ../other/file.go
	Old  string // what to replace; it stands in the file exactly once
	New  string
}

// Survived is the error for a mutant that no test noticed.
type Survived struct{ Mutant Mutant }

func (e *Survived) Error() string {
	return fmt.Sprintf("no test noticed: %s (%s: %q became %q)", e.Mutant.Name, e.Mutant.File, e.Mutant.Old, e.Mutant.New)
}

// Run compiles the package in dir with the mutant and runs the tests that match
// the pattern. It returns nil if one of them fails, [Survived] if none does, and
// another error if the mutant can't be made or does not compile.
func (m Mutant) Run(ctx context.Context, dir, pattern string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	source := filepath.Join(dir, m.File)
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if n := strings.Count(string(data), m.Old); n != 1 {
		return fmt.Errorf("mutant %q: %q stands in %s %d times, want once", m.Name, m.Old, m.File, n)
	}
	temp, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left of it harms nobody
	changed := filepath.Join(temp, filepath.Base(m.File))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(data), m.Old, m.New, 1)), 0o600); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: changed}})
	if err != nil {
		return err
	}
	overlayFile := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return err
	}
	// The mutants themselves are skipped, whatever the pattern is: they would run each other without end.
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-run", pattern, "-skip", "Mutant", ".")
	cmd.Dir = dir
	// A program that the tests build has the mutant too.
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlayFile))
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return &Survived{m}
	case bytes.Contains(out, []byte("--- FAIL")) || bytes.Contains(out, []byte("panic:")):
		return nil
	}
	return fmt.Errorf("mutant %q did not run: %w\n%s", m.Name, err, out)
}
