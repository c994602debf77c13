package box

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/gate"
)

// notifyPatience is for how long the user's command or webhook may take.
const notifyPatience = 30 * time.Second

// asked runs the user's command and calls the user's webhook for a question. It is
// told at least once: again when a box is started while it is open, with the same id.
func (d *deliverer) asked(ctx context.Context, q api.Question) {
	n := d.config.Notify
	if n.Command != "" {
		report, err := gate.Run(ctx, []gate.Check{{Name: "notify", Command: n.Command, Timeout: notifyPatience}}, gate.Options{
			Dir: d.config.Dir,
			Env: []string{"QUESTION_ID=" + q.ID, "QUESTION_RUN=" + q.Run, "QUESTION_TASK=" + q.Task, "QUESTION_TEXT=" + q.Text},
		})
		if err == nil && !report.Passed() {
			err = fmt.Errorf("exit code %d: %s", report.Checks[0].Exit, report.Checks[0].Output)
		}
		d.notified(ctx, "command", q, err)
	}
	if n.Webhook != "" {
		d.notified(ctx, "webhook", q, callWebhook(ctx, n.Webhook, q))
	}
}

func (d *deliverer) notified(ctx context.Context, what string, q api.Question, err error) {
	if err != nil && ctx.Err() == nil {
		d.box.logger.Warn("nobody was told of a question by the "+what, "question", q.ID, "error", err)
	}
}

// callWebhook posts a question as JSON.
func callWebhook(ctx context.Context, url string, q api.Question) error {
	ctx, cancel := context.WithTimeout(ctx, notifyPatience)
	defer cancel()
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(api.KeyHeader, q.ID)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("it answered %s", resp.Status)
	}
	return nil
}
