package agentsig_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// TestDocumentation holds the tables in docs/signals.md against the vocabulary
// they describe; -update writes them anew.
func TestDocumentation(t *testing.T) {
	const path = "../docs/signals.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, table := range map[string]string{
		"line": lineTable(), "xml": xmlTable(), "exit": exitTable(), "phases": phaseTable(), "handovers": handoverTable(), "reasons": reasonTable(),
	} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(text, begin)
		old, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no table %q", path, name)
		}
		if old != table && !*update {
			t.Errorf("%s: the table %q is not that of the code; run go test ./agentsig -run TestDocumentation -update\nwant:\n%s", path, name, table)
		}
		text = before + begin + table + end + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func table(header ...string) *strings.Builder {
	var b strings.Builder
	row(&b, header...)
	b.WriteString("|" + strings.Repeat("---|", len(header)) + "\n")
	return &b
}

func row(b *strings.Builder, cells ...string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func keys(e agentsig.Entry, required bool) string {
	var all []string
	for _, k := range e.Keys {
		if k.Required != required {
			continue
		}
		s := k.Name
		switch {
		case e.Dialect == agentsig.DialectLine && k.Values != nil:
			s += " (" + strings.Join(k.Values, ", ") + ")"
		case e.Dialect != agentsig.DialectXML:
		case k.Type == agentsig.ListKey && k.Min > 0:
			s += fmt.Sprintf(" (list, at least %d)", k.Min)
		case k.Type == agentsig.ListKey:
			s += " (list)"
		case k.Type == agentsig.IntKey && k.Max > 1_000_000:
			s += fmt.Sprintf(" (%d or more)", k.Min)
		case k.Type == agentsig.IntKey:
			s += fmt.Sprintf(" (%d–%d)", k.Min, k.Max)
		default:
			s += fmt.Sprintf(" (%d–%d characters)", k.Min, k.Max)
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

func lineTable() string {
	b := table("kind", "written as", "said by", "leads to", "terminal", "payload keys")
	for _, e := range agentsig.Vocabulary() {
		if e.Dialect != agentsig.DialectLine {
			continue
		}
		wire := e.Wire
		if e.Argument != agentsig.NoArgument {
			wire += ": <" + string(e.Argument) + ">"
		}
		who := "anyone"
		if e.Roles != nil {
			var roles []string
			for _, r := range e.Roles {
				roles = append(roles, string(r))
			}
			who = strings.Join(roles, ", ")
		}
		row(b, string(e.Kind), "`"+wire+"`", who, string(e.Action), yes(e.Terminal), keys(e, false))
	}
	return b.String()
}

func xmlTable() string {
	b := table("type", "required", "optional", "leads to", "terminal")
	for _, e := range agentsig.Vocabulary() {
		if e.Dialect == agentsig.DialectXML {
			row(b, e.Wire, keys(e, true), keys(e, false), string(e.Action), yes(e.Terminal))
		}
	}
	return b.String()
}

func exitTable() string {
	b := table("member", "required", "at most")
	e, _ := agentsig.Lookup(agentsig.KindExit)
	for _, k := range e.Keys {
		most := ""
		if k.Max > 0 {
			most = fmt.Sprint(k.Max, " bytes")
		}
		row(b, "`"+k.Name+"`", yes(k.Required), most)
	}
	return b.String()
}

func phaseTable() string {
	b := table("phase completed", "reason", "next", "who may say it")
	for _, tr := range agentsig.Transitions() {
		var reasons []string
		for _, r := range tr.Reasons {
			reasons = append(reasons, string(r))
		}
		who := "the holder of the lease"
		if tr.ByGate {
			who = "the gate"
		}
		row(b, string(tr.From), strings.Join(reasons, ", "), string(tr.To), who)
	}
	return b.String()
}

func handoverTable() string {
	b := table("signal", "in the phase", "counts as", "leads to")
	for _, e := range agentsig.Vocabulary() {
		if e.Kind == agentsig.KindExpandedSpec { // which goes by what it carries
			for _, c := range []struct{ payload, how string }{{"Confidence: HIGH\n", "HIGH or MEDIUM"}, {"Confidence: LOW\n", "LOW, or none"}} {
				h, err := agentsig.Signal{Kind: e.Kind, Payload: c.payload}.Handover(agentsig.PhaseDraft)
				if err != nil {
					panic(err)
				}
				row(b, e.Wire+", Confidence "+c.how, string(h.From), string(h.Reason), string(h.To))
			}
			continue
		}
		var phases []string
		var h agentsig.Handover
		for _, p := range agentsig.Phases() {
			if e.Dialect == agentsig.DialectLine && p != agentsig.PhaseBlocked {
				if got, err := (agentsig.Signal{Kind: e.Kind}).Handover(p); err == nil {
					h, phases = got, append(phases, string(p))
				}
			}
		}
		switch {
		case len(phases) > 1:
			row(b, e.Wire, "any but COMPLETED", string(h.Reason), string(h.To))
		case len(phases) == 1:
			row(b, e.Wire, phases[0], string(h.Reason), string(h.To))
		}
	}
	return b.String()
}

func reasonTable() string {
	b := table("reason", "what was wrong, and what to do")
	for _, r := range agentsig.Reasons() {
		row(b, "`"+string(r)+"`", regexp.MustCompile("</?[a-z]+>").ReplaceAllString(r.Hint(), "`$0`"))
	}
	return b.String()
}
