package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown writes the plan so that [Parse] gives it back, but for the lines that
// tasks stand on. It can be longer than the text that was parsed, and so than
// [MaxText].
func (p Plan) Markdown() string {
	var b strings.Builder
	if p.Title != "" {
		fmt.Fprintf(&b, "# %s\n\n", p.Title)
	}
	phase := ""
	for _, t := range p.Tasks {
		switch t.Phase {
		case phase:
		case "":
			b.WriteString("### In no phase\n\n")
		default:
			fmt.Fprintf(&b, "### Phase %s\n\n", t.Phase)
		}
		phase = t.Phase
		t.write(&b)
	}
	if len(p.Checks) > 0 {
		fmt.Fprintf(&b, "### Verification\n\n| %s |\n|---|---|---|---|\n", strings.Join(checkColumns, " | "))
		for _, c := range p.Checks {
			pipes := strings.NewReplacer("|", `\|`)
			fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", pipes.Replace(c.Name), pipes.Replace(c.Environment), pipes.Replace(inCode(c.Command)), c.Exit)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (t Task) write(b *strings.Builder) {
	fmt.Fprintf(b, "#### Task %s: %s\n\n**%s**:\n\n%s\n\n", t.ID, t.Title, nameWork, t.Work)
	if len(t.Criteria) > 0 {
		fmt.Fprintf(b, "**%s**:\n\n", nameCriteria)
		for _, c := range t.Criteria {
			fmt.Fprintf(b, "- [ ] %s\n", c)
		}
		b.WriteString("\n")
	}
	blockers := "none"
	if len(t.BlockedBy) > 0 {
		blockers = strings.Join(t.BlockedBy, ", ")
	}
	fmt.Fprintf(b, "**%s**: %s\n\n", nameBlockedBy, blockers)
	if len(t.Reading) > 0 {
		fmt.Fprintf(b, "**%s**:\n\n", nameReading)
		for _, r := range t.Reading {
			if cutTicks(r) != r {
				r = inCode(r) // so that it keeps its own
			}
			fmt.Fprintf(b, "- %s\n", r)
		}
		b.WriteString("\n")
	}
	if t.Environment != "" {
		space := " "
		_, _, isHeading := heading(t.Environment)
		if isHeading || strings.Contains(t.Environment, "\n") || strings.TrimSpace(t.Environment) != t.Environment {
			space = "\n\n"
		}
		fmt.Fprintf(b, "**%s**:%s%s\n\n", nameEnvironment, space, t.Environment)
	}
}

// inCode writes a text as inline code.
func inCode(s string) string {
	longest := slices.Max(append(tickRuns(s), 0))
	ticks, space := strings.Repeat("`", longest+1), ""
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		space = " "
	}
	return ticks + space + s + space + ticks
}
