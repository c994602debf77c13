package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/lua"
	"github.com/signalbox-dev/signalbox/bt/signals"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
)

var providers = []model.Provider{model.OpenAI, model.Anthropic}

// serve starts a model that says what the script tells it to.
func serve(t testing.TB, text string) *modeltest.Server {
	t.Helper()
	s, err := modeltest.Parse("script", text)
	if err != nil {
		t.Fatal(err)
	}
	server, err := modeltest.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range server.Unexpected() {
			t.Errorf("unexpected request: %s (%s)", r.Problem, r.Prompt)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// builtIn is the text of the oracle's own tree.
func builtIn(t testing.TB) string {
	t.Helper()
	source, ok := Tree(TreeName)
	if !ok {
		t.Fatal("there is no tree")
	}
	return string(source)
}

// tree loads the built-in tree with some of its text replaced.
func tree(t testing.TB, replace ...string) bt.Tree {
	t.Helper()
	source := builtIn(t)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(source, replace[i]) {
			t.Fatalf("the tree has no %q", replace[i])
		}
		source = strings.ReplaceAll(source, replace[i], replace[i+1])
	}
	tree, err := lua.Load(context.Background(), TreeName, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// hasty is the built-in tree, with a time-out and pauses of a test.
func hasty(t testing.TB, replace ...string) bt.Tree {
	return tree(t, append([]string{"timeout = 120", "timeout = 50", "backoff = 2", "backoff = 0.01"}, replace...)...)
}

// settings are those of an oracle that asks a scripted model.
func settings(t testing.TB, server *modeltest.Server, provider model.Provider) Settings {
	t.Helper()
	return settingsAt(t, server.URL(), provider)
}

// settingsAt are those of an oracle that asks the model at an address.
func settingsAt(t testing.TB, base string, provider model.Provider) Settings {
	t.Helper()
	if provider == model.OpenAI {
		base += "/v1"
	}
	client, err := model.New(model.Settings{Provider: provider, BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := BuiltinPrompts()
	if err != nil {
		t.Fatal(err)
	}
	return Settings{Client: client, Model: "scripted", Tree: hasty(t), Prompts: prompts}
}

// asks are what the model was asked, request by request: question, or what it was told last,
// by name.
func asks(server *modeltest.Server, question string) string {
	names := map[string]string{question: "question", tellLast: "last", tellLast + tellLastSignal: "last"}
	for name, text := range tellings {
		names[text] = name
	}
	var all []string
	for _, r := range server.Requests() {
		name := r.Prompt
		for text, known := range names {
			if strings.HasSuffix(r.Prompt, text) {
				name = known
			}
		}
		if strings.Contains(r.Prompt, "with the same arguments") {
			name = "loop"
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// tools are functions, by name.
type tools map[string]func(arguments string) (string, error)

func (ts tools) Tools() []toolbox.Tool {
	var all []toolbox.Tool
	for _, name := range slices.Sorted(maps.Keys(ts)) {
		all = append(all, toolbox.Tool{Name: name, Description: name, Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true})
	}
	return all
}

func (ts tools) Call(_ context.Context, name string, arguments json.RawMessage) toolbox.Result {
	f := ts[name]
	if f == nil {
		return toolbox.Result{Text: "there is no tool " + name, Failed: true}
	}
	text, err := f(string(arguments))
	if err != nil {
		return toolbox.Result{Text: err.Error(), Failed: true}
	}
	return toolbox.Result{Text: text, Sources: []string{name}}
}

// ledger keeps what it is given, after doing what is to be done before each write.
type ledger struct {
	before func(context.Context) error
	mu     sync.Mutex
	all    []string
}

func (l *ledger) write(ctx context.Context, format string, args ...any) error {
	if l.before != nil {
		if err := l.before(ctx); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
	return nil
}

func (l *ledger) entries() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

func (l *ledger) Asked(ctx context.Context, a Asked) error {
	return l.write(ctx, "asked: %s", a.Question)
}

func (l *ledger) Signalled(ctx context.Context, s Signalled) error {
	return l.write(ctx, "signalled: %d %s", s.Turn, s.Signal.Type)
}

func (l *ledger) CallDecided(ctx context.Context, d CallDecided) error {
	return l.write(ctx, "decided: %d %s allowed=%t by %s", d.Call, d.Tool, d.Allowed, d.By)
}

func (l *ledger) CallEnded(ctx context.Context, e CallEnded) error {
	return l.write(ctx, "ended: %d failed=%t unknown=%t", e.Call, e.Failed, e.Unknown)
}

func (l *ledger) Answered(ctx context.Context, a Answer) error {
	return l.write(ctx, "answered: %s", a.Outcome)
}

// story is what an oracle said and told while it answered.
type story struct {
	mu     sync.Mutex
	chunks []Chunk
	events []Event
}

func (s *story) chunk(c Chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunks = append(s.chunks, c)
}

func (s *story) event(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// text is all content.
func (s *story) text() string { return s.of(Content) }

// of is the text of all chunks of a type.
func (s *story) of(kind ChunkType) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, c := range s.chunks {
		if c.Type == kind {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// names are the events, in order.
func (s *story) names() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, e := range s.events {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

// named counts events of a name.
func (s *story) named(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.events {
		if e.Name == name {
			n++
		}
	}
	return n
}

// answerTo asks, and sees to it that the answer is one.
func answerTo(t testing.TB, s Settings, question string) (Answer, *story) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, a, told := answered(ctx, t, s, question)
	return a, told
}

// answered asks, and sees to it that the answer is one. The query is over: what it has
// left behind can be looked at.
func answered(ctx context.Context, t testing.TB, s Settings, question string) (*query, Answer, *story) {
	t.Helper()
	told := &story{}
	s.Subscribe = told.event
	o, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	q, err := o.begin(question, told.chunk)
	if err != nil {
		t.Fatal(err)
	}
	a, err := q.run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if last := told.chunks[len(told.chunks)-1]; last.Type != Done || last.Answer.Outcome != a.Outcome {
		t.Errorf("the last chunk is %+v", last)
	}
	if (a.Outcome == Answered) != (a.Missing == "") {
		t.Errorf("%s, and %q is missing", a.Outcome, a.Missing)
	}
	if a.Missing != "" && !strings.Contains(told.of(System), a.Missing) {
		t.Errorf("the person is not told that %q is missing", a.Missing)
	}
	for _, text := range []string{told.text(), a.Text} {
		if signals.Stripped(text) != text { // what is only mentioned stays
			t.Errorf("a signal shows in %q", text)
		}
	}
	return q, a, told
}

const (
	longQuestion = "What does the auth function do, and who calls it, and is there anything about it that could be done with fewer lines of code?"
	enough       = `<signal type="context_sufficient"><sources_found>2</sources_found><confidence>0.9</confidence></signal>`
)

// need is a need_turn signal.
func need(reason string, confidence float64) string {
	return signalled("need", fmt.Sprint(confidence), reason)
}

// signalled writes a signal: its short name, its confidence, and its text, if it has one.
func signalled(name, confidence, text string) string {
	form, ok := map[string]string{
		"need":   `<signal type="need_turn"><reason>%s</reason>%s</signal>`,
		"enough": `<signal type="context_sufficient"><sources_found>2</sources_found>%s%s</signal>`,
		"part":   `<signal type="partial_answer"><missing>%s</missing>%s</signal>`,
		"stuck":  `<signal type="stuck"><attempted>["search"]</attempted><blocker>%s</blocker>%s</signal>`,
		"lack":   `<signal type="need_capability"><capability>run the tests</capability><reason>%s</reason>%s</signal>`,
		"hand":   `<signal type="delegation_recommended"><scope>all handlers</scope><reason>%s</reason>%s</signal>`,
	}[name]
	if !ok {
		panic("no signal is called " + name)
	}
	return fmt.Sprintf(form, text, "<confidence>"+confidence+"</confidence>")
}

var shorthand = regexp.MustCompile(`\{(\w+) ([0-9.]+)(?:: ([^}]*))?\}`)

// script writes out what is short in a script: {need 0.8: the search failed}, {enough 0.9}.
func script(text string) string {
	return shorthand.ReplaceAllStringFunc(text, func(s string) string {
		m := shorthand.FindStringSubmatch(s)
		return signalled(m[1], m[2], m[3])
	})
}
