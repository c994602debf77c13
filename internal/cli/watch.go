package cli

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/tui"
)

// watched is how a run is watched.
type watched struct {
	after uint64 // line by line, what comes after this is shown
	wait  bool   // stay while only questions remain
	own   bool   // this process is the box
}

// errLeft ends the watching of a run when the person has left it.
var errLeft = errors.New("the person has left")

// watch shows a run until it has ended, or the person leaves, or only questions remain. Where they can be answered in the view, it
// stays.
func (a *app) watch(ctx context.Context, client *api.Client, id string, w watched) (api.Run, error) {
	watching, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	v := a.view(ctx, w, func() { leave(errLeft) })
	var last api.Run
	err := client.FollowRun(watching, id, func(r api.Run) error {
		last = r
		v.show(r)
		if r.State == api.RunWaiting && !w.wait && !v.answers {
			return errQuestions
		}
		return nil
	})
	left := ctx.Err() == nil && errors.Is(context.Cause(watching), errLeft)
	if left {
		err = errLeft
	}
	v.close(ctx.Err() == nil && !left)
	return last, err
}

// view shows a run as it goes on.
type view struct {
	show    func(api.Run)
	close   func(over bool) // if it is over, a summary follows
	answers bool            // it takes keys
}

// view returns what shows a run here: in place on a terminal, with keys if those can be had; elsewhere line by line, what comes
// after a sequence. If the person leaves, it calls leave.
func (a *app) view(ctx context.Context, w watched, leave func()) view {
	switch {
	case a.JSON:
		return view{show: func(api.Run) {}, close: func(bool) {}}
	case !a.Live:
		p := tui.NewPlain(a.Out, w.after)
		return view{show: func(r api.Run) { _ = p.Show(r, time.Now()) }, close: func(bool) {}} // nobody reads it: the run goes on
	case a.InTTY:
		if v, err := a.answering(ctx, w.own, leave); err == nil { // else it takes no keys
			return v
		}
	}
	live := tui.NewLive(a.Out, a.Size, a.Color)
	runs, ended := make(chan api.Run), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second) // times go on, and the window may change its size
		defer tick.Stop()
		var last api.Run
		for {
			select {
			case r, ok := <-runs:
				if !ok {
					return
				}
				last = r
			case <-tick.C:
			}
			if last.ID != "" {
				_ = live.Show(last, time.Now())
			}
		}
	}()
	return view{show: func(r api.Run) { runs <- r }, close: func(over bool) {
		close(runs)
		<-ended
		if over {
			_ = live.Erase()
		}
		_ = live.Close()
	}}
}
