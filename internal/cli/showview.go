package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// cardPart is a part of a card in words: entries below a label. What is foreign in them is as it was said.
type cardPart struct {
	label   string
	entries []string
	most    int  // how many are shown on a screen: the last ones
	wraps   bool // they may take more than a line each, where the screen has room
	gives   bool // it makes room for those with an entry less, if it has to
}

const (
	labelWidth  = 10 // how wide the column of labels is
	cardLines   = 22 // how many lines a card has, unless it is to be all
	lastFinding = 3  // how many of them the last entry of a part that wraps may take in any case
)

// text is the card for a terminal: at most 22 lines of so many columns, unless it is to be all.
func (c card) text(columns int, all bool) string {
	parts := c.parts(all)
	room := cardLines
	for _, p := range parts {
		room -= min(len(p.entries), p.most)
	}
	for i := range parts {
		p := &parts[i]
		if p.gives && room < lastFinding-1 && len(c.Findings) > 0 && len(p.entries) >= p.most {
			p.most--
			room++
		}
		if left := len(p.entries) - p.most; !all && left > 0 {
			p.entries = append([]string{fmt.Sprintf("… %d before (--all shows them)", left+1)}, p.entries[left+1:]...)
		}
	}
	var b strings.Builder
	for _, p := range parts {
		label := p.label
		for _, e := range p.lines(columns-labelWidth, &room, all) {
			for line := range strings.SplitSeq(e, "\n") {
				fmt.Fprintf(&b, "%-*s%s\n", labelWidth, label, line)
				label = ""
			}
		}
	}
	return b.String()
}

// lines are the entries as they are shown. The last ones come first where there is room for more than a line each.
func (p cardPart) lines(columns int, room *int, all bool) []string {
	shown := make([]string, len(p.entries))
	for i, e := range slices.Backward(p.entries) {
		if all || !p.wraps {
			shown[i] = entryText(e, columns, all)
			continue
		}
		most := 1 + max(*room, 0)
		if i == len(p.entries)-1 {
			most = max(most, lastFinding)
		}
		wrapped := command.Wrap(safetext.Escape(oneLine(e)), columns-2)
		if len(wrapped) > most {
			wrapped = append(wrapped[:most-1], safetext.Cut(strings.Join(wrapped[most-1:], " "), columns-2))
		}
		*room -= len(wrapped) - 1
		shown[i] = strings.Join(wrapped, "\n  ")
	}
	return shown
}

// entryText is an entry as it is shown: all of it, or a line.
func entryText(e string, columns int, all bool) string {
	if all {
		return strings.ReplaceAll(safetext.EscapeLines(strings.TrimSpace(e)), "\n", "\n  ") // so that no line of theirs looks like an entry
	}
	return safetext.Cut(oneLine(e), columns)
}

// oneLine is the beginning of a text, in one line.
func oneLine(s string) string {
	const enough = 4 << 10 // for any line that is shown
	short := s[:min(len(s), enough)]
	line := strings.Join(strings.Fields(short), " ")
	if len(short) < len(s) {
		line += "…"
	}
	return line
}

// parts is the card in words. On a screen the last claim alone is shown, in four lines.
func (c card) parts(all bool) []cardPart {
	parts := []cardPart{
		{label: "task", entries: []string{c.Task + ": " + oneLine(c.Title)}, most: 1},
		{label: "state", entries: []string{c.stateWords()}, most: 1},
		{label: "asked", entries: nonEmpty(c.Asked), most: 1},
		{label: "tried", entries: each(c.Attempts, func(a attempt) string { return stamp(a.Began) + " " + a.words() }), most: 4, gives: true},
		{label: "claimed", entries: c.claimed(all), most: 4},
		{label: "gate", entries: each(c.Gates, func(g gateRun) string { return stamp(g.At) + " " + g.words() }), most: 3, gives: true},
		{label: "found", entries: each(c.Findings, func(f finding) string {
			return fmt.Sprintf("%s %s: %s", stamp(f.At), f.words(), statementWords(f.Statement))
		}), most: 3, wraps: true},
		{label: "question", entries: each(c.Questions, func(q asked) string { return q.words(all) }), most: 2},
	}
	if m := c.Merge; m != nil {
		parts = append(parts, cardPart{label: "merged", entries: []string{stamp(m.At) + " " + m.words()}, most: 1})
	}
	return append(parts, cardPart{label: "used", entries: []string{c.usedWords()}, most: 1}, cardPart{label: "proof", entries: c.Proof.entries(all), most: 1})
}

func each[T any](all []T, say func(T) string) []string {
	entries := make([]string, len(all))
	for i, one := range all {
		entries[i] = say(one)
	}
	return entries
}

func nonEmpty(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []string{s}
}

func stamp(at time.Time) string { return at.Local().Format("2006-01-02 15:04:05") }

func (c card) stateWords() string {
	switch {
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

func (a attempt) words() string {
	if a.How == doneByHand {
		return fmt.Sprintf("%s set it from %s", a.Who, a.Detail)
	}
	who := cmp.Or(a.Program, a.Who)
	if a.Role != "" {
		who = fmt.Sprintf("%s (%s)", a.Role, who)
	}
	parts := []string{who}
	switch {
	case a.Resumes != "":
		parts = append(parts, "in the same conversation")
	case a.Fresh != "":
		parts = append(parts, "afresh: "+a.Fresh)
	}
	if a.How != "" {
		parts = append(parts, length(time.Duration(a.Seconds)*time.Second))
	}
	if a.Usage != nil {
		parts = append(parts, usageWords(*a.Usage))
	}
	how := cmp.Or(a.How, "at work")
	switch {
	case a.Said == "" || a.Said == agentsig.KindExit || a.Detail != "":
	case a.Said == agentsig.KindDivineClarification:
		how = "asks you"
	default:
		how = string(a.Said)
	}
	how = strings.ReplaceAll(how, "_", " ")
	text := strings.Join(append(parts, how), ", ")
	if a.Detail != "" {
		text += ": " + a.Detail
	}
	return text
}

func usageWords(u delivery.Usage) string {
	text := count(int(u.Tokens()), "token")
	if u.CostUSD > 0 {
		text += fmt.Sprintf(", %.2f USD", u.CostUSD)
	}
	return text
}

func (c card) usedWords() string {
	var took float64
	sessions := 0
	for _, a := range c.Attempts {
		if a.How != doneByHand {
			took += a.Seconds
			sessions++
		}
	}
	return fmt.Sprintf("%s, %s, %s", count(sessions, "session"), length(time.Duration(took)*time.Second), usageWords(c.Usage))
}

// claimed is what was claimed, and by whom.
func (c card) claimed(all bool) []string {
	if all {
		return each(c.Claims, func(s work.Statement) string { return claimWords(s) + "\n" + statementWords(s) })
	}
	if len(c.Claims) == 0 {
		return nil
	}
	s := c.Claims[len(c.Claims)-1]
	entries := append([]string{claimWords(s)}, nonEmpty(s.Text)...)
	if s.PRURL != "" {
		entries = append(entries, "pull request: "+s.PRURL)
	}
	if s.Evidence != nil {
		entries = append(entries, evidenceWords(*s.Evidence))
	}
	return entries
}

func claimWords(s work.Statement) string {
	return fmt.Sprintf("%s by %s (nobody has checked it)", stamp(s.At), s.By)
}

func (g gateRun) words() string {
	verdict := "failed"
	if g.Passed {
		verdict = "passed"
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
	what := cmp.Or(strings.Join(checks, ", "), "no check ran here")
	if g.Since != "" {
		what = "nothing was changed"
	}
	if len(tolerated) > 0 { // it is not called passed, and comes first: the rest of a long line is cut
		return fmt.Sprintf("%.7s %s", g.Commit, strings.Join(append([]string{strings.Join(tolerated, ", ") + " failed, " + delivery.FailsAnyway}, checks...), "; "))
	}
	return fmt.Sprintf("%.7s %s: %s", g.Commit, verdict, what)
}

func (f finding) words() string {
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

func (q asked) words(all bool) string {
	answer := "not answered"
	if q.By != "" {
		answer = fmt.Sprintf("%s: %s", q.By, q.Answer)
	}
	if all {
		return fmt.Sprintf("%s %s: %s\n%s", stamp(q.At), q.ID, q.Text, answer)
	}
	return fmt.Sprintf("%s %s (%s): %s", stamp(q.At), q.ID, safetext.Cut(oneLine(answer), 24), q.Text)
}

func (m mergeMade) words() string {
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

// entries is the proof in words, and if it is to be all, what was signed and each event.
func (p cardProof) entries(all bool) []string {
	entries := []string{p.words()}
	if all {
		entries = append(entries, "checkpoint\n"+strings.TrimSpace(p.Checkpoint), p.events())
	}
	return entries
}

// events names the events, and says what is wrong with them.
func (p cardProof) events() string {
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

func (p cardProof) words() string {
	held, pending := 0, 0
	for _, e := range p.Events {
		if e.Holds {
			held++
		}
		if e.Pending {
			pending++
		}
	}
	text := fmt.Sprintf("%d of %s in the signed ledger", held, count(len(p.Events), "event"))
	if held == len(p.Events) {
		text = fmt.Sprintf("%s, all in the signed ledger", count(held, "event"))
	}
	if pending > 0 {
		text += fmt.Sprintf(", %d not signed yet", pending)
	}
	if wrong := len(p.Events) - held - pending; wrong > 0 {
		text = fmt.Sprintf("WRONG: %d of %s can't be proven; `signalbox ledger verify` says more", wrong, count(len(p.Events), "event"))
	}
	switch {
	case p.Merge == nil:
	case p.Merge["ok"] == true:
		text += "; the merge proves itself"
	case p.fault:
		text = fmt.Sprintf("WRONG: the merge: %v; %s", p.Merge["error"], text)
	default:
		text += fmt.Sprintf("; merge not checked: %v", p.Merge["error"])
	}
	return text
}

// markdown is the card as the text of a pull request. Whatever somebody wrote is in code, where it mentions, shows and
// closes nothing.
func (c card) markdown(all bool) string {
	m := &markdown{all: all}
	fmt.Fprintf(m, "## Evidence on %s\n\n", span(c.Task))
	m.block(strings.TrimSpace(c.Title + "\n\n" + c.Asked))
	fmt.Fprintf(m, "- State: %s\n- Used: %s\n- Proof: %s\n", span(c.stateWords()), c.usedWords(), span(c.Proof.words()))
	if c.Merge != nil {
		fmt.Fprintf(m, "- Merged: %s, %s\n", utc(c.Merge.At), span(c.Merge.words()))
	}
	m.list("Attempts", each(c.Attempts, func(a attempt) string { return utc(a.Began) + ": " + span(a.words()) }))
	m.heading("Claims, which nobody has checked", len(c.Claims))
	for _, s := range last(m, c.Claims) {
		fmt.Fprintf(m, "By %s, %s:\n\n", span(s.By), utc(s.At))
		m.block(statementWords(s))
	}
	m.list("Gate", each(c.Gates, func(g gateRun) string { return utc(g.At) + ": " + span(g.words()) }))
	m.heading("Findings", len(c.Findings))
	for _, f := range last(m, c.Findings) {
		fmt.Fprintf(m, "By %s, %s:\n\n", span(f.words()), utc(f.At))
		m.block(statementWords(f.Statement))
	}
	m.heading("Questions", len(c.Questions))
	for _, q := range last(m, c.Questions) {
		fmt.Fprintf(m, "%s, %s:\n\n", span(q.ID), utc(q.At))
		m.block(q.Text)
		if q.By != "" {
			fmt.Fprintf(m, "Answered by %s, %s:\n\n", span(q.By), utc(q.AnsweredAt))
			m.block(q.Answer)
		}
	}
	m.heading("What it rests on", len(c.Proof.Events))
	m.block(strings.TrimSpace(c.Proof.Checkpoint) + "\n\n" + c.Proof.events())
	return m.String()
}

// markdown is a text for a forge, which takes 64 KiB: unless it is to be all, of each kind it has the last ones, and of
// each text the beginning.
type markdown struct {
	strings.Builder
	all bool
}

const (
	mostListed = 10
	mostQuoted = 800 // bytes
)

func last[T any](m *markdown, all []T) []T {
	if left := len(all) - mostListed; left > 0 && !m.all {
		fmt.Fprintf(m, "%d before are left out.\n\n", left)
		return all[left:]
	}
	return all
}

func (m *markdown) heading(name string, entries int) {
	if entries > 0 {
		fmt.Fprintf(m, "\n### %s\n\n", name)
	}
}

func (m *markdown) list(name string, entries []string) {
	m.heading(name, len(entries))
	for _, e := range last(m, entries) {
		fmt.Fprintf(m, "- %s\n", e)
	}
}

// block quotes a text in a fence that nothing in it can close.
func (m *markdown) block(text string) {
	if len(text) > mostQuoted && !m.all {
		text = strings.ToValidUTF8(text[:mostQuoted], "") + "\n… (there is more: signalbox show --all)"
	}
	text = safetext.EscapeLines(text)
	fence := strings.Repeat("`", max(3, longestTicks(text)+1))
	fmt.Fprintf(m, "%stext\n%s\n%s\n\n", fence, text, fence)
}

// span quotes a line, which is not empty.
func span(s string) string {
	s = safetext.Cut(oneLine(s), 400)
	ticks := strings.Repeat("`", longestTicks(s)+1)
	if len(ticks) > 1 {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// longestTicks is how long the longest run of backticks is.
func longestTicks(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if run++; s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

func utc(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }
