package agentsig

import (
	"fmt"
	"slices"
	"strings"
)

// Instructions returns the text for an agent's prompt that tells it how to
// signal in a role: every signal it may say, in the exact form for this task
// (for an expert, its request) and this session's nonce, if there is one; and the
// exit record, for a role that hands over a phase. Kinds that the listener does
// not act upon can be left out.
//
// The examples are indented, so that a prompt that is echoed never counts as a
// signal.
func Instructions(role Role, task, nonce string, without ...Kind) (string, error) {
	return (*Extension)(nil).Instructions(role, task, nonce, without...)
}

// LineInstructions returns the same without the exit record, for a listener that
// does not act upon one.
func LineInstructions(role Role, task, nonce string, without ...Kind) (string, error) {
	return (*Extension)(nil).LineInstructions(role, task, nonce, without...)
}

// Instructions returns what [Instructions] does, with the signals of the project's
// own beside the others.
func (x *Extension) Instructions(role Role, task, nonce string, without ...Kind) (string, error) {
	text, err := x.LineInstructions(role, task, nonce, without...)
	if phase, ok := role.Phase(); ok && err == nil {
		text += exitInstructions(phase, nonce)
	}
	return text, err
}

// LineInstructions returns what [LineInstructions] does, with the signals of the
// project's own beside the others.
func (x *Extension) LineInstructions(role Role, task, nonce string, without ...Kind) (string, error) {
	if !slices.Contains(Roles(), role) {
		return "", fmt.Errorf("unknown role %s: expected one of %s", quote(string(role)), join(Roles()))
	}
	if !ValidID(task) {
		return "", fmt.Errorf("the id %s can't be signalled: %s", quote(task), ReasonBadID.Hint())
	}
	if nonce != "" && !validWord([]byte(nonce)) {
		return "", fmt.Errorf("the nonce %s can't be signalled: nonces are %s", quote(nonce), wordForm)
	}
	var b strings.Builder
	b.WriteString(`## How to signal

You are read by a program. It acts on signals, and on nothing else that you say:
without a signal your work counts as unknown, never as done.

A signal is a line of its own, in your own reply, starting at the first column,
in upper case, exactly as below. Not in a code fence, not quoted, not in bold,
not in a list, not in the middle of a sentence. (Below, signals are indented
only because this is a description; yours must not be.)

End your work with exactly one of these. Two different ones cancel each other.
`)
	x.writeEntries(&b, role, task, nonce, true, without)
	b.WriteString("\nThese may come at any time, and do not end your work:\n")
	x.writeEntries(&b, role, task, nonce, false, without)
	if nonce != "" {
		fmt.Fprintf(&b, "\nrun=%s belongs to this session. Copy it exactly; a line without it does not count.\n", nonce)
	}
	return b.String(), nil
}

func (x *Extension) writeEntries(b *strings.Builder, role Role, task, nonce string, terminal bool, without []Kind) {
	x.lines(func(e *Entry) bool {
		if e.Terminal == terminal && e.MayBeSaidBy(role) && !slices.Contains(without, e.Kind) {
			e.instruct(b, task, nonce)
		}
		return true
	})
}

// instruct writes how to say a signal, and when.
func (e *Entry) instruct(b *strings.Builder, task, nonce string) {
	s := Signal{Kind: e.Kind, Run: nonce}
	switch e.Argument {
	case TaskArgument, RequestArgument:
		s.Subject = task
	case NameArgument:
		s.Subject = "security-reviewer"
	case PathArgument:
		s.Subject = "path/to/the/file"
	}
	fmt.Fprintf(b, "\n    %s\nSay it when %s.", strings.TrimSuffix(s.lineText(e), "\n"), e.When)
	if e.own {
		fmt.Fprintf(b, " It counts as %s.", entryOf(e.Kind).Wire)
	}
	if len(e.Keys) > 0 {
		b.WriteString(" Follow it with these lines:\n")
	} else {
		b.WriteString("\n")
	}
	for _, k := range e.Keys {
		value := "…"
		switch {
		case k.Values != nil:
			value = strings.Join(k.Values, " or ")
		case k.When != "":
			value = "… (" + k.When + ")"
		}
		fmt.Fprintf(b, "%s: %s\n", k.Name, value)
	}
}

func exitInstructions(phase Phase, nonce string) string {
	data, err := NewExitSignal(phase, ExitCompleted).WithNotes("what you did, in a sentence").JSON()
	if err != nil {
		panic("agentsig: the example of an exit record is not valid: " + err.Error())
	}
	rule, line := "", ""
	if nonce != "" {
		rule = " The line directly before\nit is EXIT: with run=, as below; without that line a record does not count."
		line = "    " + exitLinePrefix + nonce + "\n"
	}
	return fmt.Sprintf(`
### Handing over the phase

Instead of the line you may print an exit record: one JSON object that starts at
the first column, with these members and no others.%s

%s    %s

- phase_completed is %s, the phase that you hold.
- exit_reason is completed; or blocked, if something outside your reach stops
  you; or error, if the session cannot go on.
- Optional: pr_url (the https URL of the pull request), evidence_bundle_ref (a
  relative path), notes.

Do NOT poll for CI status after you have signalled. Checks run by themselves,
and whoever is needed next is started without you. Signal, then stop.
`, rule, line, data, phase)
}

// ReflectionInstructions returns the text for a model's prompt that tells it how to say by XML
// signals what its turn has come to: every signal with when to say it, an example, and the size of its
// fields.
//
// The examples are indented, so that a prompt that is echoed never counts as a signal.
func ReflectionInstructions() string {
	var b strings.Builder
	b.WriteString(`# Signals

Whether there is another turn goes by the signal at the end of your reply. Everything outside it is
read by the person: do not speak of signals there.

End every reply with exactly one signal, at the beginning of a line: not indented as the examples
here are, and never in a code block or a quote. It is taken out before the person reads your reply.
Confidence is a number from 0 to 1: how sure you are that the signal is right. A signal that lacks a
field that it needs, or has one of the wrong size, does not count.
`)
	for _, e := range vocabulary {
		if e.Dialect != DialectXML {
			continue
		}
		r := reflectionExamples[e.Kind]
		r.Type = e.Kind
		line := strings.NewReplacer("\n  ", "", "\n", "", "&quot;", `"`).Replace(r.xml(""))
		fmt.Fprintf(&b, "\nSay %s when %s:\n\n    %s\n\n", e.Wire, e.When, line)
		for i, k := range e.Keys {
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(k.Name + " " + k.size())
		}
		b.WriteString(".\n")
		if e.Kind == KindNeedTurn {
			b.WriteString("Say a new reason each time: the same one three times counts as being stuck.\n")
		}
	}
	return b.String()
}

// reflectionExamples are what a model is shown.
var reflectionExamples = map[Kind]Reflection{
	KindNeedTurn:          {Confidence: 0.8, Fields: Fields{{"reason", "the search failed, reading the file instead"}}},
	KindContextSufficient: {Confidence: 0.9, Fields: Fields{{"sources_found", 3}}},
	KindStuck:             {Confidence: 0.8, Fields: Fields{{"attempted", []string{"search_code", "read_file"}}, {"blocker", "the file is not in this repository"}}},
	KindNeedCapability:    {Confidence: 0.7, Fields: Fields{{"capability", "run the tests"}, {"reason", "the failure shows only at run time"}}},
	KindPartialAnswer:     {Confidence: 0.7, Fields: Fields{{"missing", "prices after Friday"}}},
	KindDelegationRecommended: {Confidence: 0.6, Fields: Fields{
		{"reason", "there are hundreds of files to read"}, {"scope", "all handlers below src"}}},
}

// size says in words what a field of an XML signal can be.
func (k Key) size() string {
	var text string
	switch {
	case k.Type == ListKey && k.Min > 0:
		text = fmt.Sprintf("is a list of at least %d", k.Min)
	case k.Type == ListKey:
		text = "is a list"
	case k.Type == IntKey && k.Max == maxInteger:
		text = fmt.Sprintf("is a number, %d or more", k.Min)
	case k.Type == IntKey:
		text = fmt.Sprintf("is a number from %d to %d", k.Min, k.Max)
	case k.Min == 0:
		text = fmt.Sprintf("has at most %d characters", k.Max)
	default:
		text = fmt.Sprintf("has %d to %d characters", k.Min, k.Max)
	}
	if !k.Required {
		text += " and may be left out"
	}
	return text
}
