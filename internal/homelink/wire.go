package homelink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/records"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Where the methods are, each below by its name.
const (
	HomePath      = "/v1/member/home/"
	ConductorPath = "/v1/member/conductor/"
)

// MaxBody is how long a request may be, and its answer, in bytes: an order has its whole run.
const MaxBody = 64 << 20

// callerHeader has a random word of who asks, by which it is known that it is still there.
const callerHeader = "Signalbox-Caller"

// silence is for how many beats nothing may be heard before a request is broken, or who made it has gone.
const silence = 3

// question is what a method is called with.
type question struct {
	Order    *order.Order           `json:"order,omitempty"`
	Run      *delivery.Run          `json:"run,omitempty"`
	Session  *delivery.Session      `json:"session,omitempty"`
	Record   *order.Record          `json:"record,omitempty"`
	Left     *order.Left            `json:"left,omitempty"`
	Said     *order.Said            `json:"said,omitempty"`
	HandedIn *order.HandedIn        `json:"handed_in,omitempty"`
	Merge    *delivery.MergeChecked `json:"merge,omitempty"`
	Report   *api.SessionReport     `json:"report,omitempty"`
	Mail     *order.Mail            `json:"mail,omitempty"`

	RunNamed string   `json:"run_named,omitempty"`
	Task     string   `json:"task,omitempty"`
	Of       string   `json:"of,omitempty"` // a session's name
	Branch   string   `json:"branch,omitempty"`
	Base     string   `json:"base,omitempty"`
	Prompt   string   `json:"prompt,omitempty"`
	Ref      string   `json:"ref,omitempty"`
	Plan     string   `json:"plan,omitempty"`
	Runner   string   `json:"runner,omitempty"`
	Names    []string `json:"names,omitempty"`
	Alone    bool     `json:"alone,omitempty"`
	Most     int64    `json:"most,omitempty"`
}

// answer is what it returns.
type answer struct {
	Text    string            `json:"text,omitempty"`
	Other   string            `json:"other,omitempty"`
	Texts   []string          `json:"texts,omitempty"`
	Data    []byte            `json:"data,omitempty"`
	Yes     bool              `json:"yes,omitempty"`
	Number  int64             `json:"number,omitempty"`
	Machine *delivery.Machine `json:"machine,omitempty"`
	Records []order.Record    `json:"records,omitempty"`
	Left    []order.Left      `json:"left,omitempty"`
	Seen    *work.Seen        `json:"seen,omitempty"`
	Permit  *work.Permit      `json:"permit,omitempty"`
	Proof   *ledger.Proof     `json:"proof,omitempty"`

	Failure *failure `json:"failure,omitempty"`
}

// failure is an error on its way.
type failure struct {
	Message string   `json:"message"`
	Is      []string `json:"is,omitempty"`   // of those that callers ask for
	Most    int64    `json:"most,omitempty"` // of a [regular.TooLargeError]
	Code    string   `json:"code,omitempty"` // of an [api.Problem]
}

// known are the errors that callers ask for.
var known = map[string]error{
	"no_sandbox":     order.ErrNoSandbox,
	"unprotected":    order.ErrUnprotected,
	"no_program":     order.ErrNoProgram,
	"no_model":       order.ErrNoModel,
	"no_commit":      order.ErrNoCommit,
	"no_record":      records.ErrNone,
	"record_gap":     records.ErrGap,
	"record_long":    records.ErrLong,
	"record_name":    records.ErrName,
	"not_there":      fs.ErrNotExist,
	"irregular_file": regular.ErrIrregular,
	"no_directory":   regular.ErrNoDirectory,
}

// fail writes an error down.
func fail(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Message: err.Error()}
	for name, one := range known {
		if errors.Is(err, one) {
			f.Is = append(f.Is, name)
		}
	}
	if large, is := errors.AsType[*regular.TooLargeError](err); is {
		f.Most = large.Most
	}
	if p, is := errors.AsType[*api.Problem](err); is {
		f.Code = p.Code
	}
	return f
}

// err returns the error that was written down.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	e := &farError{message: f.Message}
	for _, name := range f.Is {
		if one := known[name]; one != nil {
			e.is = append(e.is, one)
		}
	}
	if f.Most > 0 {
		e.is = append(e.is, &regular.TooLargeError{Most: f.Most})
	}
	if f.Code != "" {
		e.is = append(e.is, &api.Problem{Code: f.Code, Message: f.Message})
	}
	return e
}

// farError is an error of another box, in its words.
type farError struct {
	message string
	is      []error
}

func (e *farError) Error() string   { return e.message }
func (e *farError) Unwrap() []error { return e.is }

// Why there is no answer.
var (
	errSilent = errors.New("nothing is heard of it")
	errLong   = fmt.Errorf("it answers with more than %d bytes", MaxBody)
)

// broken says that a request has had no answer: nobody knows what came of it.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

// call makes a request, and holds it until it is answered, its answer goes silent for some beats, or ctx ends.
func call(ctx context.Context, carrier http.RoundTripper, path, caller string, beat time.Duration, q question) (answer, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence*beat, func() { cancel(errSilent) })
	defer quiet.Stop()
	a, err := ask(held, carrier, path, caller, body, func() { quiet.Reset(silence * beat) })
	switch {
	case err == nil:
		return a, a.Failure.err()
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case held.Err() != nil:
		err = context.Cause(held)
	}
	return answer{}, broken{err}
}

// ask makes a request. It calls heard whenever something comes of the answer.
func ask(ctx context.Context, carrier http.RoundTripper, path, caller string, body []byte, heard func()) (a answer, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://box"+path, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(callerHeader, caller)
	resp, err := carrier.RoundTrip(r)
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	heard()
	in := &listening{in: io.LimitReader(resp.Body, MaxBody+1), heard: heard}
	if resp.StatusCode != http.StatusOK {
		p := &api.Problem{}
		if json.NewDecoder(io.LimitReader(in, maxProblem)).Decode(p) != nil || p.Code == "" {
			return a, fmt.Errorf("what answers is no box: status %d", resp.StatusCode)
		}
		return a, p
	}
	err = json.NewDecoder(in).Decode(&a)
	if err != nil && in.n > MaxBody {
		err = errLong
	}
	return a, err
}

// maxProblem is how long the answer of who answers something else may be, in bytes.
const maxProblem = 1 << 20

// listening notes that something was heard.
type listening struct {
	in    io.Reader
	n     int64
	heard func()
}

func (l *listening) Read(b []byte) (int, error) {
	n, err := l.in.Read(b)
	if l.n += int64(n); n > 0 {
		l.heard()
	}
	return n, err
}
