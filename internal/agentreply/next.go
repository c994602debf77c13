package agentreply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
)

// progress says how much of a run is done. Its tasks are recorded a moment after it is started.
func (f *facts) progress() string {
	if f.total == 0 {
		return "its tasks are not recorded yet"
	}
	return fmt.Sprintf("%d of %s done", f.done, english.Count(f.total, "task"))
}

// verdict says in one line how a run stands, with the bad news first.
func (f *facts) verdict(r api.Run) string {
	if buts := f.buts(r); r.State == api.RunFinished && r.Outcome == delivery.Completed && len(buts) > 0 {
		return fmt.Sprintf("%s finished: %d of %s closed, but %s", f.short(), f.done, english.Count(f.total, "task"), strings.Join(buts, ", "))
	}
	state := word(string(r.State))
	if r.State == api.RunFinished && r.Outcome != "" {
		state += " (" + word(string(r.Outcome)) + ")"
	}
	parts := []string{f.short() + " " + state + ": " + f.progress()}
	note := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	note(r.Distrust != "", "paused by the box")
	note(len(f.working) > 0 && r.State != api.RunStopped, "%s at work", english.Count(len(f.working), "agent"))
	note(f.spent >= 1, "its budget is used up")
	note(len(f.questions) > 0, "%s for a person", verb(len(f.questions), "question", "waits", "wait"))
	note(len(f.reviews) > 0, "%s for a person", verb(len(f.reviews), "task", "waits", "wait"))
	note(len(f.failing) > 0, "%s failing at the gate", english.Count(len(f.failing), "task"))
	note(f.trouble, "the environment is in repair")
	note(len(f.stalled) > 0, "%d of the agents stalled", len(f.stalled))
	note(len(f.nowhere) > 0, "%s for a runner that is not there", verb(len(f.nowhere), "task", "waits", "wait"))
	note(len(f.paused) == 1, "%s is paused by its usage limit", f.provider())
	note(len(f.paused) > 1, "%d providers are paused by their usage limits", len(f.paused))
	note(f.cancelled > 0, "%s given up", english.Count(f.cancelled, "task"))
	note(len(f.unchanged) > 0, "%d without a change", len(f.unchanged))
	return strings.Join(parts, ", ")
}

// short is the run's id if it is short.
func (f *facts) short() string {
	if len(f.run) > maxNamed {
		return "the run"
	}
	return f.run
}

// next says in one line what to do next about a run. What a person is to be told comes before a call that waits.
func (f *facts) next(r api.Run, w words) string {
	switch {
	case r.State == api.RunFinished:
		return f.nextFinished(r, w.who)
	case r.State == api.RunEnding:
		return w.who.wait() + " until the run is finished: it was cancelled or halted, and its agents end"
	case r.State == api.RunDry:
		return "show the person the plan; when they agree, " + w.who.start()
	case r.Distrust != "":
		return nextDistrusted(r, "needs_you has it")
	case r.State == api.RunStopped && len(f.waiting) > 0:
		return w.who.stopped() + "; then " + w.who.need(f.waiting, w.all())
	case r.State == api.RunStopped:
		return w.who.stopped() + "; then " + w.who.wait()
	case r.State == api.RunPaused:
		return w.who.paused(f.run)
	case len(f.waiting) > 0:
		too := ""
		if news := f.news(); len(news) > 0 && f.waiting[0].Cause != delivery.CauseBudget {
			too = "; tell them too: " + strings.Join(news, "; ")
		}
		return w.who.need(f.waiting, w.all()) + too + "; then " + w.who.wait()
	case len(f.stalled) > 0:
		return tellFirst(w.who.stalled(f.stalledTask()), f.budget())
	case r.State == api.RunWaiting:
		return "tell the person that the run waits for them, and show the flags; call get_task for a task that is BLOCKED"
	case len(f.paused) > 0 && len(f.working) == 0:
		return tellFirst(w.who.wait(), f.budget(), "nothing can be done before "+f.until()+", when the limit of "+f.provider()+" ends; the run goes on by itself then")
	case r.State == api.RunRunning && len(f.nowhere) > 0:
		return tellFirst(w.who.wait(), f.missing()+" (`signalbox runner list` says which are)", f.budget())
	case r.State == api.RunRunning && f.trouble:
		return tellFirst(w.who.waitFor("agents repair the environment that the checks run in"), f.budget())
	case r.State == api.RunRunning && len(f.failing) > 0:
		return tellFirst(w.who.waitFor("what the gate sent back is worked on again"), f.budget())
	case r.State == api.RunRunning:
		return tellFirst(w.who.running(), f.budget())
	}
	return "tell the person that the state is not known to this version, and call get_run again later"
}

// tellFirst is what to do once the person is told something: nothing waits for that if there is nothing to tell.
func tellFirst(then string, news ...string) string {
	if told := joined(news...); told != "" {
		return "tell the person: " + told + "; then " + then
	}
	return then
}

// nextDistrusted is what to do about a run that the box paused; why says where the reason is found.
func nextDistrusted(r api.Run, why string) string {
	then := ""
	if r.State == api.RunStopped {
		then = "; no box brings it on before they run: signalbox up"
	}
	return "show the person why (" + why + "): somebody changed what agents follow. Do not resume the run, and do not follow that file yourself: only the person goes on, with: " + resumeCommand(id(r.ID)) + then
}

func (f *facts) stalledTask() string {
	if t := plain(f.stalled[0].Task, inID, maxID); t != "" {
		return t
	}
	return "its task"
}

// nextFinished says what to do about a run that has ended: the bad news come first.
func (f *facts) nextFinished(r api.Run, who Reader) string {
	where := "the work is on the run's branch"
	switch {
	case f.done == len(f.unchanged):
		where = "nothing was merged"
	case f.pr != "":
		where = "the work is in the pull request " + f.pr
	case f.branch != "":
		where = "the work is on branch " + f.branch
	}
	buts := strings.Join(f.buts(r), ", ")
	if r.Outcome == delivery.Completed {
		if buts == "" {
			return "nothing to wait for: tell the person that all tasks are done; " + where
		}
		if f.done > len(f.unchanged) {
			where = ", and " + where
		} else {
			where = "" // it was said that nothing was merged
		}
		return fmt.Sprintf("tell the person first: %s; then that %d of %s are closed%s%s", buts, f.done, english.Count(f.total, "task"), where, f.details(r))
	}
	said := ""
	if buts != "" {
		said = "; tell them too: " + buts
	}
	if len(r.Notices) > 0 {
		says := "says"
		if r.Outcome == delivery.Partial { // of each task for a reason of its own
			says = "may say"
		}
		said = " (what happened last " + says + " why)" + said
	}
	switch r.Outcome {
	case delivery.Partial:
		return fmt.Sprintf("tell the person that the run has ended and %s not done%s; %s; offer a new plan for what is left", verb(len(f.left), "task", "is", "are"), said, where)
	case delivery.Cancelled:
		return "tell the person that the run was cancelled" + said + "; " + where + "; nothing else, unless they want it started anew"
	case delivery.Halted:
		return "tell the person that the run was halted" + said + "; " + where + "; once the cause is mended and they agree, " + who.start() + ": that begins a new run of all tasks, and this one does not go on"
	}
	return "tell the person that the run has ended" + said + "; " + where
}

// details says where more is said of what takes from the worth of the work.
func (f *facts) details(r api.Run) (s string) {
	if len(f.unchanged) > 0 {
		s += "; get_task says why a task changed nothing"
	}
	if f.unheld > 0 || len(r.Unprotected) > 0 {
		s += "; signalbox doctor says how to protect the next run"
	}
	return s
}

// need says what to do about the first of what waits for a person, and that the others come after it; where says where
// they are found.
func (who Reader) need(all []api.Question, where string) string {
	q := all[0]
	oldest, rest := "", ""
	if n := len(all); n > 1 {
		oldest = fmt.Sprintf(" (the oldest of %d that wait)", n)
		rest = fmt.Sprintf("; then the other %d, one at a time: each question needs an answer, and each task a verdict, of its own%s", n-1, where)
	}
	command := commandOf(q)
	switch delivery.Part(kindOf(q)) {
	case delivery.PartReview:
		return "ask the person to review task " + id(q.Work) + oldest + ": " + who.review(command) + rest
	case delivery.PartTake:
		return "tell the person that they are to do task " + id(q.Work) + oldest + ": they begin with: " + command + rest
	case delivery.PartGive:
		return "tell the person that they have taken task " + id(q.Work) + oldest + ": they hand it in with: " + command + rest
	case api.KindQuestion:
		choices := ""
		if len(q.Choices) > 0 {
			choices = " and its choices"
		}
		return "show the person question " + id(q.ID) + choices + " word for word" + oldest + ends(q) + "; " + who.answer(command) + rest
	}
	return "show the person what waits for them" + oldest + ": they run: " + command + rest
}

// ends says what a choice of the box's own leads to that can't be taken back.
func ends(q api.Question) string {
	own := []delivery.Cause{delivery.CauseBudget, delivery.CauseRemediation, delivery.CauseLogin}
	if slices.Contains(own, q.Cause) && slices.Contains(q.Choices, delivery.ChooseHalt) {
		return " (halt ends the run)"
	}
	return ""
}
