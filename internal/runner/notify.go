package runner

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
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/gate"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/safetext"
)

// notifyPatience is for how long the user's command or webhook may take.
const notifyPatience = 30 * time.Second

// Notifier tells somebody of questions, as the settings have it. It needs no repository.
type Notifier struct{ Config config.Config }

// Notify tells somebody of a question, by the user's command or webhook.
func (n Notifier) Notify(ctx context.Context, by order.Way, q api.Question) error {
	if by == order.ByCommand {
		return n.command(ctx, q)
	}
	return callWebhook(ctx, n.Config.Notify.Webhook, q)
}

// Notify tells somebody of a question, by the user's command or webhook.
func (x *Runner) Notify(ctx context.Context, by order.Way, q api.Question) error {
	return Notifier{x.config}.Notify(ctx, by, q)
}

func (n Notifier) command(ctx context.Context, q api.Question) error {
	report, err := gate.Run(ctx, []gate.Check{{Name: "notify", Command: n.Config.Notify.Command, Timeout: notifyPatience}}, gate.Options{
		Dir: n.Config.Dir, Session: marker(n.Config.Dir),
		Env: []string{ // agents' words: a NUL would be refused
			"QUESTION_ID=" + q.ID, "QUESTION_RUN=" + q.Run, "QUESTION_TASK=" + q.Task, "QUESTION_TEXT=" + safetext.EscapeLines(q.Text),
		},
	})
	if err == nil && !report.Passed() {
		err = fmt.Errorf("exit code %d: %s", report.Checks[0].Exit, safetext.Escape(report.Checks[0].Output))
	}
	return err
}

// webhooks calls the user's address, and no other: who answers there could otherwise have a question sent anywhere.
var webhooks = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// callWebhook posts a question as JSON. It follows no redirect.
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
	resp, err := webhooks.Do(req)
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
