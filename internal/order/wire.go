package order

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// protocol is the number of what is said between a box and runners on other machines. A build can have another one, to try
// how versions meet.
var protocol = "1"

// Protocol is the number of what this program says to a box or a runner on another machine. A box takes its own and the one before.
func Protocol() int {
	n, err := strconv.Atoi(protocol)
	if err != nil {
		return 0
	}
	return n
}

// Speaks says what is to be done about a runner with a protocol: nothing, if update is empty; let it finish what it has, and
// have it updated; or nothing at all, if it can't be understood.
func Speaks(its int) (update string, err error) { return Meet(Protocol(), its) }

// Meet is [Speaks] of a box and a runner with these protocols.
func Meet(box, runner int) (update string, err error) {
	switch {
	case runner > box:
		return "", fmt.Errorf("%w: the runner speaks protocol %d, and the box %d: update the box first, then its runners", ErrProtocol, runner, box)
	case runner < box-1:
		return fmt.Sprintf("the runner speaks protocol %d, and the box %d: it gets no new work; install the box's version on it and start it again", runner, box), nil
	}
	return "", nil
}

// ErrProtocol refuses what is said in a protocol that is not known here.
var ErrProtocol = errors.New("box and runner are of versions that do not understand each other")

// Here is what a runner on another machine says of itself, again and again: that it is there is a fact of the moment, and no event.
type Here struct {
	Protocol int      `json:"protocol"`
	Version  string   `json:"version"`
	Agents   []Agent  `json:"agents,omitempty"`   // whose programs it has
	Places   int      `json:"places,omitempty"`   // for sessions at once; 0 for no limit
	Checks   bool     `json:"checks,omitempty"`   // it can run checks as the settings want them
	Problem  string   `json:"problem,omitempty"`  // why it can carry out nothing
	Leaving  bool     `json:"leaving,omitempty"`  // it was told to leave when it has finished what it has
	Alive    []string `json:"alive,omitempty"`    // the sessions whose processes run there
	InTouch  []string `json:"in_touch,omitempty"` // those of them that are connected through it
}

// Agent is an agent of the settings whose program is on a runner's machine.
type Agent struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// BoxAt is one of the boxes that share a ledger: each passes requests on to the one that leads.
type BoxAt struct {
	Addresses []string `json:"addresses"`
	Key       string   `json:"key"` // the hash of its key
}

// There is what a box answers.
type There struct {
	Boxes    []BoxAt  `json:"boxes,omitempty"` // all that the runner may dial; none of a box that stands alone
	Protocol int      `json:"protocol"`
	Update   string   `json:"update,omitempty"` // why the runner gets no new work until it is updated
	Draining bool     `json:"draining,omitempty"`
	Runs     []string `json:"runs"` // that go on: what a runner has of others can go
}

// Box is what a box says of itself to a runner that asks, which is not present by that.
type Box struct {
	Protocol int       `json:"protocol"`
	Version  string    `json:"version"`
	Time     time.Time `json:"time"`
	Draining bool      `json:"draining,omitempty"` // it gives the runner nothing new
	Settings Settings  `json:"settings"`
}

// Settings are what a runner on another machine goes by: those of the box, less what is the box's own.
type Settings struct {
	Text    string            `json:"text"`              // of signalbox.yaml, with every default written out
	Prompts map[string]string `json:"prompts,omitempty"` // of roles that have one of the user's, by role
	Hosts   []string          `json:"hosts,omitempty"`   // whose signals count
	Exit    bool              `json:"exit,omitempty"`    // exit records are acted upon
	Shared  bool              `json:"shared,omitempty"`  // several boxes share the ledger: a session asks the one that leads before it begins
	Object  string            `json:"object"`            // the name of a commit, by which a repository is made that names its objects likewise

	Author  string `json:"author,omitempty"`  // who commits are made by; empty for who git knows on the runner's machine
	Address string `json:"address,omitempty"` // theirs
}

// Assigned is an order for a runner on another machine.
type Assigned struct {
	Order
	Name  string   `json:"name"`            // by which both know it
	Fetch []string `json:"fetch,omitempty"` // the refs of the box's repository that it is about, as the runner is to have them
}

// Name is by what an order is known among those of all runs: one plain element of a path, whatever the task is called.
func (o Order) Name() string {
	sum := sha256.Sum256([]byte(o.ID))
	return o.Run.Subject + "-" + hex.EncodeToString(sum[:8])
}

// Notice is one message of a box to a runner on another machine.
type Notice struct {
	Settings *Settings `json:"settings,omitempty"`
	Order    *Assigned `json:"order,omitempty"`
	Due      *[]string `json:"due,omitempty"` // the names of all orders that are to be under way there: what is not among them is not any more
	Call     *Call     `json:"call,omitempty"`
}

// Call is something that a box asks of a runner, besides orders.
type Call struct {
	ID      uint64            `json:"id"`
	Do      string            `json:"do"`
	Session *delivery.Session `json:"session,omitempty"`
	Prompt  string            `json:"prompt,omitempty"`
	Ref     string            `json:"ref,omitempty"`
	Most    int64             `json:"most,omitempty"`
	Run     string            `json:"run,omitempty"`
}

// What a box asks of a runner.
const (
	CallAgain          = "again"           // [Runner.Again]
	CallTurnEnded      = "turn_ended"      // [Runner.TurnEnded]
	CallGone           = "gone"            // [Runner.Gone]
	CallEvidence       = "evidence"        // [Runner.Evidence]
	CallDistrust       = "distrust"        // [Runner.Distrust]
	CallAcceptFollowed = "accept_followed" // [Runner.AcceptFollowed]
	CallLeaveFollowed  = "leave_followed"  // [Runner.LeaveFollowed]
)

// Answer is what came of a call.
type Answer struct {
	ID    uint64 `json:"id"`
	Text  string `json:"text,omitempty"`
	Data  []byte `json:"data,omitempty"`
	Error string `json:"error,omitempty"`
}

// Done says that an order was carried out: what came of it was handed in before. One that failed is given again while it is due.
type Done struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"`
}

// DoneHeard is what a box answers to that.
type DoneHeard struct {
	Unknown bool `json:"unknown,omitempty"` // the order is not due, or the box was started again and gives it anew
}

// Push is what a runner asks before it pushes what a session has done: which ref that makes.
type Push struct {
	Session string `json:"session"`
	Number  int    `json:"number"` // of the session's pushes
}

// Ref is the answer to a [Push].
type Ref struct {
	Name string `json:"name"`
}

// Mail is something for a session, which its runner says through the box.
type Mail struct {
	Session string             `json:"session"`
	Command api.SessionCommand `json:"command"`
}

// Said is a change of the box's copy of what a session said on another machine, or checks printed there: it is cut at an offset, and goes on
// with data. Secrets were taken out of it there.
type Said struct {
	Of   string   `json:"of"` // the session, or what checks on its work are named by
	Name SaidName `json:"name"`
	At   int64    `json:"at"`
	Data []byte   `json:"data,omitempty"`
}

// SaidName is what it is that was said.
type SaidName string

// What the box keeps copies of.
const (
	SaidTranscript SaidName = "transcript" // what an agent said
	SaidVoices     SaidName = "voices"     // who said which part of it, and when
	SaidStderr     SaidName = "stderr"     // what the agent's program wrote besides
	SaidChecks     SaidName = "checks"     // what checks printed
)

// HandedIn is an input of a run that a runner on another machine hands in.
type HandedIn struct {
	Run   string          `json:"run"`
	Kind  string          `json:"kind"`
	Input json.RawMessage `json:"input"`
}

// inputs are what a runner on another machine can hand in.
var inputs = []inputKind{
	{"end", delivery.End{}},
	{"prompted", delivery.Prompted{}},
	{"gate", delivery.GateRan{}},
	{"shown", delivery.Shown{}},
	{"pushed", delivery.Pushed{}},
	{"forgotten", delivery.Forgotten{}},
	{"distrust", delivery.Distrust{}},
}

// homeInputs are what a run's home hands in besides: what is done in the user's repository is done at home alone.
var homeInputs = []inputKind{
	{"baseline", delivery.BaselineRan{}},
	{"repair", delivery.RepairRan{}},
	{"repair_merge", delivery.RepairMergeRan{}},
	{"merge", delivery.MergeRan{}},
	{"published", delivery.Published{}},
	{"touched", delivery.Touched{}},
}

type inputKind struct {
	kind string
	of   delivery.Input
}

// ErrInput refuses an input that no runner on another machine hands in.
var ErrInput = errors.New("a runner hands in no such input")

// WriteInput writes an input as a runner on another machine hands it in.
func WriteInput(run string, in delivery.Input) (HandedIn, error) { return writeInput(inputs, run, in) }

// WriteHomeInput writes an input as a run's home hands it in at another box.
func WriteHomeInput(run string, in delivery.Input) (HandedIn, error) {
	return writeInput(slices.Concat(inputs, homeInputs), run, in)
}

func writeInput(inputs []inputKind, run string, in delivery.Input) (HandedIn, error) {
	at := slices.IndexFunc(inputs, func(i inputKind) bool { return reflect.TypeOf(i.of) == reflect.TypeOf(in) })
	if at < 0 {
		return HandedIn{}, fmt.Errorf("%w: %T", ErrInput, in)
	}
	data, err := json.Marshal(in)
	return HandedIn{Run: run, Kind: inputs[at].kind, Input: data}, err
}

// Read returns the input of a runner on another machine.
func (h HandedIn) Read() (delivery.Input, error) { return h.read(inputs) }

// ReadHome returns the input of a run's home.
func (h HandedIn) ReadHome() (delivery.Input, error) {
	return h.read(slices.Concat(inputs, homeInputs))
}

func (h HandedIn) read(inputs []inputKind) (delivery.Input, error) {
	for _, i := range inputs {
		if i.kind == h.Kind {
			v := reflect.New(reflect.TypeOf(i.of))
			if err := json.Unmarshal(h.Input, v.Interface()); err != nil {
				return nil, fmt.Errorf("an input of the kind %s can't be read: %w", h.Kind, err)
			}
			return v.Elem().Interface().(delivery.Input), nil
		}
	}
	return nil, fmt.Errorf("%w: %.20q", ErrInput, h.Kind)
}

// ForRunner returns the order with no more of its run and plan than a runner needs to carry it out: a run can have a thousand tasks.
func (o Order) ForRunner() Order {
	task := ""
	switch {
	case o.Session != nil:
		task = o.Session.Task
	case o.Task != nil:
		task = o.Task.ID
	}
	o.Run = o.Run.About(task)
	all := o.Plan.Tasks
	o.Plan.Tasks = nil
	for _, t := range all {
		if t.ID == task {
			o.Plan.Tasks = append(o.Plan.Tasks, t)
		}
	}
	return o
}

// Mailer is what a runner says to sessions by.
type Mailer interface {
	// Send says something to a session, now or when it connects. Saying it twice is saying it once. Delivered is called when it
	// was written, if it is not nil.
	Send(session string, c api.SessionCommand, delivered func())
	// Connected reports whether a session is in touch, and returns a channel that is closed when that ends; nil if it never was.
	Connected(session string) (bool, <-chan struct{})
	// Forget drops a session that has ended.
	Forget(session string)
}

// StillHere is how often a box that has nothing to say says that it is there.
const StillHere = 15 * time.Second

// Heartbeat is how often a runner on another machine says that it is there.
const Heartbeat = 5 * time.Second
