package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// cardPart is a part of a card in words: entries below a label. What is foreign in them is as it was said.
type cardPart struct {
	label   string
	entries []cardEntry
	most    int // how many are shown: the last ones
	least   int // how many of them are shown in any case
	tall    int // how many lines an entry may take
	sure    int // how many the last one may take in any case, besides what was printed

	shown []int // how many lines each of those takes that are shown
}

// cardEntry is a text that is wrapped, and what a program printed: its lines stay as they are, and the last ones are shown.
type cardEntry struct{ text, printed string }

const (
	labelWidth   = 10 // how wide the column of labels is
	cardLines    = 22 // how many lines a card has on a small screen, unless it is to be all
	printedLines = 8  // how many of what a program printed are shown
)

// cardText is a card for a terminal of so many columns and rows, which it fits unless it is to be all; elsewhere, with 0
// columns, it is not wrapped. Where there is no room for all entries, older ones are left out before any is cut.
func cardText(c evidence.Card, columns, rows int, all bool) string {
	parts := cardParts(c, all)
	if !all {
		lay(parts, columns, max(cardLines, rows-2))
	}
	var b strings.Builder
	for _, p := range parts {
		label := p.label
		for _, line := range p.lines(columns, all) {
			fmt.Fprintf(&b, "%-*s%s\n", labelWidth, label, line)
			label = ""
		}
	}
	return b.String()
}

// lay decides which entries are shown, and in how many lines each: first what is shown in any case, then all of the last
// entries, then older ones that fit. What is lower on the card has room first.
func lay(parts []cardPart, columns, room int) {
	if columns == 0 {
		room = math.MaxInt
	}
	for i := range parts {
		p := &parts[i]
		for n := range min(p.least, len(p.entries)) {
			most := 1
			if n == 0 {
				most = p.sure
			}
			p.shown = append(p.shown, p.height(n, columns, most))
			room -= p.shown[n]
		}
		if len(p.shown) < len(p.entries) {
			room--
		}
	}
	for i := range slices.Backward(parts) {
		for n, has := range parts[i].shown {
			more := max(0, min(room, parts[i].height(n, columns, parts[i].tall)-has))
			parts[i].shown[n] += more
			room -= more
		}
	}
	for more := true; more; {
		more = false
		for i := range slices.Backward(parts) {
			p := &parts[i]
			n := len(p.shown)
			if n == min(p.most, len(p.entries)) {
				continue
			}
			height := p.height(n, columns, p.tall)
			spare := room
			if n == len(p.entries)-1 {
				spare++ // nobody has to say that there is more
			}
			if height <= spare {
				p.shown, room, more = append(p.shown, height), spare-height, true
			}
		}
	}
}

// entry is the entry with so many after it.
func (p cardPart) entry(n int) cardEntry { return p.entries[len(p.entries)-1-n] }

// height is how many lines the entry with so many after it takes: at most so many, and what was printed.
func (p cardPart) height(n, columns, most int) int {
	text, printed := p.entry(n).wrapped(columns)
	return min(len(text), most) + len(printed)
}

// wrapped is an entry as it is shown, in lines below a label.
func (e cardEntry) wrapped(columns int) (text, printed []string) {
	const enough = 400 // columns of a line elsewhere
	line, width := safetext.Escape(oneLine(e.text)), enough
	text = []string{line}
	if columns > 0 {
		width = max(columns-labelWidth-2, 1)
		text = command.Wrap(line, width)
	}
	for _, line := range lastPrinted(e.printed) {
		printed = append(printed, safetext.Cut(line, width))
	}
	return text, printed
}

// lastPrinted is the last lines of what a program printed, as they are, without empty ones: safe to print, and not cut.
func lastPrinted(text string) []string {
	const enough = 16 << 10 // bytes, for so many lines
	if len(text) > enough {
		text = text[len(text)-enough:]
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.ReplaceAll(safetext.EscapeLines(strings.TrimRight(line, " \t\r")), "\t", "    "))
		}
	}
	return lines[max(0, len(lines)-printedLines):]
}

// lines are the lines of a part.
func (p cardPart) lines(columns int, all bool) []string {
	var lines []string
	if all {
		for _, e := range p.entries {
			text := strings.TrimSpace(e.text + "\n" + e.printed)
			lines = append(lines, strings.Split(strings.ReplaceAll(safetext.EscapeLines(text), "\n", "\n  "), "\n")...) // so that no line of theirs looks like an entry
		}
		return lines
	}
	if left := len(p.entries) - len(p.shown); left > 0 {
		lines = append(lines, fmt.Sprintf("… %d before (--all shows them)", left))
	}
	for n, height := range slices.Backward(p.shown) {
		text, printed := p.entry(n).wrapped(columns)
		if most := max(1, height-len(printed)); len(text) > most {
			text = append(text[:most-1], safetext.Cut(strings.Join(text[most-1:], " "), columns-labelWidth-2))
		}
		lines = append(lines, strings.Split(strings.Join(append(text, printed...), "\n  "), "\n")...)
	}
	return lines
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

// cardParts is a card in words. On a screen the last claim alone is shown, in four lines if it has to be.
func cardParts(c evidence.Card, all bool) []cardPart {
	one := func(label, text string, tall int) cardPart {
		return cardPart{label: label, entries: entries(nonEmpty(text)), most: 1, least: 1, tall: tall, sure: 1}
	}
	parts := []cardPart{
		one("task", c.Task+": "+oneLine(c.Title), 2),
		one("state", c.StateWords(), 2),
	}
	if c.Waits != nil {
		parts = append(parts, one("waits", c.WaitWords(), 3))
	}
	parts = append(parts, []cardPart{
		one("asked", c.Asked, 4),
		{label: "tried", entries: entries(each(c.Attempts, func(a evidence.Attempt) string { return stamp(a.Began) + " " + a.Words() })), most: 4, least: 1, tall: 3, sure: 2},
		{label: "claimed", entries: entries(claimedWords(c, all)), most: 4, least: 4, tall: 4, sure: 1},
		{label: "gate", entries: entries(each(c.Gates, func(g evidence.Gate) string { return stamp(g.At) + " " + g.Words() })), most: 3, least: 1, tall: 3, sure: 1},
		{label: "found", entries: foundEntries(c), most: 3, least: 1, tall: 16, sure: 3},
		{label: "question", entries: entries(each(c.Questions, func(q evidence.Question) string { return questionWords(q, all) })), most: 2, least: 1, tall: 4, sure: 1},
	}...)
	if len(c.Decisions) > 0 {
		parts = append(parts, cardPart{label: "decided", entries: entries(each(c.Decisions, decisionWords)), most: 3, least: 1, tall: 2, sure: 1})
	}
	if m := c.Merge; m != nil {
		parts = append(parts, one("merged", stamp(m.At)+" "+m.Words(), 3))
	}
	parts = append(parts, one("used", c.UsedWords(), 1))
	return append(parts, cardPart{label: "proof", entries: entries(proofEntries(c.Proof, all)), most: 1, least: 1, tall: 3, sure: 1})
}

// foundEntries is what was found. What the checks printed stays as it is.
func foundEntries(c evidence.Card) []cardEntry {
	found := make([]cardEntry, len(c.Findings))
	for i, f := range c.Findings {
		says, printed := evidence.FindingWords(f.Statement)
		found[i] = cardEntry{fmt.Sprintf("%s %s: %s", stamp(f.At), f.Words(), says), printed}
	}
	return found
}

func entries(texts []string) []cardEntry {
	return each(texts, func(text string) cardEntry { return cardEntry{text: text} })
}

func each[T, U any](all []T, say func(T) U) []U {
	said := make([]U, len(all))
	for i, one := range all {
		said[i] = say(one)
	}
	return said
}

func nonEmpty(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []string{s}
}

func stamp(at time.Time) string { return at.Local().Format("2006-01-02 15:04:05") }

// claimedWords is what was claimed, and by whom.
func claimedWords(c evidence.Card, all bool) []string {
	if all {
		return each(c.Claims, func(s work.Statement) string { return claimWords(s) + "\n" + evidence.StatementWords(s) })
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
		entries = append(entries, evidence.NamedWords(*s.Evidence))
	}
	return entries
}

func claimWords(s work.Statement) string {
	return fmt.Sprintf("%s by %s (nobody has checked it)", stamp(s.At), s.By)
}

// decisionWords say who decided what on the task.
func decisionWords(d evidence.Decision) string {
	return fmt.Sprintf("%s %s %s", stamp(d.At), d.By, d.Words())
}

func questionWords(q evidence.Question, all bool) string {
	answer := "not answered"
	if q.By != "" {
		answer = fmt.Sprintf("%s: %s", q.By, q.AnswerWords())
	}
	if all {
		return fmt.Sprintf("%s %s: %s\n%s", stamp(q.At), q.ID, q.Text, answer)
	}
	return fmt.Sprintf("%s %s (%s): %s", stamp(q.At), q.ID, safetext.Cut(oneLine(answer), 24), q.Text)
}

// proofEntries is the proof in words, and if it is to be all, what was signed and each event.
func proofEntries(p evidence.Proof, all bool) []string {
	entries := []string{p.Words()}
	if all {
		entries = append(entries, "checkpoint\n"+strings.TrimSpace(p.Checkpoint), p.EventWords())
	}
	return entries
}

// markdownOf is a card as the text of a pull request. Whatever somebody wrote is in code, where it mentions, shows and
// closes nothing.
func markdownOf(c evidence.Card, all bool) string {
	m := &markdown{all: all}
	fmt.Fprintf(m, "## Evidence on %s\n\n", span(c.Task))
	m.block(strings.TrimSpace(c.Title + "\n\n" + c.Asked))
	fmt.Fprintf(m, "- State: %s\n- Used: %s\n- Proof: %s\n", span(c.StateWords()), c.UsedWords(), span(c.Proof.Words()))
	if c.Waits != nil {
		fmt.Fprintf(m, "- Waits: %s\n", span(c.WaitWords()))
	}
	if c.Merge != nil {
		fmt.Fprintf(m, "- Merged: %s, %s\n", utc(c.Merge.At), span(c.Merge.Words()))
	}
	m.list("Attempts", each(c.Attempts, func(a evidence.Attempt) string { return utc(a.Began) + ": " + span(a.Words()) }))
	m.heading("Claims, which nobody has checked", len(c.Claims))
	for _, s := range last(m, c.Claims) {
		fmt.Fprintf(m, "By %s, %s:\n\n", span(s.By), utc(s.At))
		m.block(evidence.StatementWords(s))
	}
	m.list("Gate", each(c.Gates, func(g evidence.Gate) string { return utc(g.At) + ": " + span(g.Words()) }))
	m.heading("Findings", len(c.Findings))
	for _, f := range last(m, c.Findings) {
		fmt.Fprintf(m, "By %s, %s:\n\n", span(f.Words()), utc(f.At))
		m.block(evidence.StatementWords(f.Statement))
	}
	m.heading("Questions", len(c.Questions))
	for _, q := range last(m, c.Questions) {
		fmt.Fprintf(m, "%s, %s:\n\n", span(q.ID), utc(q.At))
		m.block(q.Text)
		if q.By != "" {
			fmt.Fprintf(m, "Answered by %s, %s:\n\n", span(q.By), utc(q.AnsweredAt))
			m.block(q.AnswerWords())
		}
	}
	m.list("Decisions", each(c.Decisions, func(d evidence.Decision) string { return utc(d.At) + ": " + span(d.By+" "+d.Words()) }))
	m.heading("What it rests on", len(c.Proof.Events))
	m.block(strings.TrimSpace(c.Proof.Checkpoint) + "\n\n" + c.Proof.EventWords())
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
