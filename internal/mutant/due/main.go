// Command due says which packages' seeded faults have to be put in: those of packages that
// changed since all of their faults were noticed.
//
//	go run ./internal/mutant/due             prints the packages, one on a line
//	go run ./internal/mutant/due -run        puts in all faults of these, and notes each package that passes
//	go run ./internal/mutant/due -run -all   the same with every package that has faults
//
// What passed is in passed.txt: a package, and the hash of what its faults and tests are made of.
// A package without a line that fits is due, so a file that is old, cut or missing costs time only.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// passed has what passed; from the module's root.
const passed = "internal/mutant/due/passed.txt"

func main() {
	run := flag.Bool("run", false, "put in all faults of the packages, and note those that pass")
	all := flag.Bool("all", false, "every package with faults, changed or not")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := due(ctx, os.Stdout, *run, *all)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "due:", err)
		os.Exit(1)
	}
}

// due prints the packages of the working directory's module that are due, or puts in their faults.
func due(ctx context.Context, out io.Writer, run, all bool) error {
	m, err := load(ctx)
	if err != nil {
		return err
	}
	before, err := readPassed(filepath.Join(m.root, passed))
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range m.seeded() {
		hash, err := m.hash(p)
		if err != nil {
			return err
		}
		switch {
		case !all && before[p] == hash:
		case !run:
			fmt.Fprintln(out, p)
		default:
			n, err := pass(ctx, m.root, p, hash)
			if err != nil {
				fmt.Fprintln(out, err)
				failed = append(failed, fmt.Errorf("the faults of %s are not all noticed: see above", p))
				continue
			}
			fmt.Fprintf(out, "%s: %d faults, all noticed\n", p, n)
		}
	}
	return errors.Join(failed...)
}

// pass puts in all faults of a package, and notes its hash if they are noticed. It returns how many they are.
func pass(ctx context.Context, root, p, hash string) (int, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=120m", "-v", "-run=Mutants", p)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "SIGNALBOX_MUTANTS_ONE_IN=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", p, err, out)
	}
	if bytes.Contains(out, []byte("--- SKIP")) {
		return 0, fmt.Errorf("%s: a fault was not put in:\n%s", p, out)
	}
	m, err := load(ctx)
	if err != nil {
		return 0, err
	}
	after, err := m.hash(p)
	if err != nil {
		return 0, err
	}
	if after != hash {
		return 0, fmt.Errorf("%s: its files changed while the faults were put in, so it is not noted; run it again", p)
	}
	noted, err := readPassed(filepath.Join(root, passed))
	if err != nil {
		return 0, err
	}
	noted[p] = hash
	return bytes.Count(out, []byte("    --- PASS")), writePassed(filepath.Join(root, passed), noted)
}

// readPassed reads the hash of each package that passed. What is no such line passes for nothing.
func readPassed(name string) (map[string]string, error) {
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	hashes := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if p, hash, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			hashes[p] = hash
		}
	}
	return hashes, nil
}

func writePassed(name string, hashes map[string]string) error {
	lines := make([]string, 0, len(hashes))
	for p, hash := range hashes {
		lines = append(lines, p+" "+hash+"\n")
	}
	slices.Sort(lines)
	return os.WriteFile(name, []byte(strings.Join(lines, "")), 0o644)
}
