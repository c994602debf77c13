//go:build unix

package session_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	short := session.Duration(300 * time.Millisecond)
	for name, c := range map[string]struct {
		script string
		adjust func(*session.Spec)
		during func(*run)
		how    string
		detail string
	}{
		"crashed": {script: `echo hello; echo 'cannot reach the server' >&2; exit 3`, how: api.HowCrashed, detail: "exit status 3: cannot reach the server"},
		"crashed with much to say": {
			script: `for i in 1 2 3 4 5 6; do echo "at frame $i" >&2; done; printf '%s\n\n' 'out of memory' >&2; exit 3`, how: api.HowCrashed,
			detail: "exit status 3: out of memory\nafter:\nat frame 3\nat frame 4\nat frame 5\nat frame 6",
		},
		"killed":     {script: `kill -9 $$`, how: api.HowCrashed, detail: "exit status 137"},
		"logged out": {script: `echo 'no key' >&2; exit 77`, how: api.HowLoggedOut, detail: "exit status 77: no key"},
		"words of a login": {script: `echo '401 Unauthorized'; echo 'authentication_error: Please run /login' >&2; exit 1`, how: api.HowCrashed,
			detail: "exit status 1: authentication_error: Please run /login"},
		"limited":         {script: `echo busy >&2; exit 75`, how: api.HowLimited, detail: "exit status 75: busy"},
		"crashed in JSON": {script: `read -r prompt; exit 9`, adjust: func(s *session.Spec) { s.Agent.Input = agent.InputJSON }, how: api.HowCrashed, detail: "exit status 9"},
		"no such program": {
			adjust: func(s *session.Spec) { s.Agent.Command = []string{"no-such-agent"} },
			how:    api.HowCrashed, detail: `the agent script can't be started: exec: "no-such-agent": executable file not found in $PATH: check that the program is installed, and the command of the agent in signalbox.yaml`,
		},
		"timed out": {
			script: `while :; do echo busy; sleep 0.05; done`, adjust: func(s *session.Spec) { s.WallClock = short },
			how: api.HowTimedOut, detail: "the turn took longer than 300ms",
		},
		"stalled": {
			script: `sleep 300`, adjust: func(s *session.Spec) { s.Silence, s.Answer, s.Misses = short/4, short/12, 2 },
			how: api.HowStalled, detail: "nothing was heard of the agent for 100ms, 2 times in a row",
		},
		"stalled in JSON": {
			script: `cat >/dev/null; sleep 300`,
			adjust: func(s *session.Spec) {
				s.Agent.Input, s.Silence, s.Answer, s.Misses = agent.InputJSON, short/4, short/12, 2
			},
			how: api.HowStalled, detail: "nothing was heard of the agent for 100ms, 2 times in a row",
		},
		"stopped": {
			script: `echo up; sleep 300`, during: func(r *run) { r.cancel() },
			how: api.HowStopped, detail: "the session was stopped",
		},
		"told to end": {
			script: `echo up; sleep 300`,
			during: func(r *run) { r.send(api.SessionCommand{ID: "e", Kind: api.CommandEnd, Reason: "not needed"}) },
			how:    api.HowDone, detail: "not needed",
		},
		"told to stop": {
			script: `echo up; sleep 300`,
			during: func(r *run) {
				r.send(api.SessionCommand{ID: "s", Kind: api.CommandStop, Reason: "the box \x1b leaves"})
			},
			how: api.HowStopped, detail: `the box \x1b leaves`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, c.script)
			if c.adjust != nil {
				c.adjust(&s)
			}
			r := start(t, s)
			if c.during != nil {
				r.until("output", func(b *box) bool { return len(b.lines) > 0 })
				c.during(r)
			}
			last := r.finish()
			if last.How != c.how || last.Detail != c.detail || last.Turn != 1 || !last.ResetAt.IsZero() {
				t.Errorf("%+v\nwant %s, %q", last, c.how, c.detail)
			}
			if !strings.Contains(r.file("ended.json"), `"how":"`+c.how+`"`) {
				t.Errorf("ended.json: %s", r.file("ended.json"))
			}
			if reports, err := session.Pending(r.dir); len(reports) != 0 || err != nil {
				t.Errorf("not delivered: %+v, %v", reports, err)
			}
			if _, err := os.Stat(filepath.Join(r.dir, "agent.json")); err == nil {
				t.Error("agent.json is left")
			}
		})
	}
}

// A session that can't keep its reports ends its agent rather than to lose them, whatever it is doing then.
func TestCantKeep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ input, script string }{
		"a note":                             {"", `mv "$OUTBOX" "$OUTBOX-gone"; echo 'CHECKPOINT: T-1'; echo; sleep 300`},
		"a note after a terminal signal":     {"", `printf 'READY_FOR_REVIEW: T-1\n\n\n'; mv "$OUTBOX" "$OUTBOX-gone"; echo 'CHECKPOINT: T-1'; sleep 300`},
		"the same, and the agent can stay":   {agent.InputJSON, `read -r prompt; printf 'READY_FOR_REVIEW: T-1\n\n\n'; mv "$OUTBOX" "$OUTBOX-gone"; echo 'CHECKPOINT: T-1'; sleep 300`},
		"a note at the end":                  {"", `mv "$OUTBOX" "$OUTBOX-gone"; echo 'CHECKPOINT: T-1'`},
		"a turn":                             {"", `mv "$OUTBOX" "$OUTBOX-gone"; echo 'READY_FOR_REVIEW: T-1'`},
		"a turn, and the agent stays":        {agent.InputJSON, `read -r prompt; mv "$OUTBOX" "$OUTBOX-gone"; printf 'READY_FOR_REVIEW: T-1\n\n\n'; sleep 300`},
		"a note and a turn, the agent stays": {agent.InputJSON, `read -r prompt; mv "$OUTBOX" "$OUTBOX-gone"; printf 'CHECKPOINT: T-1\n\n\nREADY_FOR_REVIEW: T-1\n\n\n'; sleep 300`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, c.script)
			dir := filepath.Join(t.TempDir(), "session")
			s.Agent.Input, s.Env = c.input, []string{"OUTBOX=" + filepath.Join(dir, "outbox")}
			if err := session.Write(dir, s); err != nil {
				t.Fatal(err)
			}
			err := session.Run(t.Context(), dir, newBox(), slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), "outbox") {
				t.Errorf("%v", err)
			}
			nothingLeft(t, dir)
			data, err := os.ReadFile(filepath.Join(dir, "ended.json"))
			if err != nil || !strings.Contains(string(data), "can't keep its files") {
				t.Errorf("%s, %v", data, err)
			}
		})
	}
}

// A usage limit that says when it ends.
func TestLimitedUntil(t *testing.T) {
	t.Parallel()
	r := start(t, spec(t, `echo 'CHECKPOINT: T-1'; printf 'limit reached\nRetry-After: 3600\n\n' >&2; exit 75`))
	r.next(api.ReportNote)
	last := r.finish()
	if wait := last.ResetAt.Sub(last.At); last.How != api.HowLimited || wait < 3590*time.Second || wait > 3600*time.Second ||
		last.Detail != "exit status 75: limit reached" {
		t.Errorf("%+v", last)
	}
}

// The signal counts, not how the program ends after it.
func TestSignalCounts(t *testing.T) {
	t.Parallel()
	for _, exit := range []string{"0", "1", "75"} {
		r := start(t, spec(t, `echo 'TASK_INCOMPLETE: T-1'; exit `+exit))
		turn := r.next(api.ReportTurn)
		if turn.Verdict != agentsig.KindTaskIncomplete || *turn.Exit != map[string]int{"0": 0, "1": 1, "75": 75}[exit] {
			t.Errorf("exit %s: %+v", exit, turn)
		}
		r.end()
	}
}

// What was said before a turn is cut counts: the turn is reported, and then the end.
func TestSignalBeforeTheCut(t *testing.T) {
	t.Parallel()
	const script = `echo 'READY_FOR_REVIEW: T-1'; echo; echo; echo up >&2; `
	long := session.Duration(5 * time.Second) // enough for the signal to be said
	for name, c := range map[string]struct {
		script  string
		adjust  func(*session.Spec)
		command string
		how     string
	}{
		"wall clock": {`while :; do echo busy >&2; sleep 0.01; done`, func(s *session.Spec) { s.WallClock = long }, "", api.HowTimedOut},
		"stall":      {`sleep 300`, func(s *session.Spec) { s.Silence, s.Answer, s.Misses = long, long/20, 1 }, "", api.HowStalled},
		"end":        {`sleep 300`, func(*session.Spec) {}, api.CommandEnd, api.HowDone},
		"stop":       {`sleep 300`, func(*session.Spec) {}, api.CommandStop, api.HowStopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && c.command == "" {
				t.Skip("it waits for 5 seconds; not with -short")
			}
			s := spec(t, script+c.script)
			s.Linger = session.Duration(patience)
			c.adjust(&s)
			r := start(t, s)
			if c.command != "" {
				r.until("output", func(b *box) bool { return len(b.lines) > 0 })
				await(t, filepath.Join(r.dir, "stderr"))
				r.send(api.SessionCommand{ID: "c", Kind: c.command})
			}
			turn := r.next(api.ReportTurn)
			if turn.Verdict != agentsig.KindReadyForReview || turn.Turn != 1 {
				t.Errorf("%+v", turn)
			}
			stands(t, r, turn, "READY_FOR_REVIEW: T-1")
			if last := r.finish(); last.How != c.how || last.Turn != 1 || len(last.Signals) > 0 {
				t.Errorf("%+v", last)
			}
		})
	}
}

// Whatever a program makes of the file for its usage, the session goes on, and the next
// turn can use it.
func TestUsageIsNoFile(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{
		"a named pipe": `mkfifo "$SIGNALBOX_USAGE"`, "a directory": `mkdir "$SIGNALBOX_USAGE"`, "a link": `mkfifo pipe; ln -s "$PWD/pipe" "$SIGNALBOX_USAGE"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, spec(t, `if [ "$SIGNALBOX_TURN" = 1 ]; then `+left+`; else echo '{"input_tokens":7}' > "$SIGNALBOX_USAGE"; fi`))
			if turn := r.next(api.ReportTurn); turn.Usage.InputTokens != 0 {
				t.Errorf("%+v", turn)
			}
			r.send(api.SessionCommand{ID: "p", Kind: api.CommandPrompt, Text: "again"})
			if turn := r.next(api.ReportTurn); turn.Usage.InputTokens != 7 {
				t.Errorf("%+v", turn)
			}
			r.end()
		})
	}
}

// A program that hangs after its last word is ended; what it says when it is told to is
// in the transcript and counts for nothing.
func TestHangsAfterLastWord(t *testing.T) {
	t.Parallel()
	r := start(t, spec(t, `trap 'echo "TASK_INCOMPLETE: T-1"; exit 0' TERM; echo 'READY_FOR_REVIEW: T-1'; while :; do sleep 0.05; done`))
	turn := r.next(api.ReportTurn)
	if turn.Verdict != agentsig.KindReadyForReview || !strings.Contains(r.file("transcript"), "TASK_INCOMPLETE") {
		t.Errorf("%+v", turn)
	}
	r.end()
}

// Nothing is left of a program that does not want to go, nor of what it started.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("what has left the group is found on Linux only")
	}
	const (
		stubborn = `sh -c 'trap "" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done'`
		children = stubborn + ` & setsid ` + stubborn + ` & (setsid ` + stubborn + ` &)
			touch pids; while [ "$(wc -l < pids)" -lt 3 ]; do sleep 0.01; done; echo up`
	)
	for name, c := range map[string]struct {
		script string
		ends   bool // by itself
	}{
		"ignores TERM":           {`trap '' TERM; echo up; while :; do sleep 1; done`, false},
		"children outlive it":    {children, true},
		"children, and it hangs": {children + "; sleep 300", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, c.script)
			s.Grace = session.Duration(100 * time.Millisecond)
			r := start(t, s)
			r.until("output", func(b *box) bool { return len(b.lines) > 0 })
			if c.ends {
				r.next(api.ReportTurn)
				nothingLeft(t, r.dir)
			} else if len(marked(t, r.dir)) == 0 {
				t.Error("no process is found while it runs")
			}
			r.end()
			nothingLeft(t, r.dir)
		})
	}
}

// A hundred megabytes are read in bounded memory; the signal at their end is found, and
// the transcript says that it was cut.
func TestMuchOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("prints more than a transcript holds; not with -short")
	}
	size := int64(100 << 20)
	s := spec(t, fmt.Sprintf(`yes 'all work and no play makes a dull agent, and a long transcript besides' | head -c %d; echo; echo 'READY_FOR_REVIEW: T-1'`, size))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := start(t, s)
	turn := r.next(api.ReportTurn)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if turn.Verdict != agentsig.KindReadyForReview || len(turn.Signals) != 1 || turn.Signals[0].Offset < size {
		t.Errorf("%+v", turn)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes are held", grown)
	}
	transcript := r.file("transcript")
	if int64(len(transcript)) != turn.Bytes || turn.Bytes > session.MaxTranscript+100 || !strings.HasSuffix(transcript, "is not kept]\n") {
		t.Errorf("%d bytes kept, %d reported", len(transcript), turn.Bytes)
	}
	r.end()
}

// A line of twenty megabytes is one line.
func TestLongLine(t *testing.T) {
	t.Parallel()
	mib := 20
	if testing.Short() {
		mib = 9 // of stderr 8 are kept
	}
	r := start(t, spec(t, fmt.Sprintf(`head -c %[1]d /dev/zero | tr '\0' x; echo; echo 'READY_FOR_REVIEW: T-1'; head -c %[1]d /dev/zero | tr '\0' y >&2`, mib<<20)))
	turn := r.next(api.ReportTurn)
	stands(t, r, turn, "READY_FOR_REVIEW: T-1")
	if turn.Signals[0].Line != 2 || len(r.file("stderr")) > 8<<20+100 {
		t.Errorf("%+v", turn)
	}
	r.end()
}
