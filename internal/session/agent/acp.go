package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/safetext"
)

// acp drives a program that speaks the Agent Client Protocol, version 1: one conversation
// for the whole session, whose turns are prompts. The agent's questions for permission
// are answered by the role's policy.
//
// Two goroutines are at work: the session's, which calls the adapter, and the one that
// hears the program. What they share is behind mu, and nobody gives out an event while
// holding it: the session may be waiting for it.
type acp struct {
	program
	hearing // belongs to the goroutine that hears the program
	early   *early

	mu      sync.Mutex
	conn    *rpc        // with the program that runs
	id      string      // of the conversation, once there is one, or from [Spec.Resume]
	taken   bool        // it was begun, or gone on with, in this session
	going   bool        // the conversation has begun with this program
	queues  bool        // it takes a prompt in the middle of a turn
	waiting string      // a prompt for when the conversation has begun, or the one that runs is answered
	running int         // prompts that were not answered
	broken  bool        // the turn is broken off: how it fails is no news
	mute    *time.Timer // ends a program that does not answer
}

func newACP(p program) *acp {
	a := &acp{program: p, early: &early{to: p.stderr}, id: p.spec.Resume.ID, hearing: hearing{talk: p.spec.Resume}}
	a.stderr = a.early
	return a
}

func (a *acp) Traits() Traits {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Traits{CanBeTold: a.queues, Stays: true, MarksEnd: true}
}

func (a *acp) Prompt(turn int, text string) error {
	if a.group == nil {
		if err := a.begin(turn); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken = false
	return a.say(text)
}

// say sends a prompt, or keeps it until it can be sent. The caller holds mu.
func (a *acp) say(text string) error {
	if !a.going || a.running > 0 && !a.queues {
		a.waiting = strings.TrimPrefix(a.waiting+"\n\n"+text, "\n\n")
		return nil
	}
	a.running++
	params := map[string]any{"sessionId": a.id, "prompt": []any{map[string]any{"type": "text", "text": text}}}
	return a.conn.call("session/prompt", params, a.answered)
}

// Tell sends a message into the turn. Where the program takes none, the turn is broken
// off and goes on with the message: a person may want that, but a question for progress
// is not worth it.
func (a *acp) Tell(kind, text string) error {
	if a.group == nil {
		return ErrCantBeTold
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if kind == MessageAsk && !a.queues {
		return ErrCantBeTold
	}
	err := a.say(text)
	if err == nil && a.running > 0 && !a.queues {
		err = a.breakOff()
	}
	return err
}

// breakOff asks the program to end what it is doing. The caller holds mu.
func (a *acp) breakOff() error {
	return a.conn.notify("session/cancel", map[string]any{"sessionId": a.id})
}

func (a *acp) Cancel() {
	a.mu.Lock()
	a.broken, a.waiting = true, ""
	heeds := a.running > 0 && a.breakOff() == nil
	a.mu.Unlock()
	if !heeds {
		a.End()
	}
}

// begin starts the program and greets it.
func (a *acp) begin(turn int) error {
	in := newInlet()
	conn := a.connect(in.offer, in.give)
	mute := a.failure("the Agent Client Protocol can't be spoken with it", errMute) // while nobody else is hearing
	command := slices.Clone(a.spec.Agent.Command)
	if a.spec.Agent.Way() == WayShells { // Codex's bridge
		settings, err := a.spec.codexTrust()
		if err != nil {
			return err
		}
		for _, s := range settings {
			command = append(command, "-c", s)
		}
	}
	a.early.begin()
	if err := a.open(turn, command, in, ending{conn, a.unheard}); err != nil {
		return err
	}
	group := a.group
	a.mute = time.AfterFunc(greetings*a.spec.Answer, func() {
		if refused, ok := a.loginless(); ok {
			mute = refused
		}
		select {
		case a.out <- mute:
		case <-group.Done():
		}
	})
	return conn.call("initialize", map[string]any{
		"protocolVersion":    1,
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false}, "terminal": false},
		"clientInfo":         map[string]string{"name": "signalbox", "version": "1"},
	}, a.greeted)
}

// ending is the output of a program, with what is done when it has ended.
type ending struct {
	output
	then func()
}

func (e ending) end() { e.output.end(); e.then() }

// unheard tells why a program has ended that could not be talked to yet, if it was for want of a login.
func (a *acp) unheard() {
	if refused, ok := a.loginless(); ok {
		a.out <- refused
	}
}

// loginless is the failure of a program that can't be talked to and says that it has no login. Gemini CLI waits for
// somebody to log in then.
func (a *acp) loginless() (Event, bool) {
	words := a.early.refusal()
	text := fmt.Sprintf("the agent %s: the Agent Client Protocol can't be spoken with it: %s: %s", safetext.Escape(a.spec.Agent.Name), words, logIn)
	return Event{Kind: Failed, Refused: true, Text: []byte(text)}, words != ""
}

// logIn says what to do about a login that is missing.
const logIn = "log in with the program itself, or give it a key in its env"

// connect makes the connection with a program that is to be started.
func (a *acp) connect(send func([]byte) error, reply func([]byte)) *rpc {
	conn := &rpc{pending: map[int]func(json.RawMessage, error){}, requests: a.request, notified: a.notified, send: send, reply: reply}
	conn.line = conn.hear
	conn.tooLong = a.passOver
	a.hearing = hearing{teller: teller{out: a.out}, talk: a.talk}
	a.mu.Lock()
	a.conn, a.going, a.running, a.waiting = conn, false, 0, ""
	a.mu.Unlock()
	return conn
}

// greeting is what a program says of itself.
type greeting struct {
	Version      int `json:"protocolVersion"`
	Capabilities struct {
		Load bool `json:"loadSession"`
		Meta struct {
			Claude *struct {
				Queues bool `json:"promptQueueing"`
			} `json:"claudeCode"`
		} `json:"_meta"`
		Session struct {
			Resume *struct{} `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Logins []struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Vars []struct {
			Name string `json:"name"`
		} `json:"vars"`
	} `json:"authMethods"`
}

// A program that speaks something else may wait for ever for what it understands. It has
// four times as long as an agent has to answer.
const greetings = 4

var errMute = errors.New("it does not answer: is it the right adapter? Claude Code's and Codex's own programs have theirs")

func (a *acp) greeted(result json.RawMessage, err error) {
	a.mute.Stop()
	a.early.end()
	var g greeting
	if err == nil {
		err = json.Unmarshal(result, &g)
	}
	if err == nil && g.Version != 1 {
		err = fmt.Errorf("it speaks version %d of the protocol, and Signalbox version 1", g.Version)
	}
	if err != nil {
		a.fail("the Agent Client Protocol can't be spoken with it", err)
		return
	}
	a.claude = g.Capabilities.Meta.Claude != nil
	a.mu.Lock()
	a.queues = a.claude && g.Capabilities.Meta.Claude.Queues
	a.mu.Unlock()
	a.loads = g.Capabilities.Load || g.Capabilities.Session.Resume != nil
	a.converse(g, true)
}

// converse begins the conversation, or goes on with the one that a program before this
// one had. A program that wants a login and has the key for it in its environment is told
// to use that.
func (a *acp) converse(g greeting, mayLogIn bool) {
	// For Claude Code's bridge: who asks for no permission can't be refused any, and what the
	// user's own settings allow is not asked for.
	options := map[string]any{"allowDangerouslySkipPermissions": false, "disallowedTools": a.spec.claudeRefuses()}
	if a.spec.Judges { // as Claude Code's own program is told to
		options["settingSources"], options["strictMcpConfig"] = []string{"user"}, true
	}
	raw := []any{map[string]string{"type": "system", "subtype": "api_retry"}, map[string]string{"type": "assistant"}}
	bridge := map[string]any{"options": options, "emitRawSDKMessages": raw}
	params := map[string]any{"cwd": a.spec.Dir, "mcpServers": []any{}, "_meta": map[string]any{"claudeCode": bridge}}
	method := "session/new"
	a.mu.Lock()
	conn, before, resumes := a.conn, a.id, a.id != "" && !a.taken
	a.mu.Unlock()
	if resumes && !a.loads {
		a.forget("its program can't go on with conversations")
		return
	}
	if before != "" {
		params["sessionId"] = before
		switch {
		case g.Capabilities.Session.Resume != nil:
			method = "session/resume"
		case g.Capabilities.Load:
			method = "session/load"
			a.past = true // it tells all that was said before
		default:
			delete(params, "sessionId")
		}
	}
	err := conn.call(method, params, func(result json.RawMessage, err error) {
		login := ""
		if refused := (*rpcError)(nil); mayLogIn && errors.As(err, &refused) && refused.Code == codeLogin {
			login = a.login(g)
		}
		switch {
		case login != "":
			a.ask("it can't log in", "authenticate", map[string]any{"methodId": login}, func(json.RawMessage) { a.converse(g, false) })
		case err != nil && resumes && !a.refused(err):
			a.forget(err.Error())
		case err != nil:
			a.fail("it can't begin a conversation", err)
		case a.past:
			a.afterPast(func() { a.begun(before, result) })
		default:
			a.begun(before, result)
		}
	})
	if err != nil {
		a.fail("it can't begin a conversation", err)
	}
}

// forget tells that the conversation of another session can't be gone on with.
func (a *acp) forget(why string) {
	a.mu.Lock()
	a.id, a.waiting = "", ""
	a.mu.Unlock()
	a.talk = delivery.Conversation{}
	a.out <- Event{Kind: Forgotten, Text: []byte(safetext.Escape(LastRunes(why, maxCause)))}
}

// conversed tells how the conversation is.
func (a *acp) conversed() {
	if a.talk.ID != "" {
		a.out <- Event{Kind: Conversed, Conversation: a.talk}
	}
}

// refused reports whether an error is the provider's word, and none about a conversation.
func (a *acp) refused(err error) bool {
	e := a.failure("", err)
	return e.Refused || e.Limited
}

// afterPast goes on when the program has told all that was said before. Gemini CLI answers
// before it has, so that is when it has told nothing while it answered something else:
// a question that no program knows.
func (a *acp) afterPast(then func()) {
	before := a.retold
	err := a.conn.call("_signalbox/ready", struct{}{}, func(json.RawMessage, error) {
		if a.retold > before {
			a.afterPast(then)
			return
		}
		a.past = false
		then()
	})
	if err != nil {
		a.fail("it can't begin a conversation", err)
	}
}

// ask calls the program, and then goes on; if that fails, the agent has.
func (a *acp) ask(failing, method string, params any, then func(json.RawMessage)) {
	err := a.conn.call(method, params, func(result json.RawMessage, err error) {
		if err != nil {
			a.fail(failing, err)
			return
		}
		then(result)
	})
	if err != nil {
		a.fail(failing, err)
	}
}

// login returns a way to log in whose variables the program's environment has.
func (a *acp) login(g greeting) string {
	env := a.environment(0)
	for _, l := range g.Logins {
		has := l.Type == "env_var" && len(l.Vars) > 0
		for _, v := range l.Vars {
			has = has && slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, v.Name+"=") && len(e) > len(v.Name)+1 })
		}
		if has {
			return l.ID
		}
	}
	return ""
}

// begun takes the conversation, and puts it into the mode that the role's permissions
// call for.
func (a *acp) begun(before string, result json.RawMessage) {
	type mode struct {
		ID string `json:"id"`
	}
	var session struct {
		ID    string `json:"sessionId"`
		Modes struct {
			Current   string `json:"currentModeId"`
			Available []mode `json:"availableModes"`
		} `json:"modes"`
		Models struct {
			Current string `json:"currentModelId"`
		} `json:"models"`
	}
	if err := json.Unmarshal(result, &session); err != nil {
		a.fail("it can't begin a conversation", err)
		return
	}
	if session.ID == "" {
		session.ID = before // one that goes on has the name it had
	}
	a.mu.Lock()
	a.id, a.taken = session.ID, true
	a.mu.Unlock()
	a.talk.Model = cmp.Or(delivery.ModelName(session.Models.Current), a.talk.Model)
	if a.talk.ID = session.ID; !a.loads || a.talk.Check() != nil {
		a.talk.ID = ""
	}
	a.conversed()
	for _, want := range a.modes() {
		if want == session.Modes.Current {
			break
		}
		if slices.Contains(session.Modes.Available, mode{want}) {
			a.ask("it can't be put into its mode "+want, "session/set_mode", map[string]any{"sessionId": session.ID, "modeId": want},
				func(json.RawMessage) { a.goOn() })
			return
		}
	}
	a.goOn()
}

// modes are the names of modes, the best first. In "default" Claude Code and Gemini CLI
// ask before they do something. The others are Codex's: what lies between them, its
// workspace-write, keeps an agent from committing in a worktree, and its own sandbox does
// not work inside of another one.
func (a *acp) modes() []string {
	if a.spec.may(Edit) || a.spec.confined() {
		return []string{"default", "full-access"}
	}
	return []string{"default", "read-only"}
}

// goOn sends the prompt that waited for the conversation.
func (a *acp) goOn() {
	a.mu.Lock()
	text := a.waiting
	a.going, a.waiting = true, ""
	var err error
	if text != "" {
		err = a.say(text)
	}
	a.mu.Unlock()
	if err != nil {
		a.fail("it can't be prompted", err)
		return
	}
	a.heard() // and it is known by now whether it can be told things
}

// answered takes the end of a prompt. The turn is over when none is left.
func (a *acp) answered(result json.RawMessage, err error) {
	var answer struct {
		Reason string `json:"stopReason"`
		Usage  *struct {
			Input  int64 `json:"inputTokens"`
			Output int64 `json:"outputTokens"`
			Read   int64 `json:"cachedReadTokens"`
			Write  int64 `json:"cachedWriteTokens"`
		} `json:"usage"`
		Meta struct {
			Quota struct {
				Tokens delivery.Usage `json:"token_count"`
			} `json:"quota"`
		} `json:"_meta"`
	}
	if err == nil {
		err = json.Unmarshal(result, &answer)
	}
	spent := answer.Meta.Quota.Tokens // Gemini CLI's way
	if u := answer.Usage; u != nil {
		spent = delivery.Usage{InputTokens: u.Input + u.Read + u.Write, OutputTokens: u.Output}
	}
	if spent == (delivery.Usage{}) {
		spent.InputTokens = a.context
	}
	a.context = 0
	a.out <- Event{Kind: Used, Usage: spent}
	a.conversed()
	defer func() { a.said, a.author = nil, nobody }()
	a.mu.Lock()
	a.running--
	left, more, broken := a.running, a.waiting != "", a.broken
	a.mu.Unlock()
	switch {
	case err != nil && !broken && !more:
		a.rest()
		a.out <- a.turnFailure(err)
	case left > 0:
	case more:
		a.endMessage()
		a.goOn()
	default:
		if answer.Reason != "end_turn" && answer.Reason != "cancelled" && err == nil {
			a.remark("the agent's turn ended: " + short(answer.Reason, maxTitle))
		}
		a.rest()
		a.out <- Event{Kind: TurnOver}
	}
}

// fail tells that the agent can't go on. A provider's usage limit is told apart.
func (a *acp) fail(what string, err error) { a.out <- a.failure(what, err) }

func (a *acp) failure(what string, err error) Event {
	text, cause := a.failed(what, err), ""
	var refused *rpcError
	if errors.As(err, &refused) {
		if refused.Code == codeLogin {
			text += ": " + logIn
		}
		cause = refused.Message + " " + string(refused.Data)
	}
	e := failing(text, cause, a.resets)
	if refused != nil && (refused.Code == codeLogin || refusedStatus(refused.Code)) { // Gemini CLI has the provider's status there
		e.Refused = !e.Limited
	}
	return e
}

// failed says of the agent what has failed, and why.
func (a *acp) failed(what string, err error) string {
	return fmt.Sprintf("the agent %s: %s: %s", safetext.Escape(a.spec.Agent.Name), what, safetext.Escape(LastRunes(err.Error(), maxCause)))
}

// turnFailure is the failure of a turn. An error that is not the program's own tells nothing of its provider.
func (a *acp) turnFailure(err error) Event {
	const what = "its turn failed"
	var refused *rpcError
	if errors.As(err, &refused) && !a.own(refused) {
		return Event{Kind: Failed, Text: []byte(a.failed(what, err))}
	}
	return a.failure(what, err)
}

// own reports whether the error of a turn is the program's word. Claude Code's bridge makes errors of the agent's last
// words too, with the code for a login that is missing if they name one, and of what hooks and tool servers complain of.
// It passes on who wrote each message: an error is the program's if the last one was. Other programs make their errors
// themselves, unless what they say is what the agent has just said.
func (a *acp) own(refused *rpcError) bool {
	switch {
	case a.author == theAgent:
		return false
	case a.author == theProgram, refused.Code == codeLogin:
		return true
	case a.claude: // nobody has said anything
		return false
	}
	words := lastWords(strings.TrimPrefix(refused.Message, "Internal error: "))
	return words == "" || !strings.HasSuffix(lastWords(string(a.said)), words)
}
