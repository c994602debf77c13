package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// The test's program is also the other process, where this says what it shall do.
const (
	taskVariable = "STORE_TEST_TASK"
	pathVariable = "STORE_TEST_PATH"
	lookVariable = "STORE_TEST_LOOK"
)

func TestMain(m *testing.M) {
	var err error
	path := os.Getenv(pathVariable)
	switch os.Getenv(taskVariable) {
	case "":
		os.Exit(m.Run())
	case "halt":
		err = importAndHalt(path)
	case "share":
		err = importShare(path, os.Getenv(lookVariable))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child starts another process. It ends when its standard input does, at the latest with the
// test.
func child(t *testing.T, task, path, look string) (*exec.Cmd, io.WriteCloser, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), taskVariable+"="+task, pathVariable+"="+path, lookVariable+"="+look)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, bufio.NewScanner(out)
}

const whole = 30 * batchLines

// importAndHalt imports, and stays for ever at the look at its context that it was told.
func importAndHalt(path string) error {
	look, err := strconv.Atoi(os.Getenv(lookVariable))
	if err != nil {
		return err
	}
	s, err := Open(context.Background(), path)
	if err != nil {
		return err
	}
	n := 0
	ctx := &probe{Context: context.Background(), at: func() error {
		if n++; n == look {
			fmt.Println("halted")
			_, _ = io.Copy(io.Discard, os.Stdin)
		}
		return nil
	}}
	if _, err := s.ImportTransactions(ctx, named("second"), history(whole), nil); err != nil {
		return err
	}
	fmt.Println("imported")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// However far an import came when its process was killed, the file has nothing of it; and all
// when it had returned.
func TestKilledWhileImporting(t *testing.T) {
	looks := 0
	s := openNew(t)
	if _, err := s.ImportTransactions(&probe{Context: t.Context(), at: func() error { looks++; return nil }}, named("second"), history(whole), nil); err != nil {
		t.Fatal(err)
	}
	for _, look := range []int{1, looks / 2, looks/2 + 10, looks - 10, looks - 2, looks + 1} {
		path := filepath.Join(t.TempDir(), "portfolio.db")
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		before := []portfolio.Transaction{bought(1, "BEFORE", "1")}
		if _, err := s.ImportTransactions(t.Context(), named("first"), before, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		cmd, _, out := child(t, "halt", path, strconv.Itoa(look))
		if !out.Scan() {
			t.Fatalf("look %d: the process said nothing: %v", look, out.Err())
		}
		said := out.Text()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed

		want := 1
		if said == "imported" {
			want += whole
		}
		if (said == "imported") != (look > looks) {
			t.Errorf("look %d of %d: %s", look, looks, said)
		}
		s = reopen(t, path)
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("look %d: %v", look, err)
		}
		got, err := s.Transactions(t.Context(), everyDay)
		if err != nil || len(got) != want {
			t.Errorf("look %d, %s: %d transactions, %v, want %d", look, said, len(got), err, want)
		}
		if imports, err := s.Imports(t.Context()); err != nil || len(imports) != min(want, 2) {
			t.Errorf("look %d, %s: %d imports, %v", look, said, len(imports), err)
		}
	}
}

const (
	shares    = 3
	shareSize = 400
	rounds    = 20
)

// importShare imports a window of the history, a bit further with every round, and reads in
// between.
func importShare(path, which string) error {
	first, err := strconv.Atoi(which)
	if err != nil {
		return err
	}
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := Open(ctx, path)
	if err != nil {
		return err
	}
	all := history(shares*shareSize + rounds)
	for round := range rounds {
		from := first*shareSize/2 + round
		if _, err := s.ImportTransactions(ctx, named(fmt.Sprint(which, round)), all[from:from+shareSize], nil); err != nil {
			return err
		}
		if _, err := s.Transactions(ctx, everyDay); err != nil {
			return err
		}
	}
	return s.Close()
}

// Several processes make the file and import overlapping files into it at once: all of it is
// there, once.
func TestProcessesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portfolio.db")
	var children []*exec.Cmd
	var starts []io.WriteCloser
	for which := range shares {
		cmd, in, _ := child(t, "share", path, strconv.Itoa(which))
		children, starts = append(children, cmd), append(starts, in)
	}
	for _, start := range starts {
		if _, err := start.Write([]byte{'\n'}); err != nil {
			t.Fatal(err)
		}
	}
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	s := reopen(t, path)
	got, err := s.Transactions(t.Context(), everyDay)
	if want := (shares-1)*shareSize/2 + rounds - 1 + shareSize; err != nil || len(got) != want {
		t.Errorf("%d transactions, %v, want %d", len(got), err, want)
	}
	if imports, err := s.Imports(t.Context()); err != nil || len(imports) != shares*rounds {
		t.Errorf("%d imports, %v", len(imports), err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
