package box

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/gate"
	"github.com/signalbox-dev/signalbox/safetext"
)

// notifyPatience is for how long the user's command or webhook may take.
const notifyPatience = 30 * time.Second

// asked runs the user's command and calls the user's webhook for a question. It is
// told at least once, with the same id: one that fails is tried again until the question's run is
// over, and so is every open question when a box is started.
func (d *deliverer) asked(ctx context.Context, over <-chan struct{}, q api.Question) {
	if command := d.config.Notify.Command; command != "" {
		d.notify(ctx, over, "command", q, func() error { return d.notifyCommand(ctx, command, q) })
	}
	if address := d.config.Notify.Webhook; address != "" {
		d.notify(ctx, over, "webhook", q, func() error { return callWebhook(ctx, address, q) })
	}
}

// Pauses between tries to tell somebody of a question.
const (
	notifyAgain   = 10 * time.Second
	notifySlowest = 10 * time.Minute
)

func (d *deliverer) notify(ctx context.Context, over <-chan struct{}, what string, q api.Question, tell func() error) {
	for pause := notifyAgain; ; pause = min(2*pause, notifySlowest) {
		err := tell()
		if err == nil || ctx.Err() != nil || d.box.draining() || !d.box.open(q.ID) {
			return
		}
		d.box.logger.Warn("nobody was told of a question by the "+what, "question", q.ID, "error", err)
		select {
		case <-time.After(pause):
		case <-d.box.drainBegun:
			return
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (d *deliverer) notifyCommand(ctx context.Context, command string, q api.Question) error {
	report, err := gate.Run(ctx, []gate.Check{{Name: "notify", Command: command, Timeout: notifyPatience}}, gate.Options{
		Dir: d.config.Dir, Session: marker(d.config.Dir),
		Env: []string{ // agents' words: a NUL would be refused
			"QUESTION_ID=" + q.ID, "QUESTION_RUN=" + q.Run, "QUESTION_TASK=" + q.Task, "QUESTION_TEXT=" + safetext.EscapeLines(q.Text),
		},
	})
	if err == nil && !report.Passed() {
		err = fmt.Errorf("exit code %d: %s", report.Checks[0].Exit, safetext.Escape(report.Checks[0].Output))
	}
	return err
}

// callWebhook posts a question as JSON.
func callWebhook(ctx context.Context, address string, q api.Question) error {
	ctx, cancel := context.WithTimeout(ctx, notifyPatience)
	defer cancel()
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(api.KeyHeader, q.ID)
	resp, err := http.DefaultClient.Do(req)
	var failed *url.Error
	if errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", req.URL.Hostname(), failed.Err) // the address may be a secret
	}
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s answered %s", req.URL.Hostname(), resp.Status)
	}
	return nil
}
