package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// gatherer makes a reply out of pieces, within its bounds, and hands the pieces on.
type gatherer struct {
	sink            Sink
	used            map[string]bool // ids of calls
	text, reasoning strings.Builder
	calls           []*partial
	size            int
	usage           Usage
	cut             bool
	finished        bool // the end mark has come
}

// partial is a call that is still coming.
type partial struct {
	id, name  string
	arguments strings.Builder
}

func (g *gatherer) say(piece string) error {
	return g.pass(&g.text, piece, g.sink.Text)
}

func (g *gatherer) think(piece string) error {
	return g.pass(&g.reasoning, piece, g.sink.Reasoning)
}

func (g *gatherer) pass(to *strings.Builder, piece string, sink func(string)) error {
	if piece == "" {
		return nil
	}
	if err := g.grow(len(piece)); err != nil {
		return err
	}
	to.WriteString(piece)
	if sink != nil {
		sink(piece)
	}
	return nil
}

// begin begins a call.
func (g *gatherer) begin(id, name string) (*partial, error) {
	if len(g.calls) == maxCalls {
		return nil, &Error{Message: fmt.Sprintf("the reply has more than %d calls of tools: ask for less at once", maxCalls)}
	}
	if err := g.grow(len(id) + len(name)); err != nil {
		return nil, err
	}
	p := &partial{id: id, name: name}
	g.calls = append(g.calls, p)
	return p, nil
}

// add adds to a call's arguments.
func (g *gatherer) add(p *partial, piece string) error {
	if err := g.grow(len(piece)); err != nil {
		return err
	}
	p.arguments.WriteString(piece)
	return nil
}

func (g *gatherer) grow(n int) error {
	if g.size += n; g.size > maxReply {
		return &Error{Message: fmt.Sprintf("the reply is larger than %d MiB: ask for less, or limit its tokens", maxReply>>20)}
	}
	return nil
}

// reply is the whole of what came.
func (g *gatherer) reply(r Request) Reply {
	out := Reply{Text: g.text.String(), Reasoning: g.reasoning.String(), Usage: g.usage, Cut: g.cut}
	characters := utf8.RuneCountInString(out.Text) + utf8.RuneCountInString(out.Reasoning)
	for i, p := range g.calls {
		raw := p.arguments.String()
		characters += utf8.RuneCountInString(p.name) + utf8.RuneCountInString(raw)
		out.Calls = append(out.Calls, Call{ID: g.ownID(p.id), Name: p.name, Arguments: arguments([]byte(raw))})
		if g.cut && i == len(g.calls)-1 && raw == "" {
			// It would have had some.
			out.Calls[i].Arguments = keepUnreadable(nil)
		}
	}
	if out.Usage.In == 0 {
		out.Usage.In = r.estimate()
	}
	if out.Usage.Out == 0 {
		out.Usage.Out = tokens(characters)
	}
	return out
}

// ownID is the id of a call if no other has it, or one made up: not all servers give them.
func (g *gatherer) ownID(id string) string {
	for n := len(g.used) + 1; id == "" || g.used[id]; n++ {
		id = fmt.Sprintf("call_%d", n)
	}
	g.used[id] = true
	return id
}

// count bounds a number of tokens that a server has sent.
func count(n int64) int { return int(min(max(n, 0), 1e9)) }

// isObject reports whether text is a whole JSON object.
func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}
