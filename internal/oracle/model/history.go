package model

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

// round is what one side says until it is the other's turn. The user's side has results,
// and texts behind them; each of the calls in the round before has one result, in the calls'
// order.
type round struct {
	assistant bool
	texts     []string
	calls     []Call
	results   []Result
}

const (
	noAnswer  = "(no answer)"
	noOutput  = "(no output)"
	notRun    = "The call was not carried out."
	errorMark = "Error: "
)

// rounds puts a conversation into the order that vendors accept: see [Message].
func rounds(messages []Message) ([]round, error) {
	var all []round
	for _, m := range messages {
		assistant := m.Role == Assistant
		if !assistant && m.Role != User && m.Role != ToolResults {
			return nil, &Error{Message: fmt.Sprintf("the conversation has a message of an unknown role, \"%s\"", safetext.Escape(bound(string(m.Role), 40)))}
		}
		blank := strings.TrimSpace(m.Text) == ""
		if !assistant && blank && len(m.Results) == 0 {
			continue
		}
		if len(all) == 0 || all[len(all)-1].assistant != assistant {
			all = append(all, round{assistant: assistant})
		}
		r := &all[len(all)-1]
		if !blank {
			r.texts = append(r.texts, m.Text)
		}
		if assistant {
			r.calls = append(r.calls, m.Calls...)
		} else {
			r.results = append(r.results, m.Results...)
		}
	}
	if n := len(all); n > 0 && len(all[n-1].calls) > 0 {
		all = append(all, round{})
	}
	var calls []Call
	for i := range all {
		r := &all[i]
		if r.assistant {
			if len(r.texts) == 0 && len(r.calls) == 0 {
				r.texts = []string{noAnswer}
			}
			calls = r.calls
			continue
		}
		var err error
		if r.results, err = inOrder(calls, r.results); err != nil {
			return nil, err
		}
		calls = nil
	}
	return all, nil
}

// inOrder gives each call its result.
func inOrder(calls []Call, given []Result) ([]Result, error) {
	var all []Result
	rest := slices.Clone(given)
	for _, c := range calls {
		result := Result{ID: c.ID, Text: notRun, Failed: true}
		if i := slices.IndexFunc(rest, func(r Result) bool { return r.ID == c.ID }); i >= 0 {
			result = rest[i]
			rest = slices.Delete(rest, i, i+1)
		}
		if strings.TrimSpace(result.Text) == "" {
			result.Text = noOutput
		}
		all = append(all, result)
	}
	if len(rest) > 0 {
		return nil, &Error{Message: fmt.Sprintf("the conversation has a result of the call \"%s\", which the reply before it has not made", safetext.Escape(bound(rest[0].ID, 100)))}
	}
	return all, nil
}

// usedIDs are those of the calls in the conversation.
func (r Request) usedIDs() map[string]bool {
	used := map[string]bool{}
	for _, m := range r.Messages {
		for _, c := range m.Calls {
			used[c.ID] = true
		}
	}
	return used
}

// calledTools are the tools that a conversation has calls of, by the names that are sent.
func calledTools(messages []Message) []Tool {
	var all []Tool
	for _, m := range messages {
		for _, c := range m.Calls {
			name := sentName(c.Name, nil)
			if !slices.ContainsFunc(all, func(t Tool) bool { return t.Name == name }) {
				all = append(all, Tool{Name: name})
			}
		}
	}
	return all
}

// estimate is how many tokens the request may have.
func (r Request) estimate() int {
	n := utf8.RuneCountInString(r.System)
	for _, t := range r.Tools {
		n += utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Schema)
	}
	for _, m := range r.Messages {
		n += utf8.RuneCountInString(m.Text)
		for _, c := range m.Calls {
			n += utf8.RuneCountInString(c.Name) + utf8.RuneCount(c.Arguments)
		}
		for _, result := range m.Results {
			n += utf8.RuneCountInString(result.Text)
		}
	}
	return tokens(n)
}

// tokens is how many tokens that many characters may be.
func tokens(characters int) int { return (characters + 3) / 4 }
