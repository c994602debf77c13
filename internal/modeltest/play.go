package modeltest

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answer finds the reply to a request and gives it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, form wire, a *ask, body []byte, seen *Request) {
	seen.Wire = form.name()
	if err := form.read(body, a); err != nil {
		s.refuse(w, form, seen, err)
		return
	}
	h := a.history()
	seen.Model, seen.Prompt, seen.Results = a.model, h.prompt(), h.results()
	seen.System, seen.Messages = strings.Join(a.system, "\n"), len(a.messages)
	seen.Side = isSide(r.UserAgent(), seen.Prompt, a)
	try := &attempt{parts: []part{{verb: "says", text: sideAnswer(a)}}, usage: defaultUsage()}
	names := map[string]string{}
	if !seen.Side {
		at, err := choose(s.scripts, h)
		if err != nil {
			s.refuse(w, form, seen, err)
			return
		}
		seen.Conversation, seen.Turn, seen.Reply = at.conversation.name, at.turn+1, at.reply+1
		try, names = at.get().at(s.try(at)), at.conversation.names(h.prompts)
	}
	said, err := s.prepare(try, a, names)
	if err != nil {
		s.refuse(w, form, seen, err)
		return
	}
	s.remember(seen)
	p := player{s, r.Context(), w, form, try, said}
	switch last := try.parts[len(try.parts)-1]; {
	case last.verb == "fails" || last.verb == "limits":
		p.fail(last)
	case a.stream:
		p.stream()
	default:
		p.whole()
	}
}

// prepare makes what is said out of an attempt: a content for each text and call.
// Names that the script gave to what was asked are filled in.
func (s *Server) prepare(try *attempt, a *ask, names map[string]string) (said, error) {
	out := said{id: s.nextID(), model: a.model, usage: try.usage, tell: a.usage}
	for _, p := range try.parts {
		for name, value := range names {
			p.text = strings.ReplaceAll(p.text, "${"+name+"}", value)
		}
		var c content
		switch {
		case p.verb == "says", p.verb == "thinks":
			c.text, c.thinks = p.text, p.verb == "thinks"
		case p.verb == "floods":
			c.text = flood(p.size)
		case isCall(p.verb):
			var err error
			if c, err = translate(p, a); err != nil {
				return said{}, err
			}
		default:
			continue
		}
		c.id = s.nextID()
		out.contents = append(out.contents, c)
	}
	return out, nil
}

// flood is one line of that many bytes. It does not repeat itself: some programs take that
// for a model that has gone astray.
func flood(size int) string {
	b := make([]byte, 0, size+20)
	for i := int64(0); len(b) < size; i++ {
		b = append(strconv.AppendInt(b, i, 10), ' ')
	}
	return string(b[:size])
}

// player gives one reply to one client.
type player struct {
	server *Server
	ctx    context.Context
	w      http.ResponseWriter
	form   wire
	try    *attempt
	said   said
}

// stream sends a reply as it comes about.
func (p player) stream() {
	p.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	p.w.Header().Set("Cache-Control", "no-cache")
	p.w.WriteHeader(http.StatusOK)
	out := p.form.stream(&events{p.w}, p.said)
	out.begin()
	_ = http.NewResponseController(p.w).Flush() // the client's absence shows in its context
	sent := 0
	for i, part := range p.try.parts {
		p.wait(part)
		if !isText(part.verb) && !isCall(part.verb) {
			continue
		}
		all := p.pieces(p.said.contents[sent].text, p.try.parts[i+1:])
		switch {
		case isCall(part.verb):
			out.call(sent, all)
		case part.verb == "thinks":
			out.reasoning(sent, all)
		default:
			out.text(sent, all)
		}
		sent++
	}
	out.end()
}

// pieces splits what is said. If trouble is next, it comes after the last piece, before
// the format can say that the content is complete.
func (p player) pieces(text string, next []part) iter.Seq[string] {
	size := p.try.pieces
	if size == 0 {
		size = max(defaultPieces, min(len(text)/64, floodPieces))
	}
	all := pieces(text, size)
	if at := p.server.cutAt(text); at >= 0 {
		all = slices.Values(slices.DeleteFunc([]string{text[:at], text[at:]}, isEmpty))
	}
	return func(yield func(string) bool) {
		for piece := range all {
			if p.ctx.Err() != nil {
				panic(http.ErrAbortHandler)
			}
			if !yield(piece) {
				return
			}
		}
		if len(next) > 0 && isTrouble(next[0].verb) {
			p.wait(next[0])
		}
	}
}

// wait does what a part has to do with time. After trouble, or when the client is gone, the
// connection is cut.
func (p player) wait(next part) {
	switch next.verb {
	case "breaks":
		panic(http.ErrAbortHandler)
	case "stalls":
		<-p.ctx.Done()
		panic(http.ErrAbortHandler)
	case "waits":
		h := p.server.hold(next.name)
		p.server.reach(h)
		select {
		case <-h.released:
		case <-p.ctx.Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// whole sends a reply at once. One that breaks is cut in its middle.
func (p player) whole() {
	body := encode(p.form.whole(p.said))
	for _, part := range p.try.parts {
		if part.verb == "breaks" {
			_, _ = p.w.Write(body[:len(body)/2]) // cut off anyway
			_ = http.NewResponseController(p.w).Flush()
		}
		p.wait(part)
	}
	sendJSON(p.w, http.StatusOK, p.form.whole(p.said))
}

// fail answers with an HTTP error.
func (p player) fail(with part) {
	for _, part := range p.try.parts {
		p.wait(part)
	}
	f := with.fail
	body := p.form.failure(f.status, f.message)
	if with.verb == "limits" {
		now, until := time.Now(), with.at
		if until.IsZero() {
			until = now.Add(with.in)
		}
		f, body = p.form.limit(now, until)
	}
	for name, values := range f.header {
		p.w.Header()[name] = values
	}
	if f.body == "" {
		sendJSON(p.w, f.status, body)
		return
	}
	if p.w.Header().Get("Content-Type") == "" {
		p.w.Header().Set("Content-Type", "application/json")
	}
	p.w.WriteHeader(f.status)
	_, _ = p.w.Write([]byte(f.body)) // a client that has gone needs no answer
}
