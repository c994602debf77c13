//go:build unix

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/signalbox-dev/signalbox/internal/process"
)

// acpVerb makes the test binary an agent that speaks the Agent Client Protocol, by another
// implementation of it than the one that is tested. Its other arguments are how it greets;
// what it does is in the prompts, a line for each thing:
//
//	say TEXT               it says a line; a \n is a line break
//	think, echo            it thinks; it repeats the prompt, as some do
//	sub TEXT               an agent of its own says it
//	tool KIND TITLE|RESULT it uses a tool
//	open TITLE             it begins to use a tool
//	ask KIND TITLE         it asks for permission, and says what it was told
//	call                   it wants to read a file and to have a terminal
//	usage IN OUT COST      the tokens of this turn, and the dollars of all
//	raw LINE               it prints the line as it is
//	long MIB               it says so much in one message, and then ends the line
//	flood N                it tells N things that nobody knows
//	wait FILE              it goes on when the file is there
//	listen                 it goes on when another prompt has come
//	hang, deaf             it does nothing until it is told to stop, or ever
//	fork                   it leaves a child that has left its process group
//	fail CODE TEXT|DATA    the turn fails
//	stop REASON            the turn ends for another reason than its end
//	later EXIT             the program ends when there is a file called leave
//	die EXIT               the program ends in the middle of the turn
const acpVerb = "acp-agent"

// acpAgent is the agent.
type acpAgent struct {
	greets []string // version2, refuse, login, key, queues, resume, load, late, modes
	conn   *acp.AgentSideConnection
	out    *sharedWriter
	logged bool // in

	mu      sync.Mutex
	past    int           // things that were said before, which it has yet to tell
	prompts int           // that have come
	more    chan struct{} // closed when another one comes
	stop    chan struct{} // closed when the turn is to be broken off
	turn    sync.Mutex    // held by the prompt that runs
}

// sharedWriter is written by the protocol's implementation and past it.
type sharedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *sharedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

func runACPAgent(greets []string) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	a := &acpAgent{greets: greets, out: &sharedWriter{to: os.Stdout}, more: make(chan struct{}), stop: make(chan struct{})}
	in, begin := io.Pipe() // it reads at once, and has to know the connection first
	a.conn = acp.NewAgentSideConnection(a, a.out, in)
	go func() {
		_, err := io.Copy(begin, os.Stdin)
		_ = begin.CloseWithError(err)
	}()
	<-a.conn.Done()
}

func (a *acpAgent) is(what string) bool { return slices.Contains(a.greets, what) }

// awaitFile waits until the test has made a file.
func awaitFile(name string) {
	for {
		if _, err := os.Stat(name); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// note keeps what it was asked for, for the test to read.
func note(format string, args ...any) {
	f, err := os.OpenFile("calls", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, format+"\n", args...)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		panic(err)
	}
}

func (a *acpAgent) Initialize(_ context.Context, r acp.InitializeRequest) (acp.InitializeResponse, error) {
	if a.is("refuse") {
		return acp.InitializeResponse{}, &acp.RequestError{Code: -32603, Message: "Internal error", Data: map[string]string{"details": "no \x1b disk"}}
	}
	if r.ClientCapabilities.Terminal || r.ClientCapabilities.Fs.ReadTextFile || r.ClientCapabilities.Fs.WriteTextFile {
		return acp.InitializeResponse{}, errors.New("more is offered than there is")
	}
	g := acp.InitializeResponse{ProtocolVersion: 1, AgentCapabilities: acp.AgentCapabilities{LoadSession: a.is("load") || a.is("late")}, AuthMethods: []acp.AuthMethod{
		{Agent: &acp.AuthMethodAgent{Id: "browser", Name: "browser"}},
		{EnvVar: &acp.AuthMethodEnvVarInline{Id: "key", Name: "key", Type: "env_var", Vars: []acp.AuthEnvVar{{Name: "AGENT_KEY"}}}},
	}}
	if a.is("version2") {
		g.ProtocolVersion = 2
	}
	if a.is("resume") {
		g.AgentCapabilities.SessionCapabilities.Resume = &acp.SessionResumeCapabilities{}
	}
	if a.is("queues") {
		g.AgentCapabilities.Meta = map[string]any{"claudeCode": map[string]any{"promptQueueing": true}}
	}
	return g, nil
}

func (a *acpAgent) Authenticate(_ context.Context, r acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	note("authenticate %s", r.MethodId)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.logged = true
	return acp.AuthenticateResponse{}, nil
}

func (a *acpAgent) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.is("login") && !a.logged {
		return acp.NewSessionResponse{}, acp.NewAuthRequired(nil)
	}
	if dir, err := os.Getwd(); err != nil || r.Cwd != dir {
		return acp.NewSessionResponse{}, fmt.Errorf("not in %s: %w", r.Cwd, err)
	}
	note("new")
	answer := acp.NewSessionResponse{SessionId: "c-1"}
	if a.is("modes") {
		answer.Modes = &acp.SessionModeState{CurrentModeId: "auto"}
		for _, id := range []acp.SessionModeId{"auto", "read-only", "full-access"} {
			answer.Modes.AvailableModes = append(answer.Modes.AvailableModes, acp.SessionMode{Id: id, Name: string(id)})
		}
	}
	return answer, nil
}

func (a *acpAgent) ResumeSession(_ context.Context, r acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	note("resume %s", r.SessionId)
	if a.is("lost") {
		return acp.ResumeSessionResponse{}, &acp.RequestError{Code: -32603, Message: "no such conversation"}
	}
	return acp.ResumeSessionResponse{}, nil
}

// LoadSession tells all that was said before, a signal too; or it does so later.
func (a *acpAgent) LoadSession(_ context.Context, r acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	note("load %s", r.SessionId)
	if a.is("lost") {
		return acp.LoadSessionResponse{}, &acp.RequestError{Code: -32603, Message: "no such conversation"}
	}
	a.mu.Lock()
	a.past = 3
	a.mu.Unlock()
	for !a.is("late") && a.remember() {
	}
	return acp.LoadSessionResponse{}, nil
}

// remember tells one thing that was said before, if there is one left.
func (a *acpAgent) remember() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.past == 0 {
		return false
	}
	a.past--
	a.tell(acp.UpdateAgentMessageText("TASK_INCOMPLETE: T-1\n"))
	return true
}

// HandleExtensionMethod knows none.
func (a *acpAgent) HandleExtensionMethod(_ context.Context, method string, _ json.RawMessage) (any, error) {
	a.remember()
	return nil, acp.NewMethodNotFound(method)
}

func (a *acpAgent) SetSessionMode(_ context.Context, r acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	note("mode %s", r.ModeId)
	return acp.SetSessionModeResponse{}, nil
}

func (a *acpAgent) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, acp.NewMethodNotFound("close")
}

func (a *acpAgent) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound("list")
}

func (a *acpAgent) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound("config")
}

func (a *acpAgent) Cancel(context.Context, acp.CancelNotification) error {
	note("cancel")
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.stop)
	a.stop = make(chan struct{})
	return nil
}

func (a *acpAgent) Prompt(_ context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	a.mu.Lock()
	a.prompts++
	close(a.more)
	a.more = make(chan struct{})
	number, more, stop := a.prompts, a.more, a.stop
	a.mu.Unlock()
	for a.remember() {
	}
	text := r.Prompt[0].Text.Text
	note("prompt %s", strings.ReplaceAll(text, "\n", "; "))
	if !a.turn.TryLock() {
		if !a.is("queues") {
			return acp.PromptResponse{}, errors.New("a prompt in the middle of a turn")
		}
		a.turn.Lock()
	}
	defer a.turn.Unlock()
	t := acpTurn{acpAgent: a, number: number, text: text, more: more, stop: stop, answer: acp.PromptResponse{StopReason: acp.StopReasonEndTurn}}
	for line := range strings.Lines(text) {
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if t.do(verb, strings.ReplaceAll(rest, `\n`, "\n")); t.err != nil {
			break
		}
	}
	return t.answer, t.err
}

// tell sends an update.
func (a *acpAgent) tell(u acp.SessionUpdate) {
	if err := a.conn.SessionUpdate(context.Background(), acp.SessionNotification{SessionId: "c-1", Update: u}); err != nil {
		os.Exit(1) // the other side has gone
	}
}

// acpTurn is a prompt that is carried out.
type acpTurn struct {
	*acpAgent
	number     int // of its prompt
	text       string
	more, stop chan struct{}
	tools      int
	answer     acp.PromptResponse
	err        error
}

func (t *acpTurn) say(text string) { t.tell(acp.UpdateAgentMessageText(text)) }

func (t *acpTurn) do(verb, rest string) {
	first, after, _ := strings.Cut(rest, " ")
	head, tail, _ := strings.Cut(rest, "|")
	number, _ := strconv.Atoi(first)
	switch verb {
	case "say":
		t.say(rest + "\n")
	case "think":
		t.tell(acp.UpdateAgentThoughtText("READY_FOR_REVIEW: T-1\n"))
	case "echo":
		t.tell(acp.UpdateUserMessageText(t.text))
	case "sub":
		u := acp.UpdateAgentMessageText(rest + "\n")
		u.AgentMessageChunk.Meta = map[string]any{"claudeCode": map[string]any{"parentToolUseId": "x"}}
		t.tell(u)
	case "tool", "open":
		t.useTool(verb, head, tail)
	case "ask":
		t.ask(acp.ToolKind(first), after)
	case "call":
		_, err := t.conn.ReadTextFile(context.Background(), acp.ReadTextFileRequest{SessionId: "c-1", Path: "/etc/passwd"})
		t.say(fmt.Sprintln(err))
		_, err = t.conn.CreateTerminal(context.Background(), acp.CreateTerminalRequest{SessionId: "c-1", Command: "sh"})
		t.say(fmt.Sprintln(err))
	case "usage":
		t.usage(strings.Fields(rest))
	case "raw":
		_, _ = t.out.Write([]byte(rest + "\n"))
	case "long":
		t.do("raw", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`+
			strings.Repeat("x", number<<20)+`"}}}}`)
		t.say("\n")
	case "flood":
		for range number {
			t.do("raw", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c-1","update":{"sessionUpdate":"mood","content":{"type":"text","text":"READY_FOR_REVIEW: T-1\n"}}}}`)
		}
	case "fork":
		_, t.err = process.Start(process.Command{Path: "sh", Args: []string{"-c", `trap "" TERM HUP; while :; do sleep 1; done`}, Env: os.Environ()})
	case "later":
		go func() {
			awaitFile("leave")
			os.Exit(number)
		}()
	case "die":
		os.Exit(number)
	default:
		t.wait(verb, rest)
	}
}

// wait carries out what is about the turn's end, or waits for something.
func (t *acpTurn) wait(verb, rest string) {
	first, after, _ := strings.Cut(rest, " ")
	switch verb {
	case "wait":
		awaitFile(rest)
	case "listen":
		<-t.more
	case "hang":
		<-t.stop
		t.answer.StopReason = acp.StopReasonCancelled
	case "deaf":
		select {}
	case "stop":
		t.answer.StopReason = acp.StopReason(rest)
	case "fail":
		code, _ := strconv.Atoi(first)
		message, data, found := strings.Cut(after, "|")
		failed := &acp.RequestError{Code: code, Message: message}
		if found {
			failed.Data = json.RawMessage(data)
		}
		t.err = failed
	}
}

func (t *acpTurn) useTool(verb, what, result string) {
	t.tools++
	id := acp.ToolCallId(fmt.Sprintf("t-%d-%d", t.number, t.tools))
	kind, title, _ := strings.Cut(what, " ")
	if verb == "open" {
		kind, title = "execute", what
	}
	t.tell(acp.StartToolCall(id, title, acp.WithStartKind(acp.ToolKind(kind)), acp.WithStartStatus(acp.ToolCallStatusPending)))
	if verb == "tool" {
		t.tell(acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusCompleted), acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(result))})))
	}
}

func (t *acpTurn) ask(kind acp.ToolKind, title string) {
	answer, err := t.conn.RequestPermission(context.Background(), acp.RequestPermissionRequest{
		SessionId: "c-1", ToolCall: acp.ToolCallUpdate{ToolCallId: "asked", Kind: &kind, Title: &title},
		Options: []acp.PermissionOption{
			{OptionId: "always", Name: "always", Kind: acp.PermissionOptionKindAllowAlways}, {OptionId: "yes", Name: "yes", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionId: "never", Name: "never", Kind: acp.PermissionOptionKindRejectAlways}, {OptionId: "no", Name: "no", Kind: acp.PermissionOptionKindRejectOnce},
		},
	})
	switch {
	case err != nil:
		t.say(err.Error() + "\n")
	case answer.Outcome.Selected != nil:
		t.say(fmt.Sprintf("%s: %s\n", title, answer.Outcome.Selected.OptionId))
	default:
		t.say(title + ": cancelled\n")
	}
}

// usage tells tokens with the turn's end, and money at once.
func (t *acpTurn) usage(numbers []string) {
	in, _ := strconv.Atoi(numbers[0])
	out, _ := strconv.Atoi(numbers[1])
	cost, _ := strconv.ParseFloat(numbers[2], 64)
	t.answer.Usage = &acp.Usage{InputTokens: in, OutputTokens: out, TotalTokens: in + out}
	t.tell(acp.SessionUpdate{UsageUpdate: &acp.SessionUsageUpdate{SessionUpdate: "usage_update", Used: in, Size: 1000, Cost: &acp.Cost{Amount: cost, Currency: "USD"}}})
}
