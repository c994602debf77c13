package runner

import (
	"context"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// resume returns the conversation that a session goes on with, if it was granted one and is started as the session that it
// was in; otherwise that it begins afresh is recorded before it is started.
func (x *Runner) resume(ctx context.Context, o order.Order, spec session.Spec, v prompt.Voice) (*session.Resume, error) {
	last, task := o.Session.Resumes, o.Run.Task(o.Session.Task)
	if last == nil || task == nil {
		return nil, nil
	}
	if err := spec.Continues(x.sessionDir(last.Session)); err != nil {
		return nil, x.tell(ctx, o, delivery.Forgotten{Session: o.Session.ID, Reason: err.Error()})
	}
	text, err := prompt.Resumed(o.Session.Role, v, task.News(o.Session))
	if err != nil {
		return nil, err
	}
	return &session.Resume{Conversation: last.Conversation, Prompt: text}, nil
}
