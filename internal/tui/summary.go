package tui

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/safetext"
)

// maxProse is how many lines of a text are shown in a summary.
const maxProse = 12

// Summary is what is left on the screen when a run has ended, or when only
// questions remain: the outcome, a line for each task, the questions and how to
// answer them, what else a person should know, what was merged for the environment, what was completed with no change, and where the work is. It is as long as it has to be. No line is
// wider than the options' width but those with a command, which are never cut.
func Summary(r api.Run, o Options) []string {
	v := newView(r, o, len("99.9k tokens"), "")
	ended, unchanged := completed(r)
	merged := ended - unchanged
	var drawn []string
	draw := func(lines ...line) {
		for _, l := range lines {
			drawn = append(drawn, l.draw(v.Width, v.Color))
		}
	}
	command := func(text string) {
		drawn = append(drawn, "    "+paint(cyan, safetext.Escape(text), v.Color))
	}

	draw(v.outcome(ended), nil)
	for _, t := range r.Tasks {
		draw(v.result(t))
	}
	if r.Trouble != "" {
		draw(nil, line{{red, "! environment"}})
		draw(prose(plain, r.Trouble, v.Width, maxProse)...)
	}
	if r.Distrust != "" {
		draw(nil, line{{red, "! paused"}})
		draw(prose(plain, r.Distrust, v.Width, maxProse)...)
		command("signalbox pause --resume " + r.ID)
	}
	if grave := graveNotices(r.Notices); len(grave) > 0 {
		draw(nil)
		for _, n := range grave {
			draw(line{{yellow, "! "}, {plain, oneLine(n.Text)}})
		}
	}
	for _, q := range v.Questions {
		draw(nil, line{{important, "? " + nameOf(q)}, {plain, "  " + q.Task}})
		text, context := prose(plain, q.Text, v.Width, maxProse), prose(dim, q.Context, v.Width, maxProse)
		draw(append(text, context...)...)
		if cutOff(text) || cutOff(context) {
			draw(line{{plain, "    all of it: "}, {cyan, "signalbox inbox"}})
		}
		if len(q.Choices) > 0 {
			draw(prose(plain, "choices: "+strings.Join(q.Choices, ", "), v.Width, maxProse)...)
		}
		command(q.Command())
	}
	if len(r.Repairs) > 0 {
		draw(nil)
		for _, repair := range r.Repairs {
			draw(repairLine(repair))
		}
	}
	if unchanged > 0 {
		draw(nil, line{{yellow, "! " + english.Count(unchanged, "task") + " completed with no change"}, {plain, ": nothing was merged for that"}})
		for _, t := range r.Tasks {
			if t.Phase == agentsig.PhaseCompleted && t.NoChange != "" {
				draw(prose(plain, t.ID+": "+t.NoChange, v.Width, maxProse)...)
			}
		}
		draw(prose(dim, "The developer claims it and the critic agrees: no auditor looked at it.", v.Width, maxProse)...)
	}
	if merged > 0 || len(r.Repairs) > 0 {
		base, branch := safetext.ShellWord(shortCommit(r.Base)), safetext.ShellWord(r.Branch)
		draw(nil, line{{plain, english.Count(merged, "task") + " merged to the branch "}, {bold, r.Branch}})
		command("git log --oneline " + base + ".." + branch)
		command("git diff " + base + "..." + branch)
		if r.State == api.RunFinished {
			command("git merge " + branch)
		}
		if n := unaudited(r); n > 0 {
			draw(line{{yellow, "! not audited: " + english.Count(n, "task")}, {plain, ", as the run has no auditor"}})
		}
		if r.Unchecked != "" {
			draw(prose(yellow, "! "+r.Unchecked, v.Width, maxProse)...)
		}
		if r.Checks == 0 {
			draw(line{{yellow, "! no checks are configured: nothing of it was tested"}})
		}
	}
	if c := costs(r.Usage); c != "" {
		draw(nil, line{{plain, c}})
	}
	return drawn
}

// maxGrave is how many grave notices a summary repeats.
const maxGrave = 5

// asked matches the notice of a question, by the id at its end.
var asked = regexp.MustCompile(`-Q\d+\)$`)

// graveNotices are the last ones that a person should have seen. Questions are shown
// by themselves for as long as they are open.
func graveNotices(all []api.Notice) []api.Notice {
	var grave []api.Notice
	said := map[string]bool{}
	for _, n := range all {
		if !n.Grave || asked.MatchString(n.Text) {
			continue
		}
		if n.Text = once(n.Text, said); n.Text != "" {
			grave = append(grave, n)
		}
	}
	return grave[max(len(grave)-maxGrave, 0):]
}

// once leaves out of a notice of changes outside of a worktree what was said of the same file before; it returns nothing if
// nothing is left. Other notices stay as they are.
func once(text string, said map[string]bool) string {
	list, ok := strings.CutSuffix(text, delivery.Outside)
	task, list, named := strings.Cut(list, ": ")
	if !ok || !named {
		return text
	}
	var left []string
	for change := range strings.SplitSeq(list, "; ") {
		file := strings.TrimSuffix(strings.TrimPrefix(change, "in your checkout, "), " further")
		if !said[file] {
			said[file] = true
			left = append(left, change)
		}
	}
	if len(left) == 0 {
		return ""
	}
	return task + ": " + strings.Join(left, "; ") + delivery.Outside
}

// outcome says in one line how a run ended, or how far it is.
func (v *view) outcome(ended int) line {
	end := v.Now
	if !v.FinishedAt.IsZero() {
		end = v.FinishedAt
	}
	facts := fmt.Sprintf("  %d of %s", ended, english.Count(len(v.Tasks), "task"))
	if dropped := len(v.Tasks) - ended; v.Outcome == delivery.Completed && dropped > 0 { // the plan was amended, and has them no more
		facts += fmt.Sprintf(", %d dropped", dropped)
	}
	if took := elapsed(v.StartedAt, end); took != "" {
		facts += " in " + took
	}
	left := line{{bold, v.ID}, {plain, "  "}, {bold, v.Title}}
	return v.justify(left, line{state(v.Run), {plain, facts}})
}

// result says what became of a task.
func (v *view) result(t api.Task) line {
	w := rowOf(v.Run, t, v.Now)
	w.note, w.figure = nil, cost(t.Usage)
	if w.kind == done && t.NoChange == "" {
		w.status = "merged"
	}
	if t.Rework > 0 && v.Width >= mediumWidth {
		w.status += fmt.Sprintf(", sent back %d×", t.Rework)
	}
	return v.row(w)[0]
}

// prose is a text in lines that are not wider than width, and no more of them than most. A bar sets it apart, so that it can't pass for a command.
func prose(style, text string, width, most int) []line {
	const bar = "  │ "
	var lines []line
	for paragraph := range strings.Lines(strings.TrimSpace(text)) {
		for _, s := range wrap(paragraph, max(width-columns(bar), 2), most+1) {
			lines = append(lines, line{{dim, bar}, {style, s}})
		}
		if len(lines) > most {
			return append(lines[:most-1], line{{dim, bar}, cutMark})
		}
	}
	return lines
}

// cutMark stands for the lines that prose leaves out.
var cutMark = span{dim, "…"}

func cutOff(prose []line) bool {
	return len(prose) > 0 && prose[len(prose)-1][1] == cutMark
}

// wrap breaks a paragraph into lines of no more than room columns, between words
// where it can, and stops when there are as many as most.
func wrap(paragraph string, room, most int) []string {
	var lines []string
	now := ""
	for word := range strings.FieldsSeq(paragraph) {
		word = safetext.Escape(word)
		if now != "" && columns(now)+1+columns(word) > room {
			lines = append(lines, now)
			now = ""
		}
		now = strings.TrimLeft(now+" "+word, " ")
		for len(lines) < most && columns(now) > room {
			part, _ := safetext.Clip(now, room)
			lines = append(lines, part)
			now = now[len(part):]
		}
		if len(lines) >= most {
			return lines
		}
	}
	return append(lines, now)
}

var wholeCommit = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// shortCommit shortens a commit's name; a branch's stays as it is.
func shortCommit(name string) string {
	if wholeCommit.MatchString(name) {
		return name[:12]
	}
	return name
}
