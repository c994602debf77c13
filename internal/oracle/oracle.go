package oracle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/signals"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/internal/oracle/question"
	"github.com/signalbox-dev/signalbox/safetext"
)

// MaxQuestion is how long a question can be, in bytes.
const MaxQuestion = 64 << 10

// Settings are what an oracle works with.
type Settings struct {
	Client model.Client
	Model  string
	Tools  Tools // nil for none
	// Approve, if there is one, is asked before a tool is called that changes something. Without
	// it no such call is made.
	Approve Approve
	Tree    bt.Tree
	Prompts Prompts
	// Talk is what questions are part of.
	Talk Talk
	// Ledger, if there is one, keeps what was asked, signalled and answered.
	Ledger Ledger
	// Subscribe, if there is one, is told of events.
	Subscribe func(Event)
	// Trace, if there is one, gets the text of each tick of the tree.
	Trace func(text []byte)
	// Record, if there is one, has the question's run written to it: one that is empty from
	// the beginning, any other is gone on with.
	Record bt.RecordingFile
	// AskedWith is kept in the recording: what whoever goes on with it needs to know.
	AskedWith map[string]any
	// Clock tells the time; time.Now if nil.
	Clock func() time.Time
}

// An Oracle answers questions. It is safe for concurrent use.
type Oracle struct{ settings Settings }

// New returns an oracle, or what is wrong with its tree.
func New(s Settings) (*Oracle, error) {
	if _, err := Compile(s.Tree); err != nil {
		return nil, err
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	return &Oracle{s}, nil
}

// Compile checks that a tree is one that an oracle can run, and makes it ready to be
// drawn. It is not to be started: its leaves belong to no question.
func Compile(t bt.Tree) (*bt.Program, error) { return bt.Compile(t, (&query{}).library()) }

// query is a question that is being answered. Its fields are the tree's: what runs beside
// the tree uses the methods that lock.
type query struct {
	Settings
	ledger   *recording
	question string
	class    question.Class
	program  *bt.Program
	board    *bt.Blackboard

	messages []model.Message
	reply    model.Reply // this turn's
	turns    signals.Turns
	under    []model.Call // tool calls that are under way
	turn     int
	replies  int // how many were had
	budget   budget
	signals  int
	taught   bool   // the prompt says what signals are
	can      bool   // the model has said a valid signal
	tried    bool   // it has, or what was nearly one
	garbled  bool   // this turn's reply has what was nearly one, and none
	asked    string // the reply that it was asked about, since it lacked a signal
	clean    string // this turn's reply, without signals
	said     string // the last reply that said something, without signals
	all      string // all that was said, without signals
	used     model.Usage
	calls    []string // signatures of the latest tool calls
	called   int
	refused  int // calls
	sources  []string
	done     map[string]bool // what happens once a question
	trouble  error           // the model's last
	told     *retelling      // what was shown of a reply that is not whole yet, or nil
	fault    bt.Entry        // what failed in the last tick, if it says why

	rulings   []ruling        // on this turn's calls; nil if they are not decided yet
	asking    sync.Mutex      // held while a call is decided
	decisions int             // how many there were
	always    map[string]bool // the tools that a person has allowed for the whole question

	mu       sync.Mutex
	sink     func(Chunk)
	streamed bool // content was shown
	newTurn  bool // nothing of this turn was shown
}

// Ask answers a question. What happens comes to the sink, one chunk at a time; the last
// one is done. An error is about the question itself, and nothing has happened.
func (o *Oracle) Ask(ctx context.Context, question string, sink func(Chunk)) (Answer, error) {
	if err := CheckQuestion(question); err != nil {
		return Answer{}, err
	}
	q, err := o.begin(strings.TrimSpace(question), sink)
	if err != nil {
		return Answer{}, err
	}
	return q.run(ctx)
}

// CheckQuestion says what is wrong with a question that can't be asked.
func CheckQuestion(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("the question is empty")
	case len(text) > MaxQuestion:
		return fmt.Errorf("the question has more than %d KiB: put what is long into a file, and ask about that", MaxQuestion>>10)
	case !utf8.ValidString(text):
		return errors.New("the question is no UTF-8 text")
	}
	return nil
}

// begin makes a question ready to be answered.
func (o *Oracle) begin(text string, sink func(Chunk)) (*query, error) {
	q := &query{
		Settings: o.settings, budget: budget{defaultTurns, defaultTokens}, question: text, class: question.Classify(text).Class, sink: sink, done: map[string]bool{}, always: map[string]bool{},
		messages: o.settings.Talk.messages(text),
	}
	q.turns.Told = q.toldTurn
	var err error
	if q.program, err = bt.Compile(q.Tree, q.library()); err != nil {
		return nil, err
	}
	values := map[string]any{keyQuestion: text}
	q.Talk.put(values)
	if q.Record != nil {
		values[keyAskedWith] = q.AskedWith
	}
	q.board, err = bt.NewBlackboard(values)
	return q, err
}

// run ticks the tree until there is an answer.
func (q *query) run(ctx context.Context) (Answer, error) {
	options := bt.Options{Blackboard: q.board, Clock: q.Clock, Warn: func(warning string) { q.emit(Chunk{Type: System, Text: warning}) }}
	options.Trace, options.Again = q.traced, q.again
	q.ledger = record(ctx, q.Ledger)
	run, err := q.start(options)
	if err != nil {
		return Answer{}, errors.Join(err, q.ledger.close())
	}
	_, failure := run.Drive(ctx)
	run.Close()
	answer := q.answer(failure)
	q.end(answer)
	return answer, nil
}

// start begins the question, or goes on with the one that is recorded.
func (q *query) start(options bt.Options) (*bt.Run, error) {
	q.record(Asked{
		Question: q.question, Class: string(q.class), Model: q.Model,
		Continues: q.Talk.Continues, User: q.Talk.User, Project: q.Talk.Project,
	})
	if left := q.Talk.left(); left != "" {
		q.emit(Chunk{Type: System, Text: left})
	}
	if q.Record == nil {
		return q.program.Start(options), nil
	}
	return q.program.Resume(q.Record, options)
}

// traced keeps what a tick says of failures, and hands its trace on.
func (q *query) traced(tick int, at time.Duration, entries []bt.Entry) {
	q.fault = bt.Entry{}
	for _, e := range entries {
		if e.Status == bt.Failure && e.Note != "" {
			q.fault = e
		}
	}
	if q.Trace == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Trace(q.program.AppendTrace(nil, tick, at, entries))
}

// answer puts together how the question ended.
func (q *query) answer(failure error) Answer {
	outcome, _ := q.board.Get(keyOutcome).(string)
	missing, _ := q.board.Get(keyMissing).(string)
	if outcome != "" && notes[Outcome(outcome)] == "" && outcome != string(Answered) { // a script can set anything
		outcome, missing = string(Failed), safetext.Escape(fmt.Sprintf("the tree ended with %.40q, which is no outcome", outcome))
	}
	a := Answer{
		Outcome: Outcome(outcome), Text: q.said, Missing: missing, Class: string(q.class), Turns: q.turn, Signals: q.signals,
		ToolCalls: q.called, Refused: q.refused, TokensIn: q.used.In, TokensOut: q.used.Out, Sources: q.sources,
	}
	if a.Outcome != "" && errors.Is(failure, bt.ErrValue) {
		failure = nil // the tree has come to its end in spite of it
	}
	switch {
	case errors.Is(failure, context.Canceled):
		a.Outcome, a.Missing = Cancelled, "it was interrupted"
	case a.Outcome == "" || failure != nil || a.Outcome == Failed && a.Missing == "":
		a.Outcome, a.Missing = Failed, q.why(failure)
	}
	a.Unsignalled = a.Outcome == Answered && q.board.Get(keyLastSignal) == nil
	switch {
	case a.Text == "" && (a.Outcome == Answered || a.Outcome == Partial):
		a.Outcome, a.Unsignalled = Failed, false
		a.Missing = join("the model said nothing in "+english.Count(a.Turns, "turn"), a.Missing)
	case a.Text != "" && a.Outcome == Failed:
		a.Outcome = Partial
	}
	if a.Outcome == Answered {
		a.Missing = ""
	} else if a.Missing == "" {
		a.Missing = "it is not known whether this is all"
	}
	return a
}

// why says why there is no outcome of the tree's own.
func (q *query) why(failure error) string {
	switch {
	case q.trouble != nil:
		return q.trouble.Error()
	case errors.Is(failure, bt.ErrValue):
		first, _, _ := strings.Cut(failure.Error(), "\n")
		return "the tree ended without an answer: " + safetext.Escape(first)
	case failure != nil:
		return failure.Error()
	case q.fault.Note != "":
		note, _, _ := strings.Cut(q.fault.Note, "\n")
		return "the tree ended without an answer: " + safetext.Escape(q.program.Nodes()[q.fault.Node].Path+": "+note)
	}
	return "the tree ended without an answer"
}

// join puts reasons beside each other.
func join(reasons ...string) string {
	return strings.Join(slices.DeleteFunc(reasons, func(s string) bool { return s == "" }), "; ")
}

// end says the last: what is missing, what the answer rests on, and that it is over. The
// ledger has everything before that.
func (q *query) end(a Answer) {
	q.record(a)
	if err := q.ledger.close(); err != nil {
		q.emit(Chunk{Type: Error, Text: "not all of this is recorded: " + err.Error()})
	}
	if a.Missing != "" {
		q.emit(Chunk{Type: System, Text: notes[a.Outcome] + ": " + a.Missing})
	}
	if len(a.Sources) > 0 {
		q.emit(Chunk{Type: Sources, Sources: a.Sources})
	}
	q.emit(Chunk{Type: Done, Answer: &a})
}

var notes = map[Outcome]string{
	Partial: "This is not the whole answer", Stuck: "There is no full answer", Failed: "There is no answer", Cancelled: "There is no full answer",
}

// emit hands a chunk on.
func (q *query) emit(c Chunk) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sink(c)
}

// show hands on what comes of a reply, without signals: what it adds to what was shown.
func (q *query) show(turn int, shown func() string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	text := shown()
	if text == "" {
		return
	}
	if q.newTurn && q.streamed {
		text = "\n\n" + text
	}
	q.newTurn, q.streamed = false, true
	q.sink(Chunk{Type: Content, Turn: turn, Text: text})
}

// begin says that the next piece of content belongs to another reply, or to another attempt at it.
func (q *query) begin() *retelling {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.newTurn, q.told = true, &retelling{before: q.told.soFar()}
	return q.told
}

// event tells subscribers.
func (q *query) event(name string, fields map[string]any) { q.eventIn(q.turn, name, fields) }

// eventIn tells subscribers of something in a turn, also from beside the tree.
func (q *query) eventIn(turn int, name string, fields map[string]any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.Subscribe != nil {
		q.Subscribe(Event{Name: name, Time: q.Clock().UTC(), Turn: turn, Fields: fields})
	}
}

// classifyQuestion says what kind of question it is.
func (q *query) classifyQuestion(c *bt.Context) bt.Status {
	c.SetGlobal(keyClass, string(q.class))
	return bt.Success
}

// composePrompt puts the system prompt together.
func (q *query) composePrompt(c *bt.Context) bt.Status {
	class, _ := c.Get(keyClass).(string)
	without := c.Args().Text("without", "")
	q.taught = without != promptOfSignals && q.Prompts[promptOfSignals] != ""
	c.SetGlobal(keyPrompt, q.Prompts.Compose(question.Class(class), without))
	return bt.Success
}
