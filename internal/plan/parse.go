package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// Parse reads a plan. If it can't be carried out as it is written, the error is
// an [*Errors] with everything that is wrong.
func Parse(text []byte) (Plan, error) {
	p := parser{errs: &Errors{}, checks: map[Check]bool{}}
	if len(text) > MaxText {
		p.errs.add(0, "the plan has %d bytes of at most %d: make two plans of it", len(text), MaxText)
		return Plan{}, p.errs.orNil()
	}
	lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	for i, s := range lines {
		if !utf8.ValidString(s) {
			p.errs.add(i+1, "the text is not UTF-8: save the plan as UTF-8")
			return Plan{}, p.errs.orNil()
		}
	}
	for i, s := range lines {
		p.line = i + 1
		p.read(strings.TrimRight(s, "\r"))
		if len(p.drafts) > MaxTasks {
			p.errs.add(p.line, "the plan has more than %d tasks: make two plans of it", MaxTasks)
			return Plan{}, p.errs.orNil()
		}
	}
	p.end()
	if err := p.errs.orNil(); err != nil {
		return Plan{}, err
	}
	return p.plan, nil
}

// parser goes through a plan line by line.
type parser struct {
	errs *Errors
	plan Plan
	line int // where it is

	fence   fence
	comment bool
	opened  int // the line of the open fence or comment

	phase  string
	drafts []*draft
	task   *draft // the one it is in
	ended  int    // the line of the heading that ended the last one
	table  *table // of the Verification section that it is in
	checks map[Check]bool
}

// draft is a task as it is written.
type draft struct {
	task     Task
	sections []*section // of each name one at most
	current  *section   // the one it is in
	blockers []blocker
	stray    bool // there is text before the first section, and it was said
}

type section struct {
	name  string
	line  int
	lines []numbered
}

type numbered struct {
	line int
	text string
}

type blocker struct {
	line int
	id   string
}

func (d *draft) section(name string) *section {
	i := slices.IndexFunc(d.sections, func(s *section) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return d.sections[i]
}

// read takes the next line.
func (p *parser) read(s string) {
	switch {
	case p.fence != fence{}:
		if p.fence.closedBy(s) {
			p.fence, s = fence{}, strings.TrimRightFunc(s, unicode.IsSpace)
		}
		p.text(s, true)
	case p.comment:
		p.comment = !strings.Contains(s, "-->")
	default:
		p.open(strings.TrimRightFunc(s, unicode.IsSpace))
	}
}

// open takes a line that is in neither fence nor comment.
func (p *parser) open(s string) {
	if text, ok := block(s); ok && strings.HasPrefix(text, "<!--") {
		p.comment, p.opened = !strings.Contains(text[len("<!--"):], "-->"), p.line
		return
	}
	if f, ok := openFence(s); ok {
		p.fence, p.opened = f, p.line
		p.text(s, true)
		return
	}
	if name, rest, ok := label(s); ok && p.task != nil {
		p.label(name, rest)
		return
	}
	if looksBlocked(s) && len(p.drafts) > 0 {
		if p.task == nil {
			p.errs.add(p.line, "%s belongs to no task: the heading on line %d ended the one before", quote(strings.TrimSpace(s)), p.ended)
		} else {
			p.errs.add(p.line, "%s looks like a section and is none: write %q at the start of the line", quote(strings.TrimSpace(s)), "**Blocked By**:")
		}
		return
	}
	if level, text, ok := heading(s); ok && p.heading(level, text) {
		return
	}
	p.text(s, false)
}

// heading takes a heading, and reports whether it is structure.
func (p *parser) heading(level int, text string) bool {
	rest, isTask := cutWord(text, "Task")
	switch {
	case text == "Verification" && level >= 2 && level <= 4:
		p.endTask()
		p.table = &table{line: p.line, seen: p.checks}
		if level == 4 {
			return true
		}
	case level == 4 && isTask:
		p.endTask()
		p.begin(rest)
		return true
	case level == 4 && p.task == nil:
		p.endTask()
		return true
	case level >= 4:
		return false
	case level >= 2 && isTask && looksTask(rest):
		p.endTask()
		p.errs.add(p.line, "a task's heading has four #: write %s", quote("#### "+text))
		p.begin(rest)
		return true
	default:
		p.endTask()
	}
	p.phase = ""
	if level == 1 && p.plan.Title == "" {
		p.plan.Title = text
	}
	if phase, ok := cutWord(text, "Phase"); ok && level == 3 {
		p.phase = phase
		if phase == "" || phase[0] == ':' {
			p.errs.add(p.line, "the phase has no number: write %q", "### Phase 1: name")
		}
	}
	return true
}

// cutWord takes the first word off a heading.
func cutWord(text, word string) (string, bool) {
	rest, ok := strings.CutPrefix(text, word)
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], " \t:") {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

// looksTask reports whether a heading has an id and a title.
func looksTask(s string) bool {
	id, title, _ := strings.Cut(s, ":")
	return agentsig.ValidID(strings.TrimSpace(id)) && trimTitle(title) != ""
}

// trimTitle is a title without what is around it. Number signs alone are none: they would be read
// as the end of the heading.
func trimTitle(s string) string {
	if s = strings.TrimSpace(s); strings.Trim(s, "#") == "" {
		return ""
	}
	return s
}

// begin begins a task with what its heading says after "Task".
func (p *parser) begin(s string) {
	id, title, ok := strings.Cut(s, ":")
	id, title = strings.TrimSpace(id), trimTitle(title)
	p.task = &draft{task: Task{ID: id, Title: title, Phase: p.phase, Line: p.line}}
	p.drafts = append(p.drafts, p.task)
	const form = "#### Task ID: title"
	switch {
	case id == "":
		p.errs.add(p.line, "the task has no id: write %q", form)
	case !ok:
		p.errs.add(p.line, "the task has no id or no title, %s is all there is: write %q", quote(s), form)
		p.task.task.ID = ""
	case refusal(id) != "":
		p.errs.add(p.line, "%s can't be an id: %s", quote(id), refusal(id))
		p.task.task.ID = ""
	case title == "":
		p.errs.add(p.line, "task %s has no title: write %q", id, form)
	case len(title) > maxTitle:
		p.errs.add(p.line, "the title of task %s has %d bytes of at most %d: put the rest into Work", id, len(title), maxTitle)
	}
}

// refusal says why something can't be an id; nothing if it can. An id is part of the name
// of the task's branch, so what git does not take there is no id.
func refusal(id string) string {
	switch {
	case len(id) > maxID:
		return fmt.Sprintf("it has %d bytes of at most %d", len(id), maxID)
	case !agentsig.ValidID(id):
		return "use letters, digits, '.', '_' and '-', the first one a letter or digit; or an issue's, as #12 or org/repo#12"
	case strings.EqualFold(id, "none"):
		return "in Blocked By it means that there is no blocker"
	case strings.Contains(id, ".."):
		return "git refuses '..' in the name of a branch"
	case strings.HasSuffix(id, "."):
		return "git refuses '.' at the end of a branch's name"
	case strings.HasSuffix(id, ".lock"):
		return "git refuses '.lock' at the end of a branch's name"
	}
	return ""
}

// label begins a section of the task.
func (p *parser) label(name, rest string) {
	if before := p.task.section(name); before != nil {
		p.errs.add(p.line, "%s has a section %s already, on line %d: make one section of both", p.task.task.name(), name, before.line)
		p.task.current = before
	} else {
		p.task.current = &section{name: name, line: p.line}
		p.task.sections = append(p.task.sections, p.task.current)
	}
	if rest == "" {
		return
	}
	_, _, isLabel := label(rest)
	if _, _, isHeading := heading(rest); isHeading || isLabel || looksBlocked(rest) {
		p.errs.add(p.line, "%s stands behind %s: give it a line of its own, or put it into other words", quote(rest), name)
		return
	}
	p.open(rest)
}

// text takes a line that is no structure.
func (p *parser) text(s string, code bool) {
	switch {
	case p.table != nil:
		if !code {
			p.plan.Checks = p.table.row(p.errs, p.plan.Checks, numbered{p.line, s})
		}
	case p.task == nil:
	case p.task.current != nil:
		p.task.current.lines = append(p.task.current.lines, numbered{p.line, s})
	case s != "" && !isRule(s) && !p.task.stray:
		p.task.stray = true
		p.errs.add(p.line, "%s stands before the first section of %s: put it below %q", quote(strings.TrimSpace(s)), p.task.task.name(), "**Work**:")
	}
}

// endTask ends the task or the Verification section, at a heading.
func (p *parser) endTask() {
	if p.table != nil && !p.table.found {
		p.errs.add(p.table.line, "Verification has no check: write a table that begins with %q", strings.Join(checkColumns, " | "))
	}
	if p.task != nil {
		p.finish(p.task)
		p.ended = p.line
	}
	p.table, p.task = nil, nil
}

// finish makes the task out of its sections.
func (p *parser) finish(d *draft) {
	t := &d.task
	for _, s := range d.sections {
		switch s.name {
		case nameWork:
			t.Work = s.text()
		case nameEnvironment:
			t.Environment = s.text()
			if text, ok := block(t.Environment); ok && !strings.Contains(text, "\n") {
				t.Environment = text
			}
		case nameCriteria:
			t.Criteria = s.criteria()
		case nameReading:
			t.Reading = s.reading(p.errs)
		case nameBlockedBy:
			d.blockers = s.blockers(p.errs)
		}
	}
	if t.Work == "" && !d.stray {
		p.errs.add(t.Line, "%s has no Work: say below %q what is to be done", t.name(), "**Work**:")
	}
}

func (t Task) name() string {
	if t.ID == "" {
		return "the task"
	}
	return "task " + t.ID
}

// end takes the end of the text.
func (p *parser) end() {
	switch {
	case p.fence != fence{}:
		p.errs.add(p.opened, "the code that begins here has no end: close it with %q", strings.Repeat(p.fence.char, p.fence.length))
	case p.comment:
		p.errs.add(p.opened, "the comment that begins here has no end: close it with %q", "-->")
	}
	p.endTask()
	if len(p.drafts) == 0 {
		p.errs.add(0, "there is no task in the plan: a task begins with %q", "#### Task ID: title")
		return
	}
	checkTasks(p.drafts, p.errs)
	for _, d := range p.drafts {
		p.plan.Tasks = append(p.plan.Tasks, d.task)
	}
}
