package boxtools

import (
	"context"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/mcpserver"
)

// definition is a tool, and the scope that it needs.
type definition struct {
	scope access.Scope
	tool  mcpserver.Tool
	read  func(*tools, *mcpserver.Arguments) run
}

// run carries a call out.
type run = func(context.Context) (mcpserver.Result, error)

// The arguments that several tools have.
var (
	runID    = text("default: the latest")
	workID   = text("as R1.T-2, or T-2 of the latest run")
	anyText  = text("")
	why      = text("for the record")
	planText = text("its Markdown, or else path")
	planPath = text("of its file, from the repository's top")
	offset   = property("integer", "bytes", 0)
	amend    = property("boolean", "a run of another version goes on with this one", -1)
	beside   = property("boolean", "or this is delivered beside it", -1)
)

func text(description string) mcpserver.Property {
	return mcpserver.Property{Type: "string", Description: description}
}

// property has a least value, unless that is less than 0.
func property(kind, description string, least int) mcpserver.Property {
	p := mcpserver.Property{Type: kind, Description: description}
	if least >= 0 {
		p.Minimum = &least
	}
	return p
}

// definitions are all tools. What clients are told of them has 6,000 characters at most: it goes into the context of every
// agent that is connected.
func definitions() []definition {
	seconds := property("integer", "default 50", 1)
	seconds.Maximum = new(maxSeconds)
	return []definition{
		reads("list_runs", "Runs that have not ended, or the latest; with all, ended ones too.", (*tools).listRuns,
			args{"all": property("boolean", "", -1)}),
		reads("get_run", "How a run stands, what needs the person, what to do next.", (*tools).getRun, args{"run": runID}),
		reads("get_task", "How a task stands: who works on it, what was claimed and found.", (*tools).getTask, args{"work": workID}, "work"),
		reads("get_diff", "What a task changes, by pages.", (*tools).getDiff, args{"work": workID, "offset": offset}, "work"),
		reads("get_log", "What was said and done on a task, or on a run besides its tasks. Without offset: the end.", (*tools).getLog,
			args{"work": text("or a run's id"), "offset": offset}, "work"),
		reads("list_questions", "What waits for the person: questions, reviews.", (*tools).listQuestions, args{}),
		reads("explain_wait", "Why nobody works on a task now, and what brings it on.", (*tools).explainWait, args{"work": workID}, "work"),
		reads("check_plan", "Whether a plan can be delivered, and what is wrong with it. Starts nothing.", (*tools).checkPlan,
			args{"plan": planText, "path": planPath}),
		reads("prove_event", "Proves that an event is in the signed ledger.", (*tools).proveEvent, args{"sequence": property("integer", "", 1)}, "sequence"),

		operates("start_run", "Delivers a plan with agents. Returns at once; then call wait_run. Ask the person first.", false, (*tools).startRun,
			args{"plan": planText, "path": planPath, "amend": amend, "beside": beside}),
		waits(operates("wait_run", "Waits until the run needs you, has ended, or the time is over. Call it again while it runs; never poll otherwise.", false, (*tools).waitRun,
			args{"run": runID, "since": property("integer", "sequence of the last reply", 0), "seconds": seconds})),
		operates("tell", "Gives the agent on a task a message.", false, (*tools).tell, args{"work": workID, "text": anyText}, "work", "text"),
		operates("retry", "Starts a task again; the agent on it is ended.", true, (*tools).retry, args{"work": workID, "text": text("for the next agent")}, "work"),
		operates("pause", "Has no agent started on a run any more, or with resume again.", false, (*tools).pause,
			args{"run": runID, "resume": property("boolean", "", -1), "reason": why}),
		operates("cancel", "Gives up a task or a whole run. Ask the person first.", true, (*tools).cancel,
			args{"id": text("a task's or a run's"), "reason": why}, "id"),

		answers("answer_question", "Gives the person's own answer to a question.", (*tools).answerQuestion, args{"question": text("its id"), "answer": text("a choice, or text")}, "question", "answer"),
		answers("review_task", "Gives the person's own verdict on a task that waits for their review.", (*tools).reviewTask,
			args{"work": workID, "accept": property("boolean", "", -1), "comments": text("path:line: text, one a line; to send it back"), "commit": text("that they saw")}, "work", "accept", "commit"),
	}
}

// args are a tool's arguments by name.
type args = map[string]mcpserver.Property

func defined(scope access.Scope, name, description string, read func(*tools, *mcpserver.Arguments) run, a args, required []string) definition {
	return definition{scope, mcpserver.Tool{
		Name: name, Description: description,
		Input: mcpserver.Schema{Type: "object", Properties: a, Required: required},
	}, read}
}

func reads(name, description string, read func(*tools, *mcpserver.Arguments) run, a args, required ...string) definition {
	d := defined(access.Read, name, description, read, a, required)
	d.tool.Hints = mcpserver.Hints{ReadOnly: true}
	return d
}

func operates(name, description string, destructive bool, read func(*tools, *mcpserver.Arguments) run, a args, required ...string) definition {
	d := defined(access.Operate, name, description, read, a, required)
	d.tool.Hints = mcpserver.Hints{Destructive: &destructive}
	return d
}

func answers(name, description string, read func(*tools, *mcpserver.Arguments) run, a args, required ...string) definition {
	d := defined(access.Answer, name, description, read, a, required)
	d.tool.Hints = mcpserver.Hints{Destructive: new(false)}
	return d
}

// waits makes a tool one whose calls wait. It changes nothing.
func waits(d definition) definition {
	d.tool.Waits = true
	d.tool.Hints = mcpserver.Hints{ReadOnly: true}
	return d
}

// id reads the id of a run, a task or a question: nothing but its alphabet goes further.
func id(a *mcpserver.Arguments, name string) string {
	s := a.Text(name)
	if !isID(s) {
		a.Say("%s is an id, such as R1, R1.T-2 or R1-Q1", name)
		return ""
	}
	return s
}

func isID(s string) bool {
	const maxID = 200
	return len(s) <= maxID && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-#/") == ""
}
