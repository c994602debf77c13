// Package adviser is the oracle as a delivery's expert: it reads a request on its input, answers it,
// and tells on its output what is to be recorded, in the words of package advice. It has no ledger
// of its own: the session that started it has one.
//
// No tool is called before the session has said that the call is recorded, and one that may change
// something only if the request allows it by name. What a request or a tool says is data for the
// model: nothing in it is read here.
package adviser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/advice"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// Settings has what an adviser needs of whoever starts it.
type Settings struct {
	// Check says what is wrong with the settings of a request.
	Check func(context.Context, advice.Settings) error
	// Open makes an oracle's settings of those of a request, with its tools; the function closes them.
	Open func(context.Context, advice.Settings) (oracle.Settings, func(), error)
}

// Run answers the request that comes on the input. An error is about the request or its settings:
// then nothing was asked. When the input ends, so does the question.
func Run(ctx context.Context, in io.Reader, out io.Writer, s Settings) error {
	lines := bufio.NewReader(in)
	request, err := readRequest(lines)
	if err != nil {
		return err
	}
	a := &adviser{out: json.NewEncoder(out), waiting: map[int]chan bool{}}
	if request.Check {
		wrong := advice.Line{}
		if err := s.Check(ctx, request.Settings); err != nil {
			wrong.Wrong = err.Error()
		}
		a.tell(wrong)
		return a.err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.cancel = cancel
	settings, closeTools, err := s.Open(ctx, request.Settings)
	if err != nil {
		return err
	}
	defer closeTools()
	client := &client{Client: settings.Client, adviser: a}
	settings.Client, settings.Subscribe = client, a.event
	if settings.Tools != nil {
		settings.Tools = &tools{to: settings.Tools, adviser: a, allow: request.Allow}
		settings.Approve = byTools
	}
	o, err := oracle.New(settings)
	if err != nil {
		return err
	}
	if err := oracle.CheckQuestion(request.Question); err != nil {
		return err
	}
	go a.listen(lines)
	answer, err := o.Ask(ctx, request.Question, a.chunk)
	if err != nil {
		return err
	}
	a.tell(advice.Line{Done: done(answer, client.trouble())})
	return a.err
}

func readRequest(lines *bufio.Reader) (r advice.Request, err error) {
	line, err := readLine(lines, advice.MaxRequest)
	if err != nil {
		return r, fmt.Errorf("the request can't be read: %w", err)
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("the request can't be read: %w", err)
	}
	return r, nil
}

var errLong = errors.New("a line is too long")

// readLine reads a line of at most so many bytes.
func readLine(lines *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(line)+len(part) > most {
			return nil, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// adviser tells what happens, and hears what is recorded.
type adviser struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	out     *json.Encoder
	err     error        // of the output
	text    bytes.Buffer // of the model, that was not told yet
	turn    int          // of the model
	calls   int
	waiting map[int]chan bool // calls that are not recorded yet
	deaf    bool              // nothing more is heard
}

// maxHeld is how much of what the model says is held until it is told.
const maxHeld = 32 << 10

// tell writes a line, and before it what the model has said.
func (a *adviser) tell(l advice.Line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.write(l)
}

// write does so for one who holds the lock. A reader that is gone ends the question.
func (a *adviser) write(l advice.Line) {
	if a.text.Len() > 0 {
		text := strings.TrimRight(a.text.String(), "\n") + "\n"
		a.text.Reset()
		a.encode(advice.Line{Text: text})
	}
	a.encode(l)
}

func (a *adviser) encode(l advice.Line) {
	if a.err == nil {
		a.err = a.out.Encode(l)
	}
	if a.err != nil && a.cancel != nil {
		a.cancel()
	}
}

// chunk tells of what the oracle shows to a person.
func (a *adviser) chunk(c oracle.Chunk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn = max(a.turn, c.Turn)
	switch c.Type {
	case oracle.Content:
		a.text.WriteString(c.Text)
		if a.text.Len() > maxHeld {
			a.write(advice.Line{})
		}
	case oracle.System, oracle.Error:
		a.write(advice.Line{Remark: c.Text})
	}
}

// event tells of the model's signals. It is told of them before the tools of the same reply are called.
func (a *adviser) event(e oracle.Event) {
	kind, ok := strings.CutPrefix(e.Name, "agent.signal.")
	if !ok {
		return
	}
	confidence, _ := e.Fields["confidence"].(float64)
	fields, _ := e.Fields["fields"].(map[string]any)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(&text, "%s: %v\n", name, fields[name])
	}
	a.tell(advice.Line{Step: &delivery.Step{Signal: &delivery.ModelSignal{
		Turn: max(e.Turn, 1), Signal: agentsig.Kind(kind), Confidence: confidence, Text: cut(text.String()),
	}}})
}

// done is how the question ended.
func done(answer oracle.Answer, trouble *model.Error) *advice.Done {
	d := &advice.Done{
		Answered: answer.Text != "" && (answer.Outcome == oracle.Answered || answer.Outcome == oracle.Partial),
		Text:     answer.Text, Missing: answer.Missing,
	}
	if trouble != nil && answer.Outcome != oracle.Answered {
		d.Limited = trouble.Status == http.StatusTooManyRequests
		d.Refused = trouble.Status == http.StatusUnauthorized
		d.RetryAfter = trouble.RetryAfter
	}
	return d
}

// client asks a model, and tells what that took.
type client struct {
	model.Client
	adviser *adviser

	mu   sync.Mutex
	last *model.Error // why the last reply did not come, if that is so
}

func (c *client) Reply(ctx context.Context, r model.Request, sink model.Sink) (model.Reply, error) {
	reply, err := c.Client.Reply(ctx, r, sink)
	var trouble *model.Error
	if errors.As(err, &trouble) {
		trouble = &model.Error{Status: trouble.Status, RetryAfter: trouble.RetryAfter}
	}
	c.mu.Lock()
	c.last = trouble
	c.mu.Unlock()
	if used := (delivery.Usage{InputTokens: int64(reply.Usage.In), OutputTokens: int64(reply.Usage.Out)}); used != (delivery.Usage{}) {
		c.adviser.tell(advice.Line{Used: used})
	}
	return reply, err
}

func (c *client) trouble() *model.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}
