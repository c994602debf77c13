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
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
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

// Sample is the variable that says how many mutants are run: one in so many, and none if it is not
// set. All of them fit the sources in any case, or it is an error.
const Sample = "SIGNALBOX_MUTANTS_ONE_IN"

// Check fails the test unless one of the tests that match the pattern, in the package in dir, fails
// with the mutant. It skips a mutant that is not in the [Sample].
func (m Mutant) Check(t *testing.T, dir, pattern string) {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(dir, m.File)
	changed, err := m.change(source)
	if err != nil {
		t.Fatal(err)
	}
	oneIn := os.Getenv(Sample)
	if oneIn == "" {
		t.Skipf("it fits the sources; %s=1 has it compiled and run, as go run ./internal/mutant/due -run does", Sample)
	}
	n, err := strconv.ParseUint(oneIn, 10, 32)
	if err != nil || n == 0 {
		t.Fatalf("%s is %q: want how many mutants one of is run, as 8", Sample, oneIn)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(m.Name))    // which never fails
	if h.Sum32()>>12%uint32(n) != 0 { // its low bits are those of a few letters
		t.Skipf("it fits the sources; one mutant in %d is run, as %s says", n, Sample)
	}
	if err := m.run(t.Context(), dir, source, changed, pattern); err != nil {
		t.Error(err)
	}
}

// Noticed is a mutant, and the tests that have to notice it.
type Noticed struct {
	By string // a pattern
	Mutant
}

// By says of mutants that the same tests have to notice them.
func By(tests string, mutants []Mutant) []Noticed {
	all := make([]Noticed, len(mutants))
	for i, m := range mutants {
		all[i] = Noticed{By: tests, Mutant: m}
	}
	return all
}

// All checks mutants of the package in the working directory side by side, each in a test of its own.
func All(t *testing.T, mutants []Noticed) {
	t.Helper()
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			m.Check(t, ".", m.By)
		})
	}
}

// change returns the source with the mutant.
func (m Mutant) change(source string) ([]byte, error) {
	data, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(data, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("mutant %q: %q stands in %s %d times, want once", m.Name, m.Old, m.File, n)
	}
	return bytes.Replace(data, []byte(m.Old), []byte(m.New), 1), nil
}

// run compiles the package in dir with the mutant and runs the tests that match
// the pattern. It returns nil if one of them fails, [Survived] if none does, and
// another error if the mutant does not compile.
func (m Mutant) run(ctx context.Context, dir, source string, mutated []byte, pattern string) error {
	temp, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left of it harms nobody
	changed := filepath.Join(temp, filepath.Base(m.File))
	if err := os.WriteFile(changed, mutated, 0o600); err != nil {
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
	// The first test that fails is enough, and nobody wants to know what vet says.
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-failfast", "-run", pattern, "-skip", "Mutant", ".")
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
