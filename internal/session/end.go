package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// exitLimited is how a plain program says that its provider's usage limit was reached:
// EX_TEMPFAIL of sysexits.h.
const exitLimited = 75

// exitRefused is how it says that its provider refuses its login: EX_NOPERM.
const exitRefused = 77

// stopped settles what it means that the agent's processes are gone.
func (r *runner) stopped(e agent.Event) {
	if e.Err != nil {
		r.logger.Warn("the agent's output could not be read to its end", "error", e.Err)
	}
	switch t := r.turn; {
	case r.ending != nil:
		r.settle(&e.Exit)
	case r.afresh:
		r.beginAfresh()
	case t == nil:
		r.logger.Info("the agent's program ended between turns", "exit", e.Exit)
	default:
		done := t.over || t.closed || e.Exit == 0 && !r.agent.Traits().MarksEnd // closed: it was ended here
		t.close()
		if done || t.terminal {
			r.finish(&e.Exit)
			return
		}
		how, detail, reset := failure(e.Exit, t.errs, time.Now())
		r.conclude(how, detail)
		r.ending.ResetAt = reset
		r.settle(&e.Exit)
	}
}

// failure tells a usage limit from a crash. The cause is what a program says last.
func failure(exit int, errs tail, now time.Time) (how, detail string, reset time.Time) {
	how = api.HowCrashed
	if exit == exitLimited {
		how = api.HowLimited
		if reset = retryAfter(errs.line(), now); !reset.IsZero() {
			errs = errs.beforeLast()
		}
	}
	if exit == exitRefused {
		how = api.HowLoggedOut
	}
	detail = fmt.Sprintf("exit status %d", exit)
	if exit == 0 {
		detail = "the program ended in the middle of its turn"
	}
	if cause := errs.line(); cause != "" {
		detail += ": " + cause
	}
	if before := errs.beforeLast().lines(4); before != "" {
		detail += "\nafter:\n" + before
	}
	return how, detail, reset
}

// retryAfter reads when a usage limit ends; zero if a line does not say so.
func retryAfter(line string, now time.Time) time.Time {
	name, value, _ := strings.Cut(line, ":")
	seconds, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if !strings.EqualFold(strings.TrimSpace(name), "retry-after") || err != nil || seconds < 0 || seconds > int64(agent.MaxReset/time.Second) {
		return time.Time{}
	}
	return now.Add(time.Duration(seconds) * time.Second)
}

// finish ends a turn and reports it.
func (r *runner) finish(exit *int) {
	t := r.turn
	t.close()
	r.note()
	report := t.report(api.ReportTurn)
	report.Exit = exit
	r.turn = nil
	r.report(report)
}

// end makes the session end: the agent is ended, and with it the turn. The first reason
// counts.
func (r *runner) end(how, detail string) {
	if r.ending != nil {
		return
	}
	r.conclude(how, detail)
	if !r.agent.End() {
		r.settle(nil)
	}
}

// conclude writes the last report, less what is known only when the agent is gone. A turn
// that is cut counts if the agent has said a terminal signal in it: it is reported first.
func (r *runner) conclude(how, detail string) {
	r.ending = &api.SessionReport{Kind: api.ReportEnded, Turn: r.turns}
	if r.turn != nil {
		r.turn.close()
	}
	switch {
	case r.turn == nil:
	case r.turn.terminal:
		r.finish(nil)
	default:
		r.note()
		*r.ending = r.turn.report(api.ReportEnded)
	}
	r.ending.How, r.ending.Detail = how, detail
}

// settle reports the end, when the agent is gone.
func (r *runner) settle(exit *int) {
	r.turn = nil
	r.settleUsage()
	r.ending.Exit, r.ending.Usage, r.ending.Conversation = exit, r.used, r.talk
	r.report(*r.ending)
	r.over = true
}

// fail notes that the session can't keep what it has to: the disk is full, or the
// directory has gone. The loop ends the session for it, once what is being done is done: who
// reports something goes on with the turn that it was about.
func (r *runner) fail(err error) {
	if r.failed == nil {
		r.failed = err
	}
}

// report numbers a report and puts it into the outbox.
func (r *runner) report(report api.SessionReport) { r.reportThen(report, nil) }

// reportThen does the same, and has a function called when the box has recorded the report, or will not. It may be nil.
func (r *runner) reportThen(report api.SessionReport, settled func(recorded bool)) {
	r.seq++
	report.Seq, report.At = r.seq, time.Now().UTC()
	report.Bytes, report.SHA256 = r.transcript.size, r.transcript.sum()
	var err error
	if report.Kind != api.ReportNote {
		err = r.transcript.file.Sync()
	}
	if report.Kind == api.ReportEnded {
		err = errors.Join(err, writeJSON(filepath.Join(r.dir, endedFile), report))
	}
	put := r.link.put(report, settled)
	if put != nil && settled != nil {
		settled(false)
	}
	if err = errors.Join(err, put); err != nil {
		r.fail(err)
	}
}

// part waits until the box has all reports, or it makes no sense to.
func (r *runner) part(ctx context.Context) error {
	patience := time.NewTimer(time.Duration(r.spec.Orphan))
	defer patience.Stop()
	if r.failed != nil || r.ending.How == api.HowOrphaned {
		patience.Reset(0)
	}
	parting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(partingTime, cancel)
	})()
	for {
		select {
		case <-r.link.allDelivered():
			return r.failed
		case <-r.link.gone:
			return r.failed
		case <-patience.C:
			return r.failed
		case <-parting.Done():
			return r.failed
		case <-r.link.commands: // it is over, whatever they say
		}
	}
}
