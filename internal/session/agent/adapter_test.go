//go:build unix

package agent_test

import (
	"cmp"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test; nothing waits for it to pass.
const patience = 2 * time.Minute

// players are scripts that play a program for each adapter: they say hello in each turn, and hang in
// one whose prompt says so.
var players = map[string]struct {
	agent.Config
	traits agent.Traits
	voice  string // hello if empty
}{
	"plain": {agent.Config{Adapter: agent.AdapterPlain, Command: []string{"sh", "-c", `
		case "$(cat)" in *hang*) sleep 300;; esac
		echo hello`}}, agent.Traits{}, ""},
	"plain, input: json": {agent.Config{Adapter: agent.AdapterPlain, Input: agent.InputJSON, Command: []string{"sh", "-c", `
		while read -r message; do
			case "$message" in *hang*) sleep 300;; esac
			echo hello; echo '{"type":"turn_end"}'
		done`}}, agent.Traits{CanBeTold: true, Stays: true}, ""},
	"claude": {agent.Config{Adapter: agent.AdapterClaude, Command: []string{"sh", "-c", `
		case "$(cat)" in *hang*) sleep 300;; esac
		echo '{"type":"system","subtype":"init","session_id":"c-1"}'
		echo '{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"hello"}]}}'
		echo '{"type":"result","is_error":false}'`}}, agent.Traits{MarksEnd: true}, ""},
	"codex": {agent.Config{Adapter: agent.AdapterCodex, Command: []string{"sh", "-c", `
		case "$(cat)" in *hang*) sleep 300;; esac
		echo '{"type":"thread.started","thread_id":"c-1"}'
		echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"hello"}}'
		echo '{"type":"turn.completed"}'`}}, agent.Traits{MarksEnd: true}, ""},
	"acp": {agent.Config{Adapter: agent.AdapterACP, Command: []string{"sh", "-c", `
		while read -r message; do
			id=${message#*\"id\":}; id=${id%%,*}
			case "$message" in
			*initialize*) result='{"protocolVersion":1}';;
			*session/new*) result='{"sessionId":"c-1"}';;
			*session/prompt*hang*) hung=$id; continue;;
			*session/cancel*) id=$hung; result='{"stopReason":"cancelled"}';;
			*) echo '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}}'
				result='{"stopReason":"end_turn"}';;
			esac
			echo '{"jsonrpc":"2.0","id":'$id',"result":'$result'}'
		done`}}, agent.Traits{Stays: true, MarksEnd: true}, ""},
	"ask": {agent.Config{Adapter: agent.AdapterAsk, Command: []string{"sh", "-c", `
		read -r request; case "$request" in *hang*) sleep 300;; esac
		echo '{"done":{"answered":true,"text":"hello"}}'`}}, agent.Traits{MarksEnd: true}, "EXPERT_ADVICE: T-1\nhello\n"},
}

// driven is an adapter that a test drives.
type driven struct {
	agent.Adapter
	t       *testing.T
	started int // programs
}

func drive(t *testing.T, config agent.Config) *driven {
	t.Helper()
	d := &driven{t: t}
	config.Name = "agent"
	a, err := agent.New(agent.Spec{
		Agent: config.WithDefaults(), Dir: t.TempDir(), Private: t.TempDir(), Role: agentsig.RoleDeveloper, Task: "T-1",
		Answer: patience, Grace: 2 * time.Second, Marker: "test@" + rand.Text(),
		Started: func(pid int, started string) error {
			if pid <= 0 || started == "" {
				t.Errorf("the program is process %d of %q", pid, started)
			}
			d.started++
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Adapter = a
	t.Cleanup(func() {
		if d.End() {
			d.until(agent.Stopped)
		}
	})
	return d
}

// until takes events up to one of some kinds, and returns it and what the agent has said by then.
func (d *driven) until(kinds ...agent.EventKind) (last agent.Event, voice string) {
	d.t.Helper()
	late := time.After(patience)
	for {
		select {
		case e := <-d.Events():
			if e.Kind == agent.Said && e.Source == agentsig.Voice {
				voice += string(e.Text)
			}
			if e.Kind == agent.Stopped {
				d.Clear()
			}
			for _, kind := range kinds {
				if e.Kind == kind {
					return e, voice
				}
			}
		case <-late:
			d.t.Fatalf("no event of the kinds %v; it said %q", kinds, voice)
		}
	}
}

// turn carries out one turn, to the point at which the next one can begin.
func (d *driven) turn(number int, text string) (voice string) {
	d.t.Helper()
	if !d.Ready() {
		d.t.Fatalf("turn %d can't begin", number)
	}
	if err := d.Prompt(number, text); err != nil {
		d.t.Fatal(err)
	}
	end := agent.Stopped
	if d.Traits().Stays {
		end = agent.TurnOver
	}
	_, voice = d.until(end)
	return voice
}

// Every adapter keeps what [agent.Adapter] promises, whatever its program is.
func TestAdapters(t *testing.T) {
	seen := map[string]bool{}
	for name, player := range players {
		seen[player.Adapter] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := drive(t, player.Config)
			if d.End() || d.started != 0 {
				t.Error("there is something to end before the first turn")
			}
			hello := cmp.Or(player.voice, "hello\n")
			for number := 1; number <= 2; number++ {
				if voice := d.turn(number, "do it"); voice != hello {
					t.Errorf("turn %d: it said %q", number, voice)
				}
			}
			if got := d.Traits(); got != player.traits {
				t.Errorf("%+v, want %+v", got, player.traits)
			}
			want := 2
			if player.traits.Stays {
				want = 1
			}
			if d.started != want {
				t.Errorf("%d programs were started, want %d", d.started, want)
			}
			if err := d.Tell(agent.MessageAsk, "how far are you?"); errors.Is(err, agent.ErrCantBeTold) == player.traits.CanBeTold {
				t.Errorf("it was asked something: %v", err)
			}
			if player.traits.CanBeTold {
				d.until(agent.TurnOver)
			}

			if err := d.Prompt(3, "hang"); err != nil {
				t.Fatal(err)
			}
			d.Cancel()
			d.until(agent.TurnOver, agent.Failed, agent.Stopped)
			if d.End() {
				if e, _ := d.until(agent.Stopped); e.Err != nil {
					t.Error(e.Err)
				}
			}
			if voice := d.turn(4, "do it"); voice != hello {
				t.Errorf("after its end it said %q", voice)
			}
		})
	}
	for _, name := range agent.Adapters() {
		if !seen[name] {
			t.Errorf("no script plays a program for the adapter %s", name)
		}
	}
}

// A program of which nobody keeps which one it is would be left if the session were killed, so it is
// ended.
func TestNotKept(t *testing.T) {
	full := errors.New("the disk is full")
	a, err := agent.New(agent.Spec{
		Agent: agent.Config{Name: "agent", Command: []string{"sleep", "300"}}.WithDefaults(), Dir: t.TempDir(), Private: t.TempDir(),
		Grace: 2 * time.Second, Marker: "test@" + rand.Text(), Started: func(int, string) error { return full },
	})
	if err != nil {
		t.Fatal(err)
	}
	d := &driven{Adapter: a, t: t}
	if err := d.Prompt(1, "do it"); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	d.until(agent.Stopped)
}

func TestUnknownAdapter(t *testing.T) {
	config := agent.Config{Name: "agent", Adapter: "telepathy", Command: []string{"true"}}
	if err := config.Check(); err == nil {
		t.Error("the config passes")
	}
	if a, err := agent.New(agent.Spec{Agent: config}); err == nil {
		t.Errorf("got %v", a)
	}
}
