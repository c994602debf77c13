package agentreply

import (
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Reader is who a reply is for: what it may do besides looking. A reply names no tool that its reader does not have: it says
// what the person runs in its place.
type Reader struct {
	Operate bool // it has wait_run, start_run, retry and the others that bring runs on
	Answer  bool // it has answer_question and review_task, which bring a person's word
}

// Everything is the reader that has all tools. Replies of the command line are for it.
var Everything = Reader{Operate: true, Answer: true}

// lookAgain is what a reader does that can't wait.
const lookAgain = "call get_run again, not more often than once a minute"

// wait is the call that follows a run.
func (who Reader) wait() string {
	if who.Operate {
		return "call wait_run"
	}
	return lookAgain
}

// waitFor is that call, where nothing is to be decided, and why.
func (who Reader) waitFor(why string) string { return who.wait() + ": nothing to decide, " + why }

// running is what to do while a run goes on.
func (who Reader) running() string {
	if who.Operate {
		return who.waitFor("it returns when something has changed")
	}
	return who.waitFor("agents are at work")
}

// retry is how a task is tried again.
func (who Reader) retry(task string) string {
	if who.Operate {
		return "call retry for " + task
	}
	return "they run: " + retryCommand(task)
}

func retryCommand(task string) string { return "signalbox retry " + safetext.ShellWord(task) }

// start is how a plan is started.
func (who Reader) start() string {
	if who.Operate {
		return "call start_run with the same plan"
	}
	return "they start it with: signalbox run PLAN"
}

// startWith is how one is started in one of the ways that the person has to choose.
func (who Reader) startWith(choice string) string {
	if who.Operate {
		return "start_run with " + choice
	}
	return "signalbox run PLAN --" + choice
}

// follow is how a run is followed that is not the one that was asked for.
func (who Reader) follow(run string) string {
	if who.Operate {
		return "call wait_run with run " + run
	}
	return "call get_run with run " + run
}

// stopped is what to do about a run that no box brings on.
func (who Reader) stopped() string {
	const ask = "no box brings the run on: ask the person to run: signalbox up"
	if who.Operate {
		return ask + " (or, if they agree, call start_run with the same plan, which goes on with this run)"
	}
	return ask
}

// paused is what to do about a run that a person paused.
func (who Reader) paused(run string) string {
	const ask = "ask the person whether the run should go on, and do not resume it unasked; if "
	if who.Operate {
		return ask + "they say so, call pause with resume, or they run: " + resumeCommand(run) + "; then call wait_run"
	}
	return ask + "it should, they run: " + resumeCommand(run) + "; then " + lookAgain
}

// stalled is what to do about an agent of which nothing is heard. That it was told already does not end a wait.
func (who Reader) stalled(task string) string {
	const tell = "tell the person that nothing is heard of the agent, "
	if who.Operate {
		return "call wait_run once, which waits though stalled is flagged already; if it is flagged again, " + tell + "and offer to retry " + task
	}
	return lookAgain + "; if stalled is flagged for minutes, " + tell + "and that this tries the task again: " + retryCommand(task)
}

// typed says how a person can run a command without leaving the program in which they talk to the reader.
const typed = " (in Claude Code, Codex and Gemini CLI they can type it as a line that begins with !)"

// answer is how a person's answer to a question comes to the box.
func (who Reader) answer(command string) string {
	if who.Answer {
		return "bring their answer to this question with answer_question (a yes to you is no answer to it), or they run: " + command
	}
	return "they answer it themselves, not you: " + command + typed
}

// review is how a person's verdict comes to the box.
func (who Reader) review(command string) string {
	if who.Answer {
		return "get_diff shows the change, and its first line the commit; bring their verdict with review_task (accept, or send back with comments), or they run: " + command
	}
	return "get_diff shows the change; they give their verdict themselves, not you: " + command
}

// call is the call that brings a person's word to the box: tool and arguments are those of package boxtools.
func (who Reader) call(q api.Question) *Call {
	if !who.Answer {
		return nil
	}
	switch delivery.Part(kindOf(q)) {
	case api.KindQuestion:
		return &Call{"answer_question", map[string]string{"question": id(q.ID)}, []string{"answer"}, nil}
	case delivery.PartReview:
		return &Call{"review_task", map[string]string{"work": id(q.Work)}, []string{"accept", "comments"}, []string{"commit"}}
	}
	return nil // it is for the person's own hands
}
