package agentsig_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// TestMention says signals without using them, in the five ways that agents do,
// ten thousand times. None may count; what is used after a mention must.
func TestMention(t *testing.T) {
	const rounds = 10_000
	g := mentioner{rand.New(rand.NewPCG(3, 5))}
	made := map[string]int{}
	used := 0
	for i := range rounds {
		way := mentionWays[i%len(mentionWays)]
		parts, open := way.make(g)
		made[way.name]++
		want := agentsig.KindUnknown
		if !open && g.IntN(2) == 0 { // a mention must not deafen the scanner
			parts = append(parts, said{agentsig.Voice, "\nAUDIT_PASSED: REAL-1\n"})
			want = agentsig.KindAuditPassed
			used++
		}
		var found []string
		s := agentsig.NewScanner(agentsig.Options{}, agentsig.Sink{Finding: func(f agentsig.Finding) {
			if f.Outcome == agentsig.Accepted && f.Signal.Subject != "REAL-1" {
				found = append(found, renderFinding(f))
			}
		}})
		for _, p := range parts {
			for _, chunk := range chunksOf(1 + g.IntN(60))([]byte(p.text)) {
				if _, err := s.WriteFrom(p.from, chunk); err != nil {
					t.Fatal(err)
				}
			}
		}
		if v := s.Close(); v.Kind != want || found != nil {
			t.Fatalf("%s: the verdict is %s, want %s; found %q\n%q", way.name, v.Kind, want, found, parts)
		}
	}
	for _, way := range mentionWays {
		t.Logf("%-14s %5d", way.name, made[way.name])
	}
	t.Logf("and %d of them followed by a signal that is used", used)
}

// said is a piece of output.
type said struct {
	from agentsig.Source
	text string
}

var mentionWays = []struct {
	name string
	make func(mentioner) (parts []said, open bool) // open: the mention reaches to the end
}{
	{"fence", mentioner.fence},
	{"quote", mentioner.quote},
	{"prose", mentioner.prose},
	{"tool text", mentioner.tool},
	{"echoed prompt", mentioner.prompt},
}

// mentioner makes mentions.
type mentioner struct{ *rand.Rand }

func (g mentioner) pick(from ...string) string { return from[g.IntN(len(from))] }

// signal returns a signal of any dialect as it would be used, and whether it is
// an XML signal.
func (g mentioner) signal() (text string, xml bool) {
	switch g.IntN(4) {
	case 0:
		return g.pick(
			`<signal type="need_turn"><reason>one more look</reason></signal>`,
			"<signal type=\"stuck\">\n<attempted>all</attempted>\n<blocker>the wall</blocker>\n</signal>",
			`<signal type='context_sufficient' sources_found="3"/>`,
		), true
	case 1:
		return g.pick(
			`{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"REVIEW","exit_reason":"completed"}`,
			`{"protocol": "apm2_agent_exit", "version": "1.2.0", "phase_completed": "DRAFT", "exit_reason": "error", "notes": "x"}`,
		), false
	}
	var lines []string
	for line := range handlers {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return g.pick(lines...) + g.pick("", " ", " with a note\n"), false
}

func (g mentioner) filler() string {
	return g.pick("", "", "Some text.\n", "\n", "a `b` c\n", "x := 1\n", "- item\n", "Über alles\n")
}

func (g mentioner) ending() string { return g.pick("\n", "\n", "\n", "\r\n") }

// each puts something before each line.
func each(text, before, ending string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, " \n")) {
		b.WriteString(before + strings.TrimRight(line, "\n") + ending)
	}
	return b.String()
}

func (g mentioner) fence() ([]said, bool) {
	char := g.pick("`", "~")
	n := 3 + g.IntN(3)
	rail := strings.Repeat(char, n)
	end := g.ending()
	lead := g.pick("", " ", "   ", "- ", "1. ")
	inside := ""
	if strings.TrimSpace(lead) != "" { // as far in as the list item
		inside = strings.Repeat(" ", len(lead))
	}
	text := g.filler() + lead + rail + g.pick("", "text", " json ", "go") + end
	for range 1 + g.IntN(3) {
		s, _ := g.signal()
		switch g.IntN(5) {
		case 0: // what looks like the end of the fence, and is not
			if inside != "" && g.IntN(2) == 0 {
				text += rail + end // at the margin: the list item ends, and another fence begins
				inside = ""
				break
			}
			text += g.pick("       "+rail, "\t\t"+rail, inside+rail[:n-1], inside+rail+" x", inside+strings.Repeat(map[string]string{"`": "~", "~": "`"}[char], n)) + end
		case 1:
			text += end
		}
		text += each(s, "", end)
	}
	if g.IntN(4) == 0 {
		return []said{{agentsig.Voice, text}}, true // unclosed
	}
	return []said{{agentsig.Voice, text + inside + rail + g.pick("", char, " \t") + end + g.filler()}}, false
}

func (g mentioner) quote() ([]said, bool) {
	s, _ := g.signal()
	before := g.pick("", " ", "   ") + g.pick("> ", ">", ">> ", "> > ")
	return []said{{agentsig.Voice, g.filler() + each(s, before, g.ending()) + g.filler()}}, false
}

func (g mentioner) prose() ([]said, bool) {
	s, xml := g.signal()
	s = strings.TrimRight(s, " \n")
	end := g.ending()
	if xml { // in prose it would be used, but for the backticks
		if g.IntN(4) == 0 {
			return []said{{agentsig.Voice, "Example:" + end + end + each(s, g.pick("    ", "\t", "  \t", "       "), end) + end}}, false
		}
		ticks := strings.Repeat("`", 1+g.IntN(3))
		if g.IntN(4) == 0 && !strings.Contains(s, "\n") { // a stray backtick before it pairs with nothing on its line
			return []said{{agentsig.Voice, "- the " + ticks + " key" + end + "- the " + ticks + s + ticks + " tag" + end + end}}, false
		}
		return []said{{agentsig.Voice, g.filler() + g.pick("Use ", "- the ", "x\nand ") + ticks + s + ticks + g.pick(" to go on", "") + end + end}}, false
	}
	text := g.pick(
		"I would emit "+s, "- "+s, "## "+s, "| "+s+" |", "**"+s+"**", "`"+s+"`", "    "+s, "\t"+s, " "+s, "+"+s, "-"+s,
		"\x1b[1m"+s, "\u200b"+s, "Status: "+s, "1) "+s, "\""+s+"\"", "("+s+")", "x\r"+s, strings.ToLower(s),
	)
	return []said{{agentsig.Voice, g.filler() + text + end + g.filler()}}, false
}

func (g mentioner) tool() ([]said, bool) {
	s, _ := g.signal()
	return []said{{agentsig.Voice, g.filler()}, {agentsig.Tool, s + g.pick("", "\n")}, {agentsig.Voice, g.filler() + "ok\n"}}, false
}

func (g mentioner) prompt() ([]said, bool) {
	s, _ := g.signal()
	end := g.ending()
	switch g.IntN(3) {
	case 0:
		return []said{{agentsig.Prompt, "Do it.\n" + s + "\n"}, {agentsig.Voice, g.filler()}}, false
	case 1:
		around := g.pick("", "---", "*** ")
		return []said{{agentsig.Voice, g.filler() + around + "DELEGATION PROMPT START" + end + each(s, "", end) +
			"DELEGATION PROMPT END" + end + g.filler()}}, false
	}
	roles := agentsig.Roles()
	text, err := agentsig.Instructions(roles[g.IntN(len(roles))], fmt.Sprint("T-", g.IntN(9)), g.pick("", "n1"))
	if err != nil {
		panic(err)
	}
	return []said{{agentsig.Voice, strings.ReplaceAll(text, "\n", end)}}, false
}

// The rules that keep mention from use, each dropped once.
var mutants = []mutant.Mutant{
	{Name: "code fences mask", File: "text.go", Old: "return s.fence.length > 0 || s.delegation || s.quoted", New: "return s.delegation || s.quoted"},
	{Name: "block quotes mask", File: "text.go", Old: "case isQuote(ln):", New: "case false:"},
	{Name: "a line signal starts at the first column", File: "text.go", Old: "\ttext := trimBlanks(ln)\n\tif run, ok", New: "\ttext := bytes.TrimSpace(ln)\n\tif run, ok"},
	{Name: "an exit record starts at the first column", File: "held.go", Old: "return rest[0] == '{'", New: "return bytes.TrimLeft(rest, \" \\t\\n\\r\")[:1][0] == '{'"},
	{Name: "inline code on a line masks", File: "text.go", Old: "if inCode(s.runs, p) || at", New: "if at"},
	{Name: "inline code over several lines masks", File: "text.go", Old: "case s.para.any() && at != s.liveAt:", New: "case false:"},
	{Name: "indented code masks tags", File: "text.go", Old: "columns > 3 && !s.mid {", New: "columns > 99 && !s.mid {"},
	{Name: "a list item's fence is not closed at the margin", File: "markdown.go", Old: "if columns < f.content || columns", New: "if columns"},
	{Name: "delegation prompts mask", File: "text.go", Old: "case isDelegation(ln, delegationStart):", New: "case false:"},
	{Name: "tool text is not the agent's voice", File: "scanner.go", Old: "\tif from != Voice {\n\t\ts.writeForeign(p)", New: "\tif from != Voice && from != Tool {\n\t\ts.writeForeign(p)"},
	{Name: "the echoed prompt is not the agent's voice", File: "scanner.go", Old: "\tif from != Voice {\n\t\ts.writeForeign(p)", New: "\tif from != Voice && from != Prompt {\n\t\ts.writeForeign(p)"},
	{Name: "a fence is closed by one at least as long", File: "markdown.go", Old: "return n >= f.length &&", New: "return n >= f.length-1 &&"},
	{Name: "tildes make a fence", File: "markdown.go", Old: "line[start] != '`' && line[start] != '~'", New: "line[start] != '`'"},
	{Name: "a fence may be indented by three", File: "markdown.go", Old: "\tif columns > 3 {\n\t\treturn fence{}, false", New: "\tif columns > 0 {\n\t\treturn fence{}, false"},
	{Name: "a closing fence has nothing behind it", File: "markdown.go", Old: "n >= f.length && isBlank(line[start+n:])", New: "n >= f.length"},
	{Name: "a closing fence is not indented further", File: "markdown.go", Old: "columns > f.content+3 ||", New: "columns > 99 ||"},
	{Name: "a name is upper case", File: "line.go", Old: "string(line[:len(e.Wire)]) != e.Wire {", New: "!strings.EqualFold(string(line[:len(e.Wire)]), e.Wire) {"},
}

// TestMutants drops each rule once and sees TestMention catch it.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestMention$", mutants))
}
