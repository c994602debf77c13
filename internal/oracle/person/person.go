// Package person talks to the person at the terminal: it reads the lines that they type, and asks
// them whether a call of a tool that changes something may be made.
//
// What they are shown is what the tool would get, name by name: control characters, invisible ones
// and those that turn text around are written out, and what is too long for a screen is cut with a
// note that says how much is missing. Nothing that was typed before they were asked counts.
package person

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/safetext"
)

// What is shown of a call, before somebody wants to see all of it.
const (
	maxArguments = 20  // how many
	maxValue     = 400 // characters of one
	maxName      = 60  // characters of a name
)

// Asker asks the person at a terminal.
type Asker struct {
	Lines *Lines
	// Show prints whole lines, below whatever is on the screen; Prompt prints what an answer is
	// typed behind.
	Show, Prompt func(string)
}

// Approve implements [oracle.Approve]: it asks until it has an answer.
func (a Asker) Approve(ctx context.Context, p oracle.Proposal) oracle.Decision {
	tool := safetext.Escape(p.Tool.Name)
	text, whole := describe(p, false)
	a.Show(text)
	if n := a.Lines.Drop(); n > 0 {
		a.Show("(What was typed before this is left out.)\n")
	}
	choices := "[y]es, [N]o, [a]lways in this question"
	if !whole {
		choices += ", [s]how all of it"
	}
	for {
		a.Prompt("Allow " + tool + "? " + choices + ": ")
		typed, err := a.Lines.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			a.Show("\n")
			return oracle.Decision{Reason: "the person has left without an answer"}
		case ctx.Err() != nil:
			return oracle.Decision{Reason: "the question was interrupted"}
		case err != nil:
			a.Show("That is too long for an answer.\n")
			continue
		}
		answer, why, _ := strings.Cut(strings.TrimSpace(typed), " ")
		switch strings.ToLower(strings.TrimRight(answer, ",.:;")) {
		case "y", "yes":
			return oracle.Decision{Allowed: true, By: oracle.ByPerson}
		case "a", "always":
			return oracle.Decision{Allowed: true, Always: true, By: oracle.ByPerson}
		case "", "n", "no":
			return oracle.Decision{By: oracle.ByPerson, Reason: refusal(p.Tool.Name, why)}
		case "s", "show":
			text, _ := describe(p, true)
			a.Show(text)
		default:
			a.Show("Answer yes, no or always. What you write behind no is told to the model.\n")
		}
	}
}

// refusal is what the model is told.
func refusal(tool, why string) string {
	if why = strings.TrimSpace(why); why != "" {
		return fmt.Sprintf("the person does not allow this call of %s, and says: %s", tool, why)
	}
	return fmt.Sprintf("the person does not allow this call of %s; go on without it", tool)
}

// describe says what a call would do, and whether that is all of it. It is safe to print.
func describe(p oracle.Proposal, all bool) (text string, whole bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "The model wants to call %s of the MCP server %s, which may change something:\n", safetext.Escape(p.Tool.Name), safetext.Escape(p.Tool.Server))
	whole = true
	d := json.NewDecoder(bytes.NewReader(p.Arguments))
	_, err := d.Token() // the object's beginning
	shown := 0
	for ; err == nil && d.More(); shown++ {
		var name json.Token
		var value json.RawMessage
		if name, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		if err != nil || shown >= maxArguments && !all {
			continue
		}
		var flat bytes.Buffer
		if json.Compact(&flat, value) != nil {
			flat.Write(value)
		}
		n, wholeName := cut(fmt.Sprint(name), maxName, all)
		v, wholeValue := cut(flat.String(), maxValue, all)
		whole = whole && wholeName && wholeValue
		fmt.Fprintf(&b, "  %s: %s\n", n, v)
	}
	switch {
	case err != nil: // what is shown has to be what is sent
		fmt.Fprintf(&b, "  %s\n", safetext.Escape(string(p.Arguments)))
	case shown == 0:
		b.WriteString("  (without arguments)\n")
	case shown > maxArguments && !all:
		fmt.Fprintf(&b, "  (and %d more arguments that are not shown)\n", shown-maxArguments)
		whole = false
	}
	return b.String(), whole
}

// cut makes a text safe to print and cuts it to so many characters, unless it is to be all; a note
// says how much is missing.
func cut(text string, most int, all bool) (shown string, whole bool) {
	if n := utf8.RuneCountInString(text); !all && n > most {
		kept := string([]rune(text)[:most])
		return fmt.Sprintf("%s… (%d characters more are not shown)", safetext.Escape(kept), n-most), false
	}
	return safetext.Escape(text), true
}
