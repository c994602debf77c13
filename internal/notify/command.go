package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/signalbox-dev/signalbox/internal/gate"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/safetext"
)

// command tells by the user's command: the message in its environment, and as JSON on its standard input.
func (t *Teller) command(ctx context.Context, m Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	env := []string{
		"MESSAGE_ID=" + m.ID, "MESSAGE_KIND=" + string(m.Kind), "MESSAGE_RUN=" + m.Run, "MESSAGE_TASK=" + m.Task, "MESSAGE_RUNNER=" + m.Runner, "MESSAGE_TEXT=" + m.Text, "MESSAGE_LINK=" + m.Link,
	}
	if q := m.Question; q != nil {
		env = append(env, "QUESTION_ID="+q.ID, "QUESTION_RUN="+q.Run, "QUESTION_TASK="+q.Task, "QUESTION_TEXT="+q.Text)
	}
	for i := range env {
		env[i] = safetext.EscapeLines(env[i]) // a NUL would be refused
	}
	sum := sha256.Sum256([]byte(t.o.Dir))
	report, err := gate.Run(ctx, []gate.Check{{Name: "notify", Command: t.o.Notify.Command, Timeout: t.patient}}, gate.Options{
		Dir: t.o.Dir, Session: "notify@" + hex.EncodeToString(sum[:8]), Env: env, Input: append(data, '\n'),
	})
	if err == nil && !report.Passed() {
		err = fmt.Errorf("exit code %d: %s", report.Checks[0].Exit, jsontext.ShortenMiddle(report.Checks[0].Output, maxText, maxText-10))
	}
	return err
}
