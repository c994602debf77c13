//go:build unix

package session_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// A session without a box is one turn, and its end tells what came of it.
func TestRunAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, input string
		limit         time.Duration
		how, said     string
	}{
		"it answers":           {script: `cat >/dev/null; echo 'I look.'; printf 'rea\033dy\n\n'`, how: api.HowDone, said: `rea\x1bdy`},
		"it says nothing":      {script: `cat >/dev/null`, how: api.HowDone},
		"one that stays":       {script: `read -r line; echo ready; echo '{"type":"turn_end"}'; exec sleep 300`, input: agent.InputJSON, how: api.HowDone, said: "ready"},
		"it is not logged in":  {script: `exit 77`, how: api.HowLoggedOut},
		"it fails":             {script: `echo half; exit 3`, how: api.HowCrashed, said: "half"},
		"it does not answer":   {script: `echo wait; exec sleep 300`, limit: 4 * time.Second, how: api.HowTimedOut, said: "wait"},
		"it says how it ended": {script: `echo READY_FOR_REVIEW: T-1`, how: api.HowDone, said: "READY_FOR_REVIEW: T-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "session")
			if _, _, err := session.Outcome(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a session that was not: %v", err)
			}
			s := spec(t, c.script)
			s.Agent.Input = c.input
			if c.limit > 0 {
				s.WallClock = session.Duration(c.limit)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := errors.Join(session.Write(dir, s), session.RunAlone(ctx, dir, slog.New(slog.DiscardHandler))); err != nil {
				t.Fatal(err)
			}
			last, said, err := session.Outcome(dir)
			if err != nil || last.How != c.how || said != c.said {
				t.Errorf("%v: %s, %q: %+v", err, last.How, said, last)
			}
			nothingLeft(t, dir)
		})
	}
}
