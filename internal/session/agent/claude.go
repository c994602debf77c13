package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/safetext"
)

// claude drives Claude Code's own program. Nobody can answer its questions for
// permission, so it is told not to ask: what the role may do is allowed beforehand, and
// what it may not is refused.
type claude struct {
	stream
	calls      map[string]delivery.Usage // of the model in this turn, by message
	called     delivery.Usage            // in all of them
	background int                       // tasks that go on when the agent has ended its turn, which wake it
	model      string                    // that the agent itself spoke with last
	refused    refusals
	said       string // the model's last words in this turn
}

func newClaude(p program) *claude { return &claude{stream: newStream(p)} }

func (c *claude) Prompt(turn int, text string) error {
	arguments := []string{
		"-p", "--output-format=stream-json", "--verbose", "--permission-mode=dontAsk",
		"--allowedTools=" + strings.Join(c.spec.claudeAllows(), ","),
	}
	if refused := c.spec.claudeRefuses(); len(refused) > 0 {
		arguments = append(arguments, "--disallowedTools="+strings.Join(refused, ","))
	}
	if c.spec.Judges { // settings, hooks, instructions and tool servers of the worktree are the change's
		arguments = append(arguments, "--setting-sources=user", "--strict-mcp-config")
	}
	if c.talk.ID != "" {
		arguments = append(arguments, "--resume="+c.talk.ID)
	}
	if left := c.spec.left(); left > 0 {
		arguments = append(arguments, "--max-budget-usd="+strconv.FormatFloat(left, 'f', -1, 64))
	}
	c.background, c.calls, c.called, c.refused, c.said = 0, nil, delivery.Usage{}, 0, ""
	return c.run(turn, arguments, text, c.line)
}

// foreign are the tools that come from outside. They can be denied as a whole; whoever
// wants to allow them names each server.
const foreign = "mcp__"

// claudeTools are the tools that a permission is about, and the rules that refuse them
// whatever the user's own settings allow. A tool that is named as a whole is not offered to
// the model; one whose every path is refused is, and the model is told why it can't.
var claudeTools = []struct {
	permission    Permission
	tools, refuse []string
}{
	{Edit, []string{"Edit", "Write", "NotebookEdit"}, []string{"Edit(//**)", "NotebookEdit"}},
	{Execute, []string{"Bash", "PowerShell", "Monitor"}, []string{"Bash", "PowerShell", "Monitor", foreign + "*"}},
	{Fetch, []string{"WebFetch", "WebSearch"}, []string{"WebFetch", "WebSearch"}},
}

// claudeAllows returns what the role may use without being asked.
func (s Spec) claudeAllows() []string {
	allowed := []string{"Read", "Glob", "Grep"}
	for _, of := range claudeTools {
		if s.may(of.permission) {
			allowed = append(allowed, of.tools...)
		}
	}
	return allowed
}

// claudeRefuses returns the rules for what the role may not use.
func (s Spec) claudeRefuses() []string {
	refused := []string{}
	for _, of := range claudeTools {
		if !s.may(of.permission) {
			refused = append(refused, of.refuse...)
		}
	}
	return refused
}

// mayUse reports whether a tool is not one that is refused.
func (c *claude) mayUse(tool string) bool {
	for _, of := range claudeTools {
		if slices.Contains(of.tools, tool) {
			return c.spec.may(of.permission)
		}
	}
	return c.spec.may(Execute) || !strings.HasPrefix(tool, foreign)
}

// claudeEvent is a line of the program. Only some fields are there, by its type.
type claudeEvent struct {
	Type    string `json:"type"`
	Session string `json:"session_id"`
	Parent  string `json:"parent_tool_use_id"` // of a message by an agent of the agent's
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   claudeUsage     `json:"usage"`
	} `json:"message"`
	Tasks     []json.RawMessage `json:"tasks"`
	RateLimit struct {
		Status   string `json:"status"`
		ResetsAt int64  `json:"resetsAt"`
	} `json:"rate_limit_info"`
	retry        // of a system message
	claudeResult // its subtype is a system message's too
}

// claudeUsage is what a call of the model has used, or all of them.
type claudeUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Read   int64 `json:"cache_read_input_tokens"`
	Write  int64 `json:"cache_creation_input_tokens"`
}

func (u claudeUsage) sum() delivery.Usage {
	return delivery.Usage{InputTokens: u.Input + u.Read + u.Write, OutputTokens: u.Output}
}

// claudeResult is what is told at the end of a turn.
type claudeResult struct {
	Subtype   string   `json:"subtype"`
	IsError   bool     `json:"is_error"`
	Result    string   `json:"result"`
	Errors    []string `json:"errors"`
	APIStatus int      `json:"api_error_status"` // the provider's, if it has failed the turn
	Denials   []struct {
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
	Usage  claudeUsage `json:"usage"`
	Cost   float64     `json:"total_cost_usd"` // of the whole conversation
	Models map[string]struct {
		Window int64 `json:"contextWindow"`
	} `json:"modelUsage"`
	Since map[string]struct {
		Input  int64   `json:"inputTokens"`
		Output int64   `json:"outputTokens"`
		Read   int64   `json:"cacheReadInputTokens"`
		Write  int64   `json:"cacheCreationInputTokens"`
		Cost   float64 `json:"costUSD"`
	} `json:"model_usage_since_last_result"`
}

// claudeSynthetic is the model of messages that Claude Code itself writes in the agent's place.
const claudeSynthetic = "<synthetic>"

// block is a piece of a message.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"` // of a tool's use
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Use     string          `json:"tool_use_id"` // of a tool's result
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

// line takes a line. What is not known is a sign of life; errors that the program deals
// with by itself are that too.
func (c *claude) line(line []byte) {
	var e claudeEvent
	if !decode(line, &e) {
		c.heard()
		return
	}
	switch e.Type {
	case "assistant":
		c.assistant(e)
	case "user":
		c.user(e)
	case "result":
		c.result(e.claudeResult)
	case "rate_limit_event":
		if e.RateLimit.Status == "rejected" {
			c.resets = time.Unix(e.RateLimit.ResetsAt, 0)
		}
		c.heard()
	case "system":
		c.system(e)
	default:
		c.heard()
	}
}

// system takes what the program tells of itself. It begins anew when a task that went on
// has woken the agent.
func (c *claude) system(e claudeEvent) {
	switch e.Subtype {
	case "init":
		c.takes(e.Session)
		c.program.out <- Event{Kind: Working}
	case "background_tasks_changed":
		c.background = len(e.Tasks)
		c.heard()
	case "api_retry":
		c.remark(e.words())
		if c.refused.meets(e.Attempt, e.ErrorStatus) {
			c.fail(refusedStill(e.ErrorStatus), e.ErrorStatus)
		}
	default:
		c.heard()
	}
}

// blocks returns the pieces of a message, which may be a mere text.
func (e claudeEvent) blocks() []block {
	var all []block
	var text string
	if json.Unmarshal(e.Message.Content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	decode(e.Message.Content, &all)
	return all
}

// assistant takes what the agent says, or the program in its name, or an agent of the
// agent's; and what tools it wants to use.
func (c *claude) assistant(e claudeEvent) {
	c.calling(e)
	for _, b := range e.blocks() {
		switch {
		case b.Type == "text" && e.Message.Model == claudeSynthetic:
			c.remark(short(b.Text, maxResult))
		case b.Type == "text" && e.Parent != "":
			c.speak(agentsig.Tool, short(b.Text, maxResult)+"\n")
		case b.Type == "text":
			c.said = strings.Clone(lastWords(b.Text))
			c.speak(agentsig.Voice, b.Text)
			c.endMessage()
		case b.Type == "tool_use":
			t := c.tool(b.ID, b.Name, subject(b.Input))
			c.uses(t)
			if !c.mayUse(b.Name) {
				c.deny(t.words(), c.spec.mayNot())
			}
		default:
			c.heard()
		}
	}
}

// calling tells what the turn uses. A call of the model comes in as many messages as it has pieces, each with the same
// id; what it has written is counted when the turn is over.
func (c *claude) calling(e claudeEvent) {
	if e.Message.ID == "" || len(c.calls) >= maxCalls {
		return
	}
	if c.calls == nil {
		c.calls = map[string]delivery.Usage{}
	}
	id, now := short(e.Message.ID, maxTitle), e.Message.Usage.sum()
	if e.Parent == "" {
		c.model, c.talk.Context = short(e.Message.Model, maxTitle), now.Tokens()
	}
	c.called.Add(now.Since(c.calls[id]))
	c.calls[id] = now
	c.program.out <- Event{Kind: Using, Usage: c.called}
}

// maxCalls bounds how many calls of a turn are told apart.
const maxCalls = 10_000

// user takes the results of tools, and what the program says to the agent.
func (c *claude) user(e claudeEvent) {
	for _, b := range e.blocks() {
		switch b.Type {
		case "tool_result":
			t := c.tool(b.Use, "", "")
			t.gives(resultText(b.Content))
			c.used(b.Use, t, b.IsError)
		case "text":
			c.speak(agentsig.Prompt, short(b.Text, maxResult)+"\n")
		default:
			c.heard()
		}
	}
}

// result takes the end of a turn. The agent goes on by itself if a task of it does.
func (c *claude) result(r claudeResult) {
	c.spend(c.usage(r).Larger(c.called)) // a turn that failed may end without a count, or with that of its last call
	c.calls, c.called = nil, delivery.Usage{}
	c.talk.Window = r.Models[c.model].Window
	if c.model != claudeSynthetic {
		c.talk.Model = cmp.Or(delivery.ModelName(c.model), c.talk.Model)
	}
	c.conversed()
	for _, d := range r.Denials {
		if c.mayUse(d.Tool) { // otherwise it was told already
			c.deny(strings.TrimSpace(short(d.Tool, maxTitle)+" "+short(subject(d.Input), maxTitle)), "Claude Code asks before it does that, and nobody can answer")
		}
	}
	if r.Subtype == "error_max_budget_usd" {
		c.rest()
		c.program.out <- Event{Kind: Failed, Spent: true, Text: []byte(safetext.Escape(LastRunes(strings.Join(r.Errors, "; "), maxCause)))}
		return
	}
	if r.IsError {
		if c.said != "" && lastWords(r.Result) == c.said { // the model's words, and none of the program's
			c.failed("the agent's last words: "+r.Result, strconv.Itoa(r.APIStatus))
			return
		}
		if r.Result == "" { // what was logged while it ran, by hooks and tool servers too
			c.failed(cmp.Or(strings.Join(r.Errors, "; "), "it does not say why"), strconv.Itoa(r.APIStatus))
			return
		}
		c.fail(r.Result, r.APIStatus)
		return
	}
	c.over(c.background)
}

func lastWords(text string) string { return LastRunes(strings.TrimSpace(text), maxCause) }

// usage returns what was used since the last result. A program that does not tell so for
// all models that were at work tells the tokens of the agent's own.
func (c *claude) usage(r claudeResult) delivery.Usage {
	var since delivery.Usage
	if r.Since == nil {
		if r.Cost < c.talk.Counted.CostUSD {
			c.talk.Counted.CostUSD = 0 // it counts anew
		}
		since = r.Usage.sum()
		since.CostUSD = r.Cost - c.talk.Counted.CostUSD
	}
	for _, m := range r.Since {
		since.Add(delivery.Usage{InputTokens: m.Input + m.Read + m.Write, OutputTokens: m.Output, CostUSD: m.Cost})
	}
	c.talk.Counted.CostUSD = r.Cost
	return since
}

// subject says what a tool is used on, from its input.
func subject(input json.RawMessage) string {
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Command  string `json:"command"`
		URL      string `json:"url"`
		Query    string `json:"query"`
		Pattern  string `json:"pattern"`
		Words    string `json:"description"`
	}
	decode(input, &in)
	return cmp.Or(in.File, in.Notebook, in.Command, in.URL, in.Query, in.Pattern, in.Words, string(input))
}

// resultText returns the text of a tool's result, which is a text or a list of pieces.
func resultText(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	var all []content
	decode(data, &all)
	return texts(all)
}
