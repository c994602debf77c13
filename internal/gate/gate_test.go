package gate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// one runs a single check.
func one(t *testing.T, c Check, o Options) Result {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	report, err := Run(t.Context(), []Check{c}, o)
	if err != nil {
		t.Fatal(err)
	}
	return report.Checks[0]
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	checks := []Check{
		{Name: "passes", Command: "echo out; echo err >&2"},
		{Name: "fails", Command: "printf no; exit 3"},
		{Name: "fails as it should", Command: "exit 3", Exit: 3},
		{Name: "should fail", Command: "true", Exit: 3},
		{Name: "not found", Command: "no-such-command-here"},
		{Name: "not executable", Command: "/"},
		{Name: "killed", Command: "kill -9 $$"},
	}
	report, err := Run(t.Context(), checks, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.Took <= 0 {
			t.Errorf("%s took %v", c.Name, c.Took)
		}
	}
	for i, said := range map[int]string{4: "not found]", 5: "can't be executed]"} {
		if c := &report.Checks[i]; !strings.HasSuffix(c.Output, said+"\n") {
			t.Errorf("%s: %q", c.Name, c.Output)
		} else {
			c.Output = "" // the shell's words, and ours
		}
	}
	want := []Result{
		{Name: "passes", Passed: true, Output: "out\nerr\n"},
		{Name: "fails", Exit: 3, Output: "no\n[exit code 3, not 0]\n"},
		{Name: "fails as it should", Passed: true, Exit: 3},
		{Name: "should fail", Output: "[exit code 0, not 3]\n"},
		{Name: "not found", Exit: 127},
		{Name: "not executable", Exit: 126},
		{Name: "killed", Exit: 137, Output: "[exit code 137, not 0]\n"},
	}
	if diff := cmp.Diff(want, report.Checks, cmpopts.IgnoreFields(Result{}, "Took")); diff != "" {
		t.Error(diff)
	}
	if report.Passed() {
		t.Error("it passed")
	}
	if diff := cmp.Diff([]string{"fails", "should fail", "not found", "not executable", "killed"}, report.Failed()); diff != "" {
		t.Error(diff)
	}
}

// A check that fails and then passes is flaky, and what it printed when it failed is kept.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	flaky := Check{Name: "flaky", Command: "echo run; mkdir once && exit 1; true"}
	r := one(t, flaky, Options{Dir: dir}).Again(one(t, flaky, Options{Dir: dir}))
	if diff := cmp.Diff(Result{Name: "flaky", Passed: true, Flaky: true, Output: "run\n[exit code 1, not 0]\n"}, r, cmpopts.IgnoreFields(Result{}, "Took")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"flaky"}, Report{Checks: []Result{r}}.Flaky()); diff != "" {
		t.Error(diff)
	}
	fails := Check{Command: "exit 1"}
	if r := one(t, fails, Options{Dir: dir}).Again(one(t, fails, Options{Dir: dir})); r.Passed || r.Flaky {
		t.Errorf("%+v", r)
	}
}

func TestNoChecks(t *testing.T) {
	report, err := Run(t.Context(), nil, Options{})
	if len(report.Checks) > 0 || !report.Passed() || err != nil {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestCannotStart(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	checks := []Check{{Name: "x", Command: "true"}}
	if report, err := Run(t.Context(), checks, Options{Dir: gone}); err == nil || len(report.Checks) > 0 {
		t.Errorf("a directory that is gone: %+v", report)
	}
	t.Setenv("PATH", t.TempDir())
	if report, err := Run(t.Context(), checks, Options{Dir: t.TempDir()}); err == nil || len(report.Checks) > 0 {
		t.Errorf("no shell: %+v", report)
	}
}

func TestEnvironment(t *testing.T) {
	for _, name := range []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "GEMINI_CLI", "SIGNALBOX_SESSION", "GIT_DIR", "GIT_INDEX_FILE"} {
		t.Setenv(name, "outer")
	}
	t.Setenv("KEPT", "kept")
	for _, c := range []struct{ environment, want string }{
		{"A=1 B=x=y", "1 x=y kept own"},
		{"linux, A=1", "  kept own"},
		{"", "  kept own"},
	} {
		dir := t.TempDir()
		r := one(t, Check{Environment: c.environment, Command: `echo "$A $B $KEPT $OWN"; env | grep =outer`, Exit: 1}, Options{Dir: dir, Env: []string{"OWN=own"}})
		if r.Output != c.want+"\n" {
			t.Errorf("%q gives %q", c.environment, r.Output)
		}
	}
	if r := one(t, Check{Command: "echo $SIGNALBOX_SESSION"}, Options{Session: "gate-1"}); r.Output != "gate-1\n" {
		t.Errorf("the marker is %q", r.Output)
	}
}

// gone sees that nothing is left of a session.
func gone(t *testing.T, session string) {
	t.Helper()
	if left, err := process.Sweep(session); left != 0 || err != nil {
		t.Errorf("%d processes were left (%v)", left, err)
	}
}

func TestTimeout(t *testing.T) {
	session := t.TempDir() // nobody else has this name
	// By then it has begun, also on a busy machine.
	r := one(t, Check{Command: "sleep 60 & echo begun; wait", Timeout: 4 * time.Second}, Options{Session: session})
	if r.Passed || !r.TimedOut || r.Output != "begun\n[ended after 4s]\n" {
		t.Errorf("%+v", r)
	}
	gone(t, session)
}

func TestChildKeepsOutputOpen(t *testing.T) {
	session := t.TempDir()
	r := one(t, Check{Command: "sleep 100000 & echo done"}, Options{Session: session})
	if !r.Passed || r.Output != "done\n" {
		t.Errorf("%+v", r)
	}
	gone(t, session)
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by the operator")
	log := writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("begun\n")) {
			cancel(stopped)
		}
		return len(p), nil
	})
	checks := []Check{{Name: "a", Command: "true"}, {Name: "b", Command: "echo beg''un; exec sleep 60"}, {Name: "c", Command: "true"}}
	report, err := Run(ctx, checks, Options{Dir: t.TempDir(), Log: log})
	if !errors.Is(err, stopped) || len(report.Checks) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestEndlessPrinter(t *testing.T) {
	var log counter
	r := one(t, Check{Command: "yes ééééé", Timeout: 3 * time.Second}, Options{Log: &log})
	if !r.TimedOut || len(r.Output) > maxOutput || len(r.Output) < maxOutput-4 || !utf8.ValidString(r.Output) {
		t.Errorf("%d bytes", len(r.Output))
	}
	if log > maxLog+1000 {
		t.Errorf("%d bytes were logged", log)
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func TestLog(t *testing.T) {
	var log bytes.Buffer
	one(t, Check{Command: "printf 'a\\tb'\nexit 1"}, Options{Log: &log})
	if diff := cmp.Diff("$ printf 'a\\tb'\nexit 1\na\tb\n[exit code 1, not 0]\n", log.String()); diff != "" {
		t.Error(diff)
	}
	full := errors.New("no space left")
	_, err := Run(t.Context(), []Check{{Name: "x", Command: "echo x"}}, Options{
		Dir: t.TempDir(), Log: writerFunc(func([]byte) (int, error) { return 0, full }),
	})
	if !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
}

func TestOutput(t *testing.T) {
	var log counter
	var end string
	o := &output{log: writerFunc(func(p []byte) (int, error) {
		end = string(p[max(0, len(p)-100):])
		return log.Write(p)
	})}
	chunk := bytes.Repeat([]byte("é"), 1<<19)
	for range maxLog/len(chunk) + 2 {
		_, _ = o.Write(chunk)
	}
	o.note("end")
	if end != "\n[the log ends here, after 64 MiB]\n" || int(log) != maxLog+len(end) {
		t.Errorf("%d bytes were logged, and at last %q", log, end)
	}
	if last := o.last(); !strings.HasSuffix(last, "é\nend\n") || len(last) != maxOutput-1 || !utf8.ValidString(last) {
		t.Errorf("%d bytes, %q", len(last), last[:10])
	}
	o = &output{}
	_, _ = o.Write([]byte{0xa9, 'x'})
	if o.last() != "\xa9x" {
		t.Errorf("nothing was cut, and it is %q", o.last())
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := one(t, Check{Command: "ls"}, Options{Dir: dir}); r.Output != "here\n" {
		t.Errorf("%q", r.Output)
	}
}
