package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/tui"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// typist reads what somebody types, when it is asked to: so nothing is read while a program that the view has started has the
// terminal. One read may outlive a view, and the next view has what it reads.
type typist struct {
	typed   chan typedBytes
	reading bool
}

// typedBytes are what was read; none if there is nobody.
type typedBytes []byte

// listen returns where the next that is typed comes.
func (t *typist) listen(from io.Reader) <-chan typedBytes {
	if t.typed == nil {
		t.typed = make(chan typedBytes, 1)
	}
	if !t.reading {
		t.reading = true
		go func() {
			buffer := make([]byte, 4<<10)
			n, _ := from.Read(buffer)
			t.typed <- buffer[:n]
		}()
	}
	return t.typed
}

// answeringView is a live view that takes keys. While it is shown, the terminal is its own.
type answeringView struct {
	app    *app
	ctx    context.Context
	leave  func()
	screen *tui.Full
	model  tui.Model
	last   api.Run

	keyboard tui.Keyboard
	deaf     bool        // nobody types any more
	restore  func()      // has the terminal send lines again, as it did
	release  func()      // has a second signal end the program again
	away     atomic.Bool // another program has the terminal

	runs  chan api.Run // the latest
	over  chan struct{}
	ended chan struct{}
}

// answering returns a live view that takes keys, if the terminal sends them.
func (a *app) answering(ctx context.Context, own bool, leave func()) (view, error) {
	restore, err := a.Keys()
	if err != nil {
		return view{}, err
	}
	v := &answeringView{
		app: a, ctx: ctx, leave: leave, screen: tui.NewFull(a.Out, a.Size, a.Color), model: tui.NewModel(own), restore: restore,
		release: sync.OnceFunc(a.Guard()), runs: make(chan api.Run, 1), over: make(chan struct{}), ended: make(chan struct{}),
	}
	go v.loop()
	return view{show: v.show, close: v.close, answers: true}, nil
}

// show takes the run as it is now. It does not wait: a client that stops reading loses its stream.
func (v *answeringView) show(r api.Run) {
	select {
	case <-v.runs:
	default:
	}
	v.runs <- r // there is room: nobody else puts runs
}

// close ends the view. If nothing follows, what the run was like last stays on the screen.
func (v *answeringView) close(over bool) {
	close(v.over)
	select {
	case <-v.ended:
	case <-v.ctx.Done():
		if v.away.Load() { // it is told to stop: agents do not wait for an editor
			v.app.linger = v.ended
			return
		}
		<-v.ended
	}
	if !over && v.last.ID != "" {
		live := tui.NewLive(v.app.Out, v.app.Size, v.app.Color)
		_ = live.Show(v.last, time.Now())
		_ = live.Close()
	}
}

func (v *answeringView) loop() {
	defer close(v.ended)
	defer v.giveBack() // also if it panics
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	signals := make(chan os.Signal, 1)
	defer notifyTerminal(signals)()
	var escape <-chan time.Time // when the rest of a sequence has had its time, from when it is listened for
	for {
		var typed <-chan typedBytes
		if !v.deaf {
			typed = v.app.typist.listen(v.app.In)
		}
		switch {
		case !v.keyboard.Held():
			escape = nil
		case escape == nil:
			escape = time.After(tui.EscapeWait)
		}
		select {
		case v.last = <-v.runs:
			v.model = v.model.See(v.last)
		case sent := <-typed:
			v.take(sent)
		case <-escape:
			select {
			case sent := <-typed:
				v.take(sent)
			default:
				v.press(v.keyboard.Release())
			}
			escape = nil
		case <-signals:
			if v.restore != nil {
				_, _ = v.app.Keys() // a shell may have set the terminal; what it was at first is known
			}
			v.screen.Forget()
		case <-tick.C:
		case <-v.ctx.Done():
			return
		case <-v.over:
			return
		}
		if v.last.ID != "" && v.ctx.Err() == nil {
			now := time.Now()
			v.model = v.model.Tick(now)
			_ = v.screen.Show(v.model, now) // a terminal that is gone sends a signal
		}
	}
}

// take takes what was typed.
func (v *answeringView) take(sent typedBytes) {
	v.app.typist.reading = false
	v.deaf = len(sent) == 0
	v.press(v.keyboard.Keys(sent))
}

// press takes keys. What was typed ahead of another program is not for this view, and forgotten.
func (v *answeringView) press(keys []tui.Key) {
	for _, k := range keys {
		var act tui.Action
		v.model, act = v.model.Sized(v.app.Size()).Press(k)
		if act.Do != "" {
			v.do(act)
			return
		}
	}
}

// do does what the person wants. Each is what the command of its name does.
func (v *answeringView) do(act tui.Action) {
	switch act.Do {
	case tui.Leave:
		v.leave()
	case tui.Interrupt:
		if self, err := os.FindProcess(os.Getpid()); err != nil || self.Signal(os.Interrupt) != nil {
			v.leave()
		}
	case tui.Suspend:
		v.suspend()
	case tui.Answer:
		v.brief(func(a *app) error { return a.answer(v.ctx, act.Name, act.Text) })
	case tui.Tell:
		v.brief(func(a *app) error { return a.tell(v.ctx, act.Name, act.Text) })
	case tui.Pause, tui.Resume:
		v.brief(func(a *app) error { return a.pauseRun(v.ctx, []string{act.Name}, act.Do == tui.Resume) })
	case tui.Cancel:
		v.brief(func(a *app) error { return a.cancelTask(v.ctx, act.Name, api.Message{}) })
	case tui.Log:
		v.paged(pagerStays+" +G", func(a *app) error { return a.logs(v.ctx, act.Name, false, false) })
	case tui.Show:
		v.paged(pagerStays, func(a *app) error { return a.show(v.ctx, act.Name, false, false) })
	case tui.Diff:
		v.outside(pagerStays, func(a *app) error { return a.diff(v.ctx, act.Name, diffOptions{}) })
	case tui.Review:
		v.outside("", func(a *app) error {
			a.Err = v.app.Err
			return a.reviews(v.ctx, []string{act.Name})
		})
	case tui.Open:
		v.open(act.Name)
	}
}

// pagerStays has less, if it is that, stay also for a text that fits the screen, on a screen of its own: so nothing of it is left
// when the view ends.
const pagerStays = "-+F -+X"

// open takes a task over and opens it in the person's editor; without one it says where the worktree is.
func (v *answeringView) open(name string) {
	v.outside("", func(a *app) error {
		fmt.Fprintf(v.app.Out, "%s is to be yours; an agent that works on it is told to end, and waited for\n", safetext.Escape(name))
		t, err := a.takeOver(v.ctx, name)
		if err != nil {
			return err
		}
		give := fmt.Sprintf("`signalbox give %s` hands it in", safetext.ShellWord(t.Work))
		program := editor()
		if program == "" {
			fmt.Fprintf(a.Err, "EDITOR is not set: %s is yours, in %s; %s\n", safetext.Escape(t.Work), safetext.Escape(t.Worktree), give)
			return nil
		}
		if err = worktree.Edit(v.ctx, program, t.Worktree, "."); err == nil {
			fmt.Fprintf(a.Err, "%s is yours: %s\n", safetext.Escape(t.Work), give)
		}
		return err
	})
}

// brief does something that needs no terminal, and shows what it says. Ctrl-C interrupts meanwhile, as it does elsewhere: then
// the terminal is given back at once, and a second one ends the program.
func (v *answeringView) brief(do func(*app) error) {
	v.restore()
	v.restore = nil
	given := make(chan struct{})
	goesOn := context.AfterFunc(v.ctx, func() {
		defer close(given)
		v.giveBack()
	})
	var said bytes.Buffer
	a := *v.app
	a.Out, a.Err = &said, &said
	err := do(&a)
	if !goesOn() {
		<-given
		return
	}
	v.model = v.model.Done(strings.TrimSpace(said.String()), err)
	v.takeKeys()
}

// paged shows what a command prints in the user's pager.
func (v *answeringView) paged(less string, do func(*app) error) {
	v.outside(less, func(a *app) error {
		c, err := a.settings("")
		if err != nil {
			return err
		}
		site, err := runner.OpenSite(v.ctx, c.Dir, c)
		if err != nil {
			return err
		}
		return a.paged(v.ctx, site, func(to io.Writer) error {
			inside := *a
			inside.Out = to
			return do(&inside)
		})
	})
}

// outside gives the terminal back, has something done there, and comes back. An interrupt is for what is done there.
func (v *answeringView) outside(less string, do func(*app) error) {
	a := *v.app // before close can look whether another program has the terminal
	v.away.Store(true)
	v.giveBack()
	release := v.app.Hold()
	var notes bytes.Buffer
	said := &lastSaid{to: v.app.Out}
	a.Out, a.Err, a.less = said, &notes, less
	err := do(&a)
	release()
	text := strings.ReplaceAll(strings.TrimSpace(notes.String()), "\n", "; ")
	if text == "" {
		text = strings.TrimSpace(said.line)
	}
	if less != "" && err == nil && said.line == "" && !strings.Contains(text, "; nothing") {
		text = "" // it was seen in the pager
	}
	v.model = v.model.Done(text, err)
	v.away.Store(false)
	v.takeKeys()
}

// lastSaid passes on what is said, and keeps the last of it, unless that was a question.
type lastSaid struct {
	to   io.Writer
	line string
}

func (l *lastSaid) Write(p []byte) (int, error) {
	l.line = ""
	if bytes.HasSuffix(p, []byte("\n")) {
		l.line = string(p)
	}
	return l.to.Write(p)
}

// takeKeys makes the terminal the view's again. Without keys it only shows.
func (v *answeringView) takeKeys() {
	before := v.release
	v.release = sync.OnceFunc(v.app.Guard())
	before()
	restore, err := v.app.Keys()
	v.restore = restore
	v.deaf = v.deaf || err != nil
	v.screen.Forget()
}

// giveBack gives the terminal back as it was.
func (v *answeringView) giveBack() {
	_ = v.screen.Close() // there is nothing else to try
	if v.restore != nil {
		v.restore()
		v.restore = nil
	}
	v.release()
}

// suspend stops this program, as Ctrl-Z does, until it is continued.
func (v *answeringView) suspend() {
	v.giveBack()
	stopUntilContinued()
	v.takeKeys()
}
