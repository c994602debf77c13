//go:build unix

package session_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
	"github.com/signalbox-dev/signalbox/safetext"
)

// stands checks that signals stand in the transcript where a report says.
func stands(t *testing.T, r *run, report api.SessionReport, want ...string) {
	t.Helper()
	transcript := r.file("transcript")
	var got []string
	for _, s := range report.Signals {
		text := transcript[s.Offset : s.Offset+s.Length]
		sum := sha256.Sum256([]byte(text))
		if hex.EncodeToString(sum[:]) != s.SHA256 || s.Line != strings.Count(transcript[:s.Offset], "\n")+1 {
			t.Errorf("%q is not what is at %+v", text, s)
		}
		got = append(got, strings.TrimSpace(s.Wire))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("signals: %s", diff)
	}
	sum := sha256.Sum256([]byte(transcript[:report.Bytes]))
	if hex.EncodeToString(sum[:]) != report.SHA256 {
		t.Errorf("the transcript's first %d bytes have another hash", report.Bytes)
	}
}

// A program that takes its input once is run for each turn, and knows which it is.
func TestOnce(t *testing.T) {
	t.Parallel()
	s := spec(t, `read -r prompt; rest=$(cat)
		echo "turn $SIGNALBOX_TURN of $SIGNALBOX_TASK as $SIGNALBOX_ROLE: $prompt$rest, $EXTRA, $(basename "$PWD")"
		env | grep -c n0nce | grep -vx 0
		if [ "$SIGNALBOX_TURN" = 2 ]; then echo "READY_FOR_REVIEW: T-1 run=n0nce-0123456789"; printf 'Summary: it works'; fi`)
	s.Nonce, s.Env = "n0nce-0123456789", []string{"EXTRA=more"}
	r := start(t, s)
	first := r.next(api.ReportTurn)
	said := "turn 1 of T-1 as developer: do it, more, " + filepath.Base(s.Dir)
	if first.Turn != 1 || first.Prompt != "" || first.Verdict != agentsig.KindUnknown || *first.Exit != 0 || first.Preview != said {
		t.Errorf("%+v", first)
	}
	stands(t, r, first)
	if !session.Alive(r.dir) {
		t.Error("it waits for the box, and is not alive")
	}
	r.send(api.SessionCommand{ID: "p-1", Kind: api.CommandPrompt, Text: "again"})
	second := r.next(api.ReportTurn)
	if second.Turn != 2 || second.Prompt != "p-1" || second.Verdict != agentsig.KindReadyForReview {
		t.Errorf("%+v", second)
	}
	stands(t, r, second, "READY_FOR_REVIEW: T-1\nSummary: it works")
	r.end()
	if r.file("prompt-1.md") != "do it" || r.file("prompt-2.md") != "again" {
		t.Error("prompts")
	}
	if !lockIsFree(r.dir) {
		t.Error("it has ended, and is alive")
	}
	if err := session.Write(r.dir, s); err != nil {
		t.Fatal(err)
	}
	if err := session.Run(t.Context(), r.dir, r.box, nil); err == nil || !strings.Contains(err.Error(), "run already") {
		t.Errorf("a second time: %v", err)
	}
}

// What ends nothing is reported while the turn goes on.
func TestNotes(t *testing.T) {
	t.Parallel()
	s := spec(t, `printf 'CHECKPOINT: T-1\nProgress: 1 of 2\n\nREADY'; read -r go < go; echo '_FOR_REVIEW: T-1'; echo 'EXPERT_CREATED: ann'`)
	mkfifo(t, filepath.Join(s.Dir, "go"))
	r := start(t, s)
	note := r.next(api.ReportNote)
	stands(t, r, note, "CHECKPOINT: T-1\nProgress: 1 of 2")
	if note.Turn != 1 || note.Verdict != agentsig.KindCheckpoint {
		t.Errorf("%+v", note)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "go"), []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	r.next(api.ReportNote)
	turn := r.next(api.ReportTurn)
	stands(t, r, turn, "CHECKPOINT: T-1\nProgress: 1 of 2", "READY_FOR_REVIEW: T-1", "EXPERT_CREATED: ann")
	r.end()
}

// A program that stays is told things in the middle of a turn, and knows when it is over.
func TestJSON(t *testing.T) {
	t.Parallel()
	s := spec(t, `while read -r line; do
		printf '%s\n' "$$ got $line"
		case $line in
		*tell*) echo 'READY_FOR_REVIEW: T-1';;
		*again*) echo '{"type":"turn_end"}'; echo 'not part of it';;
		*leave*) exit 0;;
		esac
	done`)
	s.Agent.Input = agent.InputJSON
	r := start(t, s)
	r.until("sign of life", func(b *box) bool { return len(b.lines) > 0 && strings.Contains(b.lines[0], `"text":"do it"`) })
	r.send(api.SessionCommand{ID: "t-1", Kind: api.CommandTell, Text: "by the way\nthis"})
	if note := r.next(api.ReportNote); note.Prompt != "t-1" || note.NoAnswer {
		t.Errorf("%+v", note)
	}
	first := r.next(api.ReportTurn)
	if first.Verdict != agentsig.KindReadyForReview || first.Exit != nil || !strings.Contains(r.file("transcript"), `{"type":"tell","text":"by the way\nthis"}`) {
		t.Errorf("%+v", first)
	}
	r.send(api.SessionCommand{ID: "t-2", Kind: api.CommandTell, Text: "too late"})
	if note := r.next(api.ReportNote); note.Prompt != "t-2" || !note.NoAnswer || note.Detail != "no turn is running" {
		t.Errorf("%+v", note)
	}
	r.send(api.SessionCommand{ID: "p-1", Kind: api.CommandPrompt, Text: "again"})
	if second := r.next(api.ReportTurn); second.Prompt != "p-1" || second.Verdict != agentsig.KindUnknown || second.Exit != nil || strings.Contains(second.Preview, "turn_end") {
		t.Errorf("%+v", second)
	}
	r.send(api.SessionCommand{ID: "p-2", Kind: api.CommandPrompt, Text: "leave"})
	if third := r.next(api.ReportTurn); third.Exit == nil || *third.Exit != 0 {
		t.Errorf("%+v", third)
	}
	transcript := r.file("transcript")
	if strings.Contains(transcript, "turn_end") || !strings.Contains(transcript, "not part of it\n") {
		t.Errorf("transcript: %s", transcript)
	}
	r.send(api.SessionCommand{ID: "p-3", Kind: api.CommandPrompt, Text: "again"}) // which starts it anew
	if fourth := r.next(api.ReportTurn); fourth.Turn != 4 || fourth.Exit != nil {
		t.Errorf("%+v", fourth)
	}
	pids := map[string]bool{}
	for line := range strings.Lines(r.file("transcript")) {
		if pid, _, ok := strings.Cut(line, " got "); ok {
			pids[pid] = true
		}
	}
	if len(pids) != 2 {
		t.Errorf("%d processes, want one for the first three turns and one more", len(pids))
	}
	r.end()
}

// A program that takes its input once can't be told anything, and the box learns that.
func TestCantBeTold(t *testing.T) {
	t.Parallel()
	s := spec(t, `echo up; read -r go < go`)
	mkfifo(t, filepath.Join(s.Dir, "go"))
	r := start(t, s)
	r.send(api.SessionCommand{ID: "t-1", Kind: api.CommandTell, Text: "psst"})
	if note := r.next(api.ReportNote); !note.NoAnswer || !strings.Contains(note.Detail, "can't be told") {
		t.Errorf("%+v", note)
	}
	r.end()
}

// A command that comes twice is carried out once.
func TestCommandTwice(t *testing.T) {
	t.Parallel()
	r := start(t, spec(t, `echo "turn $SIGNALBOX_TURN"`))
	r.next(api.ReportTurn)
	p := api.SessionCommand{ID: "p-1", Kind: api.CommandPrompt, Text: "again"}
	r.send(p)
	r.send(p)
	r.next(api.ReportTurn)
	r.send(api.SessionCommand{ID: "p-2", Kind: api.CommandPrompt, Text: "and again"})
	if turn := r.next(api.ReportTurn); turn.Prompt != "p-2" {
		t.Errorf("after p-1 comes %s, and not p-2", turn.Prompt)
	}
	r.box.change(func() { r.box.away = true })
	r.box.change(func() { r.box.away = false }) // and now all commands come again
	r.end()
	if strings.Contains(r.file("transcript"), "turn 4") {
		t.Error("it was carried out again")
	}
}

// A prompt with a deadline is answered by the end of the turn or by any signal.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input, script string
		answer        int64
		noAnswer      bool
	}{
		"silent":    {agent.InputOnce, `[ $SIGNALBOX_TURN != 2 ] || sleep 300`, 300, true},
		"a note":    {agent.InputOnce, `[ $SIGNALBOX_TURN != 2 ] || { echo 'CHECKPOINT: T-1'; sleep 4; }`, 3000, false},
		"only text": {agent.InputOnce, `[ $SIGNALBOX_TURN != 2 ] || while :; do echo working; sleep 0.1; done`, 300, true},
		"stays":     {agent.InputJSON, `read -r a; echo '{"type":"turn_end"}'; read -r b; sleep 300`, 300, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, c.script)
			s.Agent.Input = c.input
			r := start(t, s)
			r.next(api.ReportTurn)
			r.send(api.SessionCommand{ID: "p-1", Kind: api.CommandPrompt, Text: "say it again", AnswerMS: c.answer})
			if !c.noAnswer {
				r.next(api.ReportNote)
			}
			if turn := r.next(api.ReportTurn); turn.NoAnswer != c.noAnswer || turn.Prompt != "p-1" {
				t.Errorf("%+v", turn)
			}
			r.send(api.SessionCommand{ID: "p-2", Kind: api.CommandPrompt, Text: "and now"}) // it can go on
			if turn := r.next(api.ReportTurn); turn.NoAnswer || turn.Turn != 3 {
				t.Errorf("%+v", turn)
			}
			r.end()
		})
	}
}

// A silent program that can be told is asked, in a form that names the signal.
func TestAsked(t *testing.T) {
	t.Parallel()
	s := spec(t, `read -r prompt; read -r question; printf '%s\n' "$question"; echo 'CHECKPOINT: T-1'; cat >/dev/null`) // on a busy machine it is asked again
	s.Agent.Input, s.Silence = agent.InputJSON, session.Duration(100*time.Millisecond)
	r := start(t, s)
	r.next(api.ReportNote)
	if transcript := r.file("transcript"); !strings.Contains(transcript, `"type":"ask"`) || !strings.Contains(transcript, `CHECKPOINT: T-1\n`) {
		t.Errorf("asked: %s", transcript)
	}
	r.end()
}

// What an agent prints reaches reports escaped, and the transcript as it is.
func TestHostileOutput(t *testing.T) {
	t.Parallel()
	r := start(t, spec(t, `printf '\377\376\033]0;title\007\342\200\256 end\303'; printf '\033[2J\377 broken\n' >&2; exit 4`))
	last := r.finish()
	for _, text := range []string{last.Preview, last.Detail} {
		if safetext.EscapeLines(text) != text || strings.ContainsAny(text, "\x1b\x07") {
			t.Errorf("%q", text)
		}
	}
	if last.How != api.HowCrashed || !strings.HasSuffix(last.Detail, "broken") || !strings.Contains(last.Preview, `\x1b]0;title`) {
		t.Errorf("%+v", last)
	}
	if got := r.file("transcript"); got != "\xff\xfe\x1b]0;title\x07\u202e end\xc3" {
		t.Errorf("transcript %q", got)
	}
	for _, line := range r.box.lines {
		if safetext.Escape(line) != line {
			t.Errorf("sign of life %q", line)
		}
	}
}

// What was nearly a signal is reported with its place in the transcript.
func TestNearMisses(t *testing.T) {
	t.Parallel()
	r := start(t, spec(t, `echo hello; echo '> READY_FOR_REVIEW: T-1'; echo '{"protocol":"apm2_agent_exit","version":"1.0.0"}'`))
	turn := r.next(api.ReportTurn)
	if len(turn.NearMisses) != 2 || turn.NearMisses[0].Line != 2 || turn.NearMisses[0].Hint == "" || turn.NearMisses[1].Hint == "" {
		t.Errorf("%+v", turn.NearMisses)
	}
	r.end()
}

// However much is said, a report is one that the box takes, and has the signal that counts.
func TestReportFits(t *testing.T) {
	t.Parallel()
	s := spec(t, `pad=$(head -c 60000 /dev/zero | tr '\0' '\1')
		for i in 1 2 3 4 5 6; do printf 'CHECKPOINT: T-1\nStatus: %s\n' "$pad"; done
		i=0; while [ $i -lt 300 ]; do echo 'CHECKPOINT: T-1'; i=$((i+1)); done
		printf 'READY_FOR_REVIEW: T-1\nSummary: %s\n' "$pad"`)
	s.Linger = session.Duration(patience) // it may be slow, and is not to be cut off
	r := start(t, s)
	const notes = 200
	for range notes {
		r.next(api.ReportNote)
	}
	turn := r.next(api.ReportTurn)
	last := turn.Signals[len(turn.Signals)-1]
	if turn.Verdict != agentsig.KindReadyForReview || len(turn.Signals) != 101 || len(last.Wire) < 60000 {
		t.Errorf("%s, %d signals, the last has %d bytes", turn.Verdict, len(turn.Signals), len(last.Wire))
	}
	if data, err := json.Marshal(turn); err != nil || len(data) > api.MaxReport {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	r.end()
}
