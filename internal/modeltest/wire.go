package modeltest

import (
	"encoding/json"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// wire is one vendor's format. It turns a request into an ask and a reply into bytes.
type wire interface {
	name() string
	// read fills in what the body of a request says.
	read(body []byte, a *ask) error
	// whole is a reply that is not streamed.
	whole(r said) any
	// stream begins a reply that is.
	stream(w *events, r said) writer
	// failure is the body of an HTTP error.
	failure(status int, message string) any
	// limit is how the vendor says that no more may be used until then.
	limit(now, until time.Time) (failure, any)
}

// writer sends a reply piece by piece, in the order of its contents.
type writer interface {
	begin()
	// text sends the content of that number, a text.
	text(i int, pieces iter.Seq[string])
	// reasoning sends the content of that number, a reasoning.
	reasoning(i int, pieces iter.Seq[string])
	// call sends the content of that number, a call.
	call(i int, pieces iter.Seq[string])
	end()
}

// object is a JSON object.
type object = map[string]any

// ask is a request in no vendor's form.
type ask struct {
	model    string
	stream   bool
	usage    bool // a streamed reply tells its usage too: Chat Completions only
	tools    []tool
	messages []message
	system   []string        // instructions
	context  []string        // what else was sent: instructions, the program's own remarks
	schema   json.RawMessage // what the answer must look like, if that was said
}

type tool struct {
	name   string
	custom bool // takes plain text instead of JSON
}

type speaker int

const (
	user speaker = iota
	model
	result // of a tool
)

type message struct {
	from speaker
	text string
}

// instruct adds instructions.
func (a *ask) instruct(texts ...string) {
	a.system = append(a.system, texts...)
	a.context = append(a.context, texts...)
}

// hear adds a user's text, unless it is the program's own remark.
func (a *ask) hear(text string) {
	if remark.MatchString(text) {
		a.context = append(a.context, text)
		return
	}
	a.messages = append(a.messages, message{user, text})
}

// reply notes that the model has said something here. What it was is of no account.
func (a *ask) reply() {
	a.messages = append(a.messages, message{from: model})
}

// result adds what a tool has given.
func (a *ask) result(text string) {
	a.messages = append(a.messages, message{result, text})
}

// remark matches what programs add in the user's name.
var remark = regexp.MustCompile(`^\s*(<(system-reminder|environment_context|user_instructions|session_context|turn_aborted)>` +
	`|# AGENTS\.md instructions|\[Request interrupted by user)`)

// workingDirectory matches how programs state it.
var workingDirectory = regexp.MustCompile(`(?m)^[ -]*(?:Primary w|W)orking directory: (/.*)$|<cwd>(/[^<]*)</cwd>|Workspace Directories:\*\*\n  - (/.*)`)

// dir is the working directory as the request states it last, or empty.
func (a *ask) dir() string {
	for i := len(a.context) - 1; i >= 0; i-- {
		found := workingDirectory.FindAllStringSubmatch(a.context[i], -1)
		if len(found) > 0 {
			return strings.Join(found[len(found)-1][1:], "")
		}
	}
	return ""
}

// said is a reply in no vendor's form.
type said struct {
	id       string // unique, without the vendor's prefix
	model    string
	contents []content
	usage    usage
	tell     bool // the stream ends with the usage: Chat Completions only
}

// content is a text, or a call of a tool if it has a tool.
type content struct {
	text   string // or the call's arguments
	thinks bool   // the text is a reasoning
	tool   string
	custom bool
	id     string // of the call, without the vendor's prefix
}

func (c content) says() bool { return c.tool == "" && !c.thinks }

func (r said) calls() bool {
	return len(r.contents) > 0 && r.contents[len(r.contents)-1].tool != ""
}

// texts is all that is said, for formats that have one text for a reply.
func (r said) texts() string {
	return r.join(content.says)
}

// reasonings is all that is thought, for formats that have one reasoning for a reply.
func (r said) reasonings() string {
	return r.join(func(c content) bool { return c.thinks })
}

func (r said) join(which func(content) bool) string {
	var all []string
	for _, c := range r.contents {
		if which(c) {
			all = append(all, c.text)
		}
	}
	return strings.Join(all, "\n")
}

// follows reports whether a content of the same kind comes before that number.
func (r said) follows(i int, which func(content) bool) bool {
	return slices.ContainsFunc(r.contents[:i], which)
}

// pieces splits text after every n characters.
func pieces(text string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			end := 0
			for range n {
				_, size := utf8.DecodeRuneInString(text[end:])
				end += size
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// textOf is the text of a content that is a string or a list of parts.
func textOf(raw json.RawMessage) string {
	return strings.Join(textsOf(raw), "\n")
}

func textsOf(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(raw, &parts) // what is no list of parts has no text
	var all []string
	for _, p := range parts {
		if p.Text != "" {
			all = append(all, p.Text)
		}
	}
	return all
}

// events writes server-sent events.
type events struct {
	w http.ResponseWriter
}

// send writes one event and pushes it out. A client that has gone away is noticed by the
// request's context, not here.
func (e *events) send(name string, data any) {
	var b strings.Builder
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	if raw, ok := data.(string); ok {
		b.WriteString("data: " + raw)
	} else {
		b.WriteString("data: " + string(encode(data)))
	}
	b.WriteString("\n\n")
	_, _ = e.w.Write([]byte(b.String()))
	_ = http.NewResponseController(e.w).Flush()
}

// encode is for values made of strings, numbers, lists and objects, which always encode.
func encode(data any) []byte {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return raw
}
