package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
	"github.com/signalbox-dev/signalbox/safetext"
)

// partingTime is for how long a session that was stopped tries to deliver its end.
const partingTime = 2 * time.Second

// ErrUsed is returned for a directory whose session has run already.
var ErrUsed = errors.New("this session has run already: a session is started once")

// Run carries out the session of a directory. It returns when the session has ended, all
// processes of its agent are gone and its reports are delivered, or kept in the outbox if
// the box can't be had. If ctx ends, it ends the agent.
func Run(ctx context.Context, dir string, client Client, logger *slog.Logger) (err error) {
	spec, err := readSpec(dir)
	if err != nil {
		return err
	}
	release, err := filelock.Take(filepath.Join(dir, lockFile))
	if errors.Is(err, filelock.ErrTaken) {
		err = fmt.Errorf("%w: %s", ErrAlive, dir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	own := filepath.Join(dir, sessionFile)
	if err := writeJSON(own, leader{os.Getpid(), process.StartedAt(os.Getpid())}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove(own)) }()
	mark, err := marker(dir, spec.Session)
	if err != nil {
		return err
	}
	transcript, err := keep(filepath.Join(dir, transcriptFile), MaxTranscript)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: %s", ErrUsed, dir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, transcript.close()) }()
	speakers, err := keepVoices(filepath.Join(dir, voicesFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, speakers.file.Close()) }()
	stderr, err := keep(filepath.Join(dir, stderrFile), maxStderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stderr.close(), removeTemp(dir)) }()

	r := &runner{
		dir: dir, spec: spec, logger: logger, transcript: transcript, voices: speakers, stderr: stderr,
		link: newLink(dir, spec.Session, client, logger), carriedOut: map[string]bool{},
	}
	driven := spec.agent(dir, mark, r.left)
	if err := agent.MakeNest(driven); err != nil {
		return err
	}
	if r.agent, err = agent.New(driven); err != nil {
		return err
	}
	r.watch = Watch{
		WallClock: time.Duration(spec.WallClock), Silence: time.Duration(spec.Silence), Answer: time.Duration(spec.Answer),
		Misses: spec.Misses,
	}
	hangUp := r.link.start(context.WithoutCancel(ctx), time.Duration(spec.Orphan))
	defer hangUp()
	if spec.Asks {
		if err := r.link.ask(ctx, time.Duration(spec.Orphan)); err != nil {
			return fmt.Errorf("the agent was not started: %w", err)
		}
	}
	r.begin(api.SessionCommand{Text: spec.firstPrompt()})
	r.loop(ctx)
	return r.part(ctx)
}

// runner is a session that runs. All of it belongs to one goroutine.
type runner struct {
	dir    string
	spec   Spec
	logger *slog.Logger
	agent  agent.Adapter
	link   *link

	transcript, stderr *kept
	voices             *voices
	said               int64 // bytes, whether they are kept or not
	lines              int   // that they have

	used       delivery.Usage // in all turns
	using      delivery.Usage // besides, as far as it is known
	toldUsed   delivery.Usage // that the box knows of
	remind     string         // what the agent is told with its next prompt
	turn       *turn          // nil between turns
	turns      int
	watch      Watch
	waiting    []api.SessionCommand   // prompts for later turns
	carriedOut map[string]bool        // ids of commands
	goneBy     time.Time              // when the agent is ended if it is not done by itself
	refused    int                    // things that the agent was denied
	steps      int                    // of its model
	talk       *delivery.Conversation // that the agent's program can go on with later
	afresh     bool                   // the first turn begins once more when the agent's program is gone

	seq    int
	ending *api.SessionReport // the last report, once the session is to end
	failed error              // why the session could not keep what it has to
	over   bool
}

// loop runs until the last report is kept.
func (r *runner) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop := ctx.Done()
	for {
		if r.failed != nil {
			r.end(api.HowCrashed, "the session can't keep its files: "+safetext.Escape(r.failed.Error()))
		}
		if r.over {
			return
		}
		timer.Reset(time.Until(r.nextLook()))
		select {
		case e := <-r.agent.Events():
			r.handle(e)
		case c := <-r.link.commands:
			r.carryOut(c)
		case <-timer.C:
			r.look(time.Now())
		case err := <-r.link.gone:
			r.end(api.HowStopped, "the box has given up the session: "+safetext.Escape(err.Error()))
		case <-r.link.orphaned:
			r.end(api.HowOrphaned, fmt.Sprintf("the box stayed away for %v", time.Duration(r.spec.Orphan)))
		case <-stop:
			stop = nil
			r.end(api.HowStopped, "the session was stopped")
		}
		if r.turn == nil && r.ending == nil && r.failed == nil && len(r.waiting) > 0 && r.agent.Ready() {
			c := r.waiting[0]
			r.waiting = r.waiting[1:]
			r.begin(c)
		}
	}
}

// begin begins a turn.
func (r *runner) begin(c api.SessionCommand) {
	now := time.Now()
	r.turns++
	r.settleUsage()
	if r.remind != "" {
		c.Text, r.remind = c.Text+"\n\n"+r.remind+"\n", ""
	}
	if r.transcript.begun {
		r.keep([]byte("\n")) // a turn begins on a line of its own
	}
	r.turn = newTurn(r.turns, c.ID, r.spec.options(), r.said, r.lines)
	if c.AnswerMS > 0 {
		r.turn.answerBy = now.Add(time.Duration(c.AnswerMS) * time.Millisecond)
	}
	r.watch.Begin(now)
	if err := durable.WriteFile(filepath.Join(r.dir, fmt.Sprintf("prompt-%d.md", r.turns)), []byte(c.Text)); err != nil {
		r.fail(err)
		return
	}
	if err := r.agent.Prompt(r.turns, c.Text); err != nil {
		advice := "check that the program is installed, and the command of the agent in signalbox.yaml"
		if errors.Is(err, sandbox.ErrUnavailable) || errors.Is(err, sandbox.ErrBadPolicy) {
			advice = "see `signalbox doctor`, and sandbox in signalbox.yaml"
		}
		r.end(api.HowCrashed, fmt.Sprintf("the agent %s can't be started: %s: %s", safetext.Escape(r.spec.Agent.Name), safetext.Escape(err.Error()), advice))
	}
}

// carryOut does what the box wants, once.
func (r *runner) carryOut(c api.SessionCommand) {
	if c.ID != "" && r.carriedOut[c.ID] || r.ending != nil {
		return
	}
	r.carriedOut[c.ID] = true
	switch c.Kind {
	case api.CommandPrompt:
		r.waiting = append(r.waiting, c)
	case api.CommandTell:
		r.tell(c)
	case api.CommandEnd:
		r.end(api.HowDone, safetext.Escape(c.Reason))
	case api.CommandStop:
		r.end(api.HowStopped, safetext.Escape(c.Reason))
	default:
		r.logger.Warn("the box sent a command that this session does not know", "kind", safetext.Escape(c.Kind))
	}
}

// tell sends a message into the turn, and tells the box whether that was possible.
func (r *runner) tell(c api.SessionCommand) {
	note := api.SessionReport{Kind: api.ReportNote, Turn: r.turns, Prompt: c.ID}
	err := errors.New("no turn is running")
	if r.turn != nil && !r.turn.closed {
		err = r.agent.Tell(agent.MessageTell, c.Text)
	}
	if err != nil {
		note.NoAnswer, note.Detail = true, err.Error()
	} else if c.AnswerMS > 0 {
		r.turn.answerBy = time.Now().Add(time.Duration(c.AnswerMS) * time.Millisecond)
	}
	r.report(note)
}

// handle takes what the agent did.
func (r *runner) handle(e agent.Event) {
	switch e.Kind {
	case agent.Said:
		r.goesOn()
		if err := r.voices.speak(r.transcript.size, e.Source, time.Now()); err != nil {
			r.fail(err)
		}
		r.keep(e.Text)
		r.hear(e)
	case agent.Paused:
		r.flush()
	case agent.Complained:
		if _, err := r.stderr.Write(e.Text); err != nil {
			r.fail(err)
		}
		if r.turn != nil {
			r.turn.errs.write(e.Text)
			r.alive()
		}
	case agent.Used:
		r.using = delivery.Usage{}
		r.count(e.Usage)
		r.spend()
	case agent.Using:
		if e.Usage.Check() == nil {
			r.using = e.Usage
		}
		r.alive()
		r.spend()
	case agent.Heard:
		r.alive()
	case agent.Working:
		r.goesOn()
		r.working(e.Open > 0, time.Now())
		r.alive()
	case agent.Denied:
		r.denied(string(e.Text))
	case agent.Conversed:
		r.talk = &e.Conversation
		r.alive()
	case agent.Forgotten:
		r.forgotten(e)
	case agent.Stepped:
		r.stepped(e)
		r.alive()
	case agent.TurnOver, agent.Failed:
		if r.turn != nil && r.ending == nil {
			r.agentEnds(e)
		}
	case agent.Stopped:
		r.agent.Clear()
		if err := remove(filepath.Join(r.dir, agentFile)); err != nil {
			r.logger.Warn("a file about the agent stays", "error", err)
		}
		r.goneBy = time.Time{}
		r.stopped(e)
	}
}

// count adds what was used, unless the program can't count.
func (r *runner) count(u delivery.Usage) {
	all := r.used
	if all.Add(u); u.Check() != nil || all.Check() != nil {
		return
	}
	r.used = all
	if r.turn != nil {
		r.turn.usage.Add(u)
	}
}

// settleUsage counts what a turn has used that was cut before its program could tell it for good.
func (r *runner) settleUsage() {
	using := r.using
	r.using = delivery.Usage{}
	r.count(using)
}

// agentEnds takes the end of a turn as the agent tells it. A failure does not count if the
// agent has said a terminal signal, or was told to stop. One that does not stay has a
// moment to stop by itself, which is when the turn is over; if it has not said what it had
// to and something of it runs on, it waits for that.
func (r *runner) agentEnds(e agent.Event) {
	t, now := r.turn, time.Now()
	r.flush()
	switch settled := t.closed || t.terminal; {
	case e.Kind == agent.Failed && !settled:
		if e.Spent {
			r.keptTo(string(e.Text))
			return
		}
		how := api.HowCrashed
		switch {
		case e.Limited:
			how = api.HowLimited
		case e.Refused:
			how = api.HowLoggedOut
		}
		r.end(how, string(e.Text))
		r.ending.ResetAt = e.Reset
	case r.agent.Traits().Stays:
		r.goneBy = time.Time{}
		r.finish(nil)
	case e.Open > 0 && !settled:
		t.over = true // unless it goes on
		r.working(true, now)
	default:
		t.over = true
		r.goneBy = now.Add(time.Duration(r.spec.Linger))
	}
}

// goesOn takes back that the turn is over.
func (r *runner) goesOn() {
	if t := r.turn; t != nil && t.over && !t.closed {
		t.over, r.goneBy = false, time.Time{}
	}
}

// hear gives the turn what was said.
func (r *runner) hear(e agent.Event) {
	t := r.turn
	if t == nil {
		return // between turns it is in the transcript, and counts for nothing
	}
	t.write(e.Source, e.Text)
	r.note()
	r.alive()
	now := time.Now() // silence begins when all this is done: more may be waiting by then
	t.quietAt = now.Add(r.linger())
}

// alive takes note of a sign of life, and has the box told of it.
func (r *runner) alive() {
	r.watch.Heard(time.Now())
	if r.turn != nil {
		r.link.heard(api.Activity{Line: r.turn.last.activity(r.spec.Dir), Busy: r.watch.busy})
	}
}

// linger is for how long an agent has to be silent after a terminal signal.
func (r *runner) linger() time.Duration {
	if r.agent.Traits().MarksEnd {
		return time.Duration(r.spec.Answer)
	}
	return time.Duration(r.spec.Linger)
}

// working takes note that the agent waits for a tool, or does not any more.
func (r *runner) working(busy bool, now time.Time) {
	r.watch.Working(busy, now)
	if t := r.turn; t != nil {
		t.quietAt = time.Time{}
		if !busy {
			t.quietAt = now.Add(r.linger())
		}
	}
}

// denied tells the box that something was refused the agent.
func (r *runner) denied(what string) {
	if r.refused++; r.refused <= maxDenied {
		r.report(api.SessionReport{Kind: api.ReportNote, Turn: r.turns, Denied: what})
	}
}

// stepped tells the box what the agent's model did, and the agent when that is recorded, or can't be.
func (r *runner) stepped(e agent.Event) {
	if r.steps++; r.steps > maxSteps {
		if e.Recorded != nil {
			e.Recorded(false)
		}
		return
	}
	r.reportThen(api.SessionReport{Kind: api.ReportNote, Turn: r.turns, Step: &e.Step}, e.Recorded)
}

// keep writes to the transcript.
func (r *runner) keep(text []byte) {
	r.said += int64(len(text))
	r.lines += lines(text)
	if _, err := r.transcript.Write(text); err != nil {
		r.fail(err)
	}
}

// note reports what was said that ends nothing.
func (r *runner) note() {
	for _, n := range r.turn.takeNotes() {
		r.report(n)
	}
}

// flush takes what was said so far as whole.
func (r *runner) flush() {
	if t := r.turn; t != nil && !t.closed {
		t.scanner.Flush()
		r.note()
	}
}

// nextLook is when something may be due although nothing happens.
func (r *runner) nextLook() time.Time {
	next := time.Now().Add(time.Hour)
	if !r.goneBy.IsZero() {
		next = r.goneBy
	}
	if r.turn == nil || r.turn.closed {
		return next
	}
	r.watch.CanBeTold = r.agent.Traits().CanBeTold // some say so only when they are up
	for _, at := range []time.Time{r.watch.Next(), r.turn.quietAt, r.turn.answerBy} {
		if !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// look sees what is due.
func (r *runner) look(now time.Time) {
	due := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	t := r.turn
	if due(r.goneBy) {
		r.goneBy = time.Time{}
		if t != nil {
			t.close()
		}
		r.agent.End()
	}
	if t == nil || t.closed {
		return
	}
	if due(t.quietAt) || due(t.answerBy) {
		if due(t.quietAt) {
			t.quietAt = time.Time{}
		}
		r.flush()
		if t.terminal {
			r.lastWord()
			return
		}
	}
	if due(t.answerBy) {
		t.noAnswer = true
		r.cancel()
		return
	}
	switch r.watch.Check(now) {
	case StepAsk:
		if err := r.agent.Tell(agent.MessageAsk, r.question()); err != nil {
			r.logger.Info("the agent could not be asked for progress", "error", err)
		}
	case StepStalled:
		r.end(api.HowStalled, fmt.Sprintf("nothing was heard of the agent for %v, %d times in a row",
			time.Duration(r.spec.Silence+r.spec.Answer), r.spec.Misses))
	case StepTimedOut:
		r.end(api.HowTimedOut, fmt.Sprintf("the turn took longer than %v", time.Duration(r.spec.WallClock)))
	case StepWait:
	}
}

// question asks for progress.
func (r *runner) question() string {
	form, err := agentsig.Signal{Kind: agentsig.KindCheckpoint, Subject: r.spec.Task, Run: r.spec.Nonce}.Wire()
	if err != nil {
		form = "CHECKPOINT"
	}
	return fmt.Sprintf("Nothing was heard of you for %v. Say how far you are with the line below, on a line of its own, and go on.\n\n%s\n",
		time.Duration(r.spec.Silence), form)
}

// lastWord ends a turn whose agent has said a terminal signal and fallen silent. One that
// should have ended by itself hangs, and is ended.
func (r *runner) lastWord() {
	if is := r.agent.Traits(); is.Stays && !is.MarksEnd {
		r.finish(nil)
		return
	}
	r.cancel()
}

// cancel ends a turn. An agent that does not heed it is ended.
func (r *runner) cancel() {
	r.turn.close()
	r.goneBy = time.Now().Add(time.Duration(r.spec.Grace))
	r.agent.Cancel()
}
