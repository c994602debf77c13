//go:build unix

package session_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// A report that the box refuses for good is set aside: the box is told so in its place, and the
// reports after it go on.
func TestRefusedReport(t *testing.T) {
	t.Parallel()
	for kind, check := range map[string]func(t *testing.T, r api.SessionReport){
		api.ReportNote: func(t *testing.T, r api.SessionReport) {
			if len(r.Signals) > 0 {
				t.Errorf("what was refused is sent again: %+v", r)
			}
		},
		api.ReportTurn: func(t *testing.T, r api.SessionReport) {
			if r.Verdict != agentsig.KindUnknown || r.Turn != 1 || len(r.Signals) > 0 {
				t.Errorf("a turn that was refused says %+v", r)
			}
		},
		api.ReportEnded: func(t *testing.T, r api.SessionReport) {
			if r.How != api.HowCrashed || !strings.Contains(r.Detail, "refused") {
				t.Errorf("an end that was refused says %+v", r)
			}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			r := unstarted(t, spec(t, `echo 'CHECKPOINT: T-1'; echo 'READY_FOR_REVIEW: T-1'`))
			r.box.refuses = func(r api.SessionReport) bool { return r.Kind == kind && r.Denied == "" }
			r.log = slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})
			r.start()
			reports := map[string]api.SessionReport{api.ReportNote: r.next(api.ReportNote), api.ReportTurn: r.next(api.ReportTurn)}
			r.send(api.SessionCommand{ID: "end", Kind: api.CommandEnd})
			reports[api.ReportEnded] = r.finish()
			for is, report := range reports {
				switch {
				case is != kind && report.Denied != "":
					t.Errorf("%s: %+v", is, report)
				case is == kind && (!strings.Contains(report.Denied, "the request is not what it should be") || strings.ContainsRune(report.Denied, '\x1b')):
					t.Errorf("%s does not say what was refused: %+v", is, report)
				}
			}
			check(t, reports[kind])
			if kept := kept(t, r.dir); len(kept) != 1 || !strings.Contains(kept[0], `"kind":"`+kind+`"`) || strings.Contains(kept[0], "denied") {
				t.Errorf("kept: %q", kept)
			}
			if !strings.Contains(log.String(), "set aside") {
				t.Errorf("log: %s", log.String())
			}
			if left, err := session.Pending(r.dir); len(left) > 0 || err != nil {
				t.Errorf("left in the outbox: %+v, %v", left, err)
			}
		})
	}
}

// unstarted is a session that has not begun to run.
func unstarted(t *testing.T, s session.Spec) *run {
	t.Helper()
	r := &run{t: t, dir: filepath.Join(t.TempDir(), "session"), box: newBox(), ended: make(chan error, 1)}
	if err := session.Write(r.dir, s); err != nil {
		t.Fatal(err)
	}
	return r
}

// kept returns what was set aside.
func kept(t *testing.T, dir string) (all []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "refused", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	return all
}

// Of a dead session, a report that is damaged, one that is refused, and one whose refusal can't even
// be told hold up nothing; what can't be taken now is left for later.
func TestHandIn(t *testing.T) {
	refusal := &api.Problem{Code: api.CodeInvalid, Message: "no"}
	busy := &api.Problem{Code: api.CodeBusy, Message: "later"}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "outbox"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"00001.json": `{"seq":1,"kind":"no`, "00002.json": `{"seq":2,"kind":"turn","turn":1}`, "00003.json": `{"seq":3,"kind":"note"}`,
		"00004.json": `{"seq":4,"kind":"note"}`, "00005.json": `{"seq":5,"kind":"ended"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, "outbox", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var taken []api.SessionReport
	last := error(busy)
	handIn := func() error {
		return session.HandIn(dir, slog.New(slog.DiscardHandler), func(r api.SessionReport) error {
			switch {
			case r.Seq == 2 && r.Denied == "", r.Seq == 3:
				return refusal
			case r.Seq == 5 && last != nil:
				return last
			}
			taken = append(taken, r)
			return nil
		})
	}
	if err := handIn(); !errors.Is(err, busy) {
		t.Fatalf("%v", err)
	}
	last = nil
	if err := handIn(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range taken {
		got = append(got, strings.Join([]string{r.Kind, map[bool]string{true: "stands for another"}[r.Denied != ""]}, " "))
	}
	want := "note stands for another,turn stands for another,note ,ended "
	if strings.Join(got, ",") != want {
		t.Errorf("taken: %q, want %q", strings.Join(got, ","), want)
	}
	if all := kept(t, dir); len(all) != 3 {
		t.Errorf("kept: %q", all)
	}
	if left, err := session.Pending(dir); len(left) > 0 || err != nil {
		t.Errorf("left in the outbox: %+v, %v", left, err)
	}
}

// What an agent put in the way of its dead session's reports holds up no other report, and is told.
func TestHandInDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		damage string // with sh, in the session's directory
		taken  int
	}{
		"there is no outbox":            {`rm -r outbox && touch outbox`, 0},
		"nothing can be set aside":      {`touch refused && echo garbage >outbox/00001.json`, 1},
		"a directory is a report":       {`rm outbox/00001.json && mkdir -p outbox/00001.json/a refused/00001.json/b`, 1},
		"a report can't be found again": {`rm -r outbox/00001.json && ln -s 00001.json outbox/00001.json && touch refused`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "sh", "-c", `mkdir outbox && echo '{"seq":1,"kind":"note"}' >outbox/00001.json && echo '{"seq":2,"kind":"note"}' >outbox/00002.json && `+c.damage)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			taken := 0
			err := session.HandIn(dir, slog.New(slog.DiscardHandler), func(r api.SessionReport) error {
				taken++
				return nil
			})
			if !errors.Is(err, session.ErrDirectory) || taken != c.taken {
				t.Errorf("%d taken, %v; want %d", taken, err, c.taken)
			}
		})
	}
}
