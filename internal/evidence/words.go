package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// What is foreign in these words is as it was said: who shows them escapes them.

// FindingWords are what was found in words, and apart from it what the checks printed, if it is the gate's.
func FindingWords(s work.Statement) (says, printed string) {
	says = StatementWords(s)
	if s.By == work.GateActor {
		says, printed, _ = strings.Cut(says, "\n")
	}
	return says, printed
}

// StateWords say how the task is.
func (c Card) StateWords() string {
	switch {
	case c.State == StateCancelled:
		return c.givenUp()
	case c.State == string(agentsig.PhaseCompleted) && c.Merge != nil:
		state := fmt.Sprintf("%s, merged as %.7s", c.State, c.Merge.Commit)
		if c.Merge.Unaudited {
			state += ", not audited"
		}
		return state
	case c.State == string(agentsig.PhaseCompleted) && len(c.Gates) > 0 && c.Gates[len(c.Gates)-1].NoChange != "":
		return c.State + ", nothing had to be changed"
	case c.BoxChecks:
		return fmt.Sprintf("%s, the box runs the checks on the branch %s", c.State, safetext.Escape(c.Branch))
	}
	return c.State
}

// WaitWords say what the task waits for; nothing if it waits for nothing.
func (c Card) WaitWords() string {
	if c.Waits == nil {
		return ""
	}
	words := c.Waits.Text
	if !c.Waits.Since.IsZero() {
		words += ", since " + c.Waits.Since.Local().Format("2006-01-02 15:04:05")
	}
	return words
}

// givenUp says that a task was given up, by whom and why.
func (c Card) givenUp() string {
	for _, d := range slices.Backward(c.Decisions) {
		switch d.What {
		case GaveUp:
			return because("given up by "+d.By, d.Text)
		case CancelledRun:
			return because("given up, "+d.By+" cancelled the run", d.Text)
		case Retried, Took, GaveBack:
		}
	}
	if c.with != "" {
		return "given up with " + c.with + ", which it depends on"
	}
	return "given up"
}

// because adds a reason to a sentence, if there is one.
func because(sentence, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return sentence
	}
	return sentence + ": " + text
}

// Words say what was decided.
func (d Decision) Words() string {
	what := map[Decided]string{
		GaveUp: "gave it up", Retried: "had it tried again", Took: "took it over", GaveBack: "gave it back to agents", CancelledRun: "cancelled the run",
	}[d.What]
	if d.Question != "" {
		what += ", by the answer to " + d.Question
	}
	return because(what, d.Text)
}

// AnswerWords say what was answered: also what it means, if it means something.
func (q Question) AnswerWords() string {
	if means := meanings[q.Choice]; means != "" {
		if q.Answer == q.Choice {
			return means
		}
		return because(means, q.Answer)
	}
	return q.Answer
}

// meanings are what answers do that mean something.
var meanings = map[string]string{
	delivery.ChooseRetry: "try again", delivery.ChooseCancel: "give the task up", delivery.ChooseHealthy: "the environment is healthy", delivery.ChooseHalt: "end the run",
	delivery.ChooseContinue: "go on", delivery.ChooseAccept: "accepted", delivery.ChooseRaise: "as much again",
}

// VerdictWords say what a reviewer said of a commit; empty if it was no verdict.
func (a Attempt) VerdictWords() string {
	of := fmt.Sprintf("%.7s", a.Commit)
	if a.Commit == "" {
		of = "it"
	}
	switch a.Said {
	case agentsig.KindReviewPassed, agentsig.KindAuditPassed:
		return "accepted " + of
	case agentsig.KindReviewFailed, agentsig.KindAuditFailed:
		return "sent " + of + " back"
	}
	return ""
}

// By says who it was: a person, or a program of the box's.
func (a Attempt) By() string {
	if a.Program == work.PersonAgent {
		return a.Who
	}
	return cmp.Or(a.Program, a.Who)
}

// Words say who tried it, for how long, and how that ended.
func (a Attempt) Words() string {
	if a.How == doneByHand {
		return fmt.Sprintf("%s set it from %s", a.Who, a.Detail)
	}
	who := a.By()
	if a.Role != "" {
		who = fmt.Sprintf("%s (%s)", a.Role, who)
	}
	if a.Runner != "" {
		who += " on " + a.Runner
	}
	parts := []string{who}
	switch {
	case a.Resumes != "":
		parts = append(parts, "in the same conversation")
	case a.Fresh != "":
		parts = append(parts, "afresh: "+a.Fresh)
	}
	if a.How != "" {
		parts = append(parts, Length(time.Duration(a.Seconds)*time.Second))
	}
	if a.Usage != nil {
		parts = append(parts, UsageWords(*a.Usage))
	}
	how := cmp.Or(a.How, "at work")
	switch {
	case a.Said == "" || a.Said == agentsig.KindExit || a.Detail != "":
	case a.Said == agentsig.KindDivineClarification:
		how = "asks you"
	default:
		how = cmp.Or(a.VerdictWords(), string(a.Said))
	}
	how = strings.ReplaceAll(how, "_", " ")
	text := strings.Join(append(parts, how), ", ")
	if a.Detail != "" {
		text += ": " + a.Detail
	}
	return text
}

// UsageWords say what was used.
func UsageWords(u delivery.Usage) string {
	text := english.Count(int(u.Tokens()), "token")
	if u.CostUSD > 0 {
		text += fmt.Sprintf(", %.2f USD", u.CostUSD)
	}
	return text
}

// UsedWords say what all attempts took.
func (c Card) UsedWords() string {
	var took float64
	sessions := 0
	for _, a := range c.Attempts {
		if a.How != doneByHand {
			took += a.Seconds
			sessions++
		}
	}
	return fmt.Sprintf("%s, %s, %s", english.Count(sessions, "session"), Length(time.Duration(took)*time.Second), UsageWords(c.Usage))
}

// since say since when nothing was changed.
var since = map[work.Since]string{
	work.SinceStart: "", work.SinceGate: " since the gate failed", work.SinceReview: " since the review sent it back", work.SinceAudit: " since the audit sent it back",
	work.SinceMerge: " since its merge failed", work.SincePerson: " since a person sent its merge back",
}

// Verdict is what became of the commit at the gate.
func (g Gate) Verdict() string {
	switch {
	case g.Since != "": // no check ran
		return "sent back"
	case !g.Passed:
		return "failed"
	case slices.ContainsFunc(g.Checks, func(c Check) bool { return c.Tolerated }):
		return "let through" // it is not called passed
	}
	return "passed"
}

// Why says how the checks ended.
func (g Gate) Why() string {
	if g.Since != "" {
		return "claimed to be done, changed nothing" + since[g.Since] + "; no check ran"
	}
	var checks, tolerated []string
	for _, c := range g.Checks {
		if c.Tolerated {
			tolerated = append(tolerated, c.Name)
			continue
		}
		how := c.Name
		if !c.Passed {
			how += " failed"
		}
		if c.Exit != nil {
			how += fmt.Sprintf(" (exit %d)", *c.Exit)
		}
		if c.Flaky {
			how += ", flaky"
		}
		checks = append(checks, how)
	}
	if len(tolerated) > 0 { // it comes first: the rest of a long line is cut
		return strings.Join(append([]string{strings.Join(tolerated, ", ") + " failed, " + delivery.FailsAnyway}, checks...), "; ")
	}
	why := cmp.Or(strings.Join(checks, ", "), "no check ran here")
	if g.Unchanged {
		why += "; nothing was changed"
	}
	return why
}

// Where says on which other machine the checks ran.
func (g Gate) Where() string {
	switch {
	case g.Runner == "":
		return ""
	case g.Signed:
		return " on " + g.Runner + ", signed with its key"
	}
	return " on " + g.Runner
}

// Words say what the gate said of the commit.
func (g Gate) Words() string {
	return fmt.Sprintf("%.7s %s%s: %s", g.Commit, g.Verdict(), g.Where(), g.Why())
}

// Look is how a verdict looks.
func (g Gate) Look() string {
	switch {
	case g.Since != "":
		return "warn"
	case g.Passed:
		return "good"
	}
	return "bad"
}

// Words say who found it, and what became of it.
func (f Finding) Words() string {
	by := f.By
	if f.Role != "" {
		by = fmt.Sprintf("%s (%s)", f.Role, f.By)
	}
	if f.Commit != "" {
		by += fmt.Sprintf(" on %.7s", f.Commit)
	}
	if f.AnsweredBy == "" {
		return by + ", not answered"
	}
	return fmt.Sprintf("%s, answered by %.7s", by, f.AnsweredBy)
}

// Words say who merged and approved what.
func (m Merge) Words() string {
	text := fmt.Sprintf("%.7s by %s", m.Commit, m.By)
	if m.Approved != nil {
		text += ", approved by " + m.Approved.By
	}
	if m.Merges != m.Commit {
		text += fmt.Sprintf(", the merge of %.7s", m.Merges)
	}
	if m.Unaudited {
		text += ", not audited: the run has no auditor"
	}
	for _, r := range m.Unseen {
		text += fmt.Sprintf(", which no %s has seen", r)
	}
	return text
}

// EventWords name the events, and says what is wrong with them.
func (p Proof) EventWords() string {
	var b strings.Builder
	b.WriteString("events")
	for _, e := range p.Events {
		fmt.Fprintf(&b, " %d", e.Sequence)
		if e.Problem != "" {
			fmt.Fprintf(&b, " (%s)", e.Problem)
		}
	}
	return b.String() + " (signalbox ledger prove proves each)"
}

// Words say what is proven, and what is not.
func (p Proof) Words() string {
	held, pending := 0, 0
	for _, e := range p.Events {
		if e.Holds {
			held++
		}
		if e.Pending {
			pending++
		}
	}
	text := fmt.Sprintf("%d of %s in the signed ledger", held, english.Count(len(p.Events), "event"))
	if held == len(p.Events) {
		text = fmt.Sprintf("%s, all in the signed ledger", english.Count(held, "event"))
	}
	if pending > 0 {
		text += fmt.Sprintf(", %d not signed yet", pending)
	}
	if wrong := len(p.Events) - held - pending; wrong > 0 {
		text = fmt.Sprintf("WRONG: %d of %s can't be proven; `signalbox ledger verify` says more", wrong, english.Count(len(p.Events), "event"))
	}
	switch {
	case p.Merge == nil:
	case p.Merge["ok"] == true:
		text += "; the merge proves itself"
	case p.wrongMerge:
		text = fmt.Sprintf("WRONG: the merge: %v; %s", p.Merge["error"], text)
	default:
		text += fmt.Sprintf("; merge not checked: %v", p.Merge["error"])
	}
	return text
}

// StatementWords are all that a statement says, in lines.
func StatementWords(s work.Statement) string {
	text := s.Text
	if s.Cut {
		text += "\n… (there was more: signalbox logs has it)"
	}
	if s.PRURL != "" {
		text += "\npull request: " + s.PRURL
	}
	if s.LeftOut != "" {
		text += "\nleft out: " + s.LeftOut
	}
	if s.Evidence != nil {
		text += "\n" + NamedWords(*s.Evidence)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "says no more than that"
	}
	return text
}

// NamedWords say what a statement names as its evidence.
func NamedWords(e work.Evidence) string {
	if e.Problem != "" {
		return fmt.Sprintf("names evidence that nobody can see, %s: %s", e.Ref, e.Problem)
	}
	return fmt.Sprintf("evidence: %s, %d bytes kept as blob %s", e.Ref, e.Bytes, e.SHA256)
}

// Length writes a time as people do: 30m, and not 30m0s.
func Length(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
