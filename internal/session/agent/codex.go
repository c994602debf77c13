package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/safetext"
)

// codex drives Codex's own program. It never asks for permission: what the role may do is
// the mode of its own sandbox, unless the agent is in one already. Codex reads by running
// commands, so a role that may run none runs them where they can change nothing.
type codex struct {
	stream
}

// codexKeeps is why something is refused.
const codexKeeps = "Codex's sandbox does not let it"

func newCodex(p program) *codex {
	c := &codex{stream: newStream(p)}
	c.stderr = newRejections(c.stderr, func(what string) {
		c.program.out <- Event{Kind: Denied, Text: []byte(safetext.Escape(what + " (" + codexKeeps + ")"))}
	})
	return c
}

func (c *codex) Prompt(turn int, text string) error {
	settings, err := c.settings()
	if err != nil {
		return err
	}
	// That the directory is a repository is the box's care.
	arguments := []string{"exec", "--json", "--skip-git-repo-check"}
	if c.spec.Judges {
		arguments = append(arguments, "--ignore-rules")
	}
	for _, s := range settings {
		arguments = append(arguments, "-c", s)
	}
	if c.talk.ID != "" {
		arguments = append(arguments, "resume", c.talk.ID)
	}
	return c.run(turn, append(arguments, "-"), text, c.line)
}

// settings returns what the role's permissions make of Codex's configuration.
func (c *codex) settings() ([]string, error) {
	all, err := c.spec.codexTrust()
	if err != nil {
		return nil, err
	}
	if !c.spec.may(Fetch) {
		all = append(all, `web_search="disabled"`)
	}
	switch {
	case c.spec.confined():
		return append(all, `sandbox_mode="danger-full-access"`), nil
	case !c.spec.may(Edit):
		return append(all, `sandbox_mode="read-only"`), nil
	}
	roots, err := json.Marshal(append([]string{}, c.spec.GitWrites...)) // which is TOML too
	return append(all, `sandbox_mode="workspace-write"`, "sandbox_workspace_write.writable_roots="+string(roots),
		fmt.Sprintf("sandbox_workspace_write.network_access=%t", c.spec.may(Fetch))), err
}

// codexTrust returns the settings of Codex that say what it is to trust. For a role that judges,
// the worktree's settings, hooks and instructions do not count, and neither do the skills that
// come with Codex, which lie where an agent can write. In a sandbox another role's worktree is
// trusted, which Codex would otherwise write into its configuration, that reviewers follow.
func (s Spec) codexTrust() ([]string, error) {
	dir, err := json.Marshal(s.Dir) // which is TOML too
	switch {
	case s.Judges:
		return []string{fmt.Sprintf(`projects={%s={trust_level="untrusted"}}`, dir), "project_doc_max_bytes=0", "skills.bundled.enabled=false"}, err
	case s.confined():
		return []string{fmt.Sprintf(`projects={%s={trust_level="trusted"}}`, dir)}, err
	}
	return nil, nil
}

// codexEvent is a line of the program. Only some fields are there, by its type.
type codexEvent struct {
	Type   string    `json:"type"`
	Thread string    `json:"thread_id"`
	Item   codexItem `json:"item"`
	Usage  struct {
		Input  int64 `json:"input_tokens"` // with those that were cached
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
	Message string `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

// codexItem is something that the agent says or does.
type codexItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Text    string `json:"text"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Command string `json:"command"`
	Output  string `json:"aggregated_output"`
	Query   string `json:"query"`
	Changes []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Result struct {
		Content []content `json:"content"`
	} `json:"result"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// line takes a line. What is not known is a sign of life. An error is a remark: the
// program goes on if it can, and otherwise says that the turn has failed.
func (c *codex) line(line []byte) {
	var e codexEvent
	if !decode(line, &e) {
		c.heard()
		return
	}
	switch e.Type {
	case "thread.started":
		c.takes(e.Thread)
	case "item.started", "item.updated", "item.completed":
		c.item(e.Item, e.Type == "item.completed")
	case "error":
		c.remark(short(e.Message, maxResult))
	case "turn.completed":
		c.count(delivery.Usage{InputTokens: e.Usage.Input, OutputTokens: e.Usage.Output})
		c.over(0)
	case "turn.failed":
		c.fail(cmp.Or(e.Error.Message, "it does not say why"), 0)
	default:
		c.heard()
	}
}

// count tells what was used since the last time, given what was used in all. A program
// that counts anew has used all of it.
func (c *codex) count(total delivery.Usage) {
	total.InputTokens, total.OutputTokens = max(total.InputTokens, 0), max(total.OutputTokens, 0)
	counted := c.talk.Counted
	since := delivery.Usage{InputTokens: total.InputTokens - counted.InputTokens, OutputTokens: total.OutputTokens - counted.OutputTokens}
	if since.InputTokens < 0 || since.OutputTokens < 0 {
		since = total
	}
	c.talk.Counted = total
	c.spend(since)
	c.conversed()
}

// item takes what the agent says, or that it uses a tool.
func (c *codex) item(i codexItem, done bool) {
	var kind, title string
	switch i.Type {
	case "agent_message":
		if done {
			c.speak(agentsig.Voice, i.Text)
			c.endMessage()
		}
		return
	case "error":
		c.remark(short(i.Message, maxResult))
		return
	case "command_execution":
		kind, title = "execute", i.Command
	case "file_change":
		kind, title = "edit", i.paths()
	case "mcp_tool_call":
		kind, title = i.Server, i.Tool
	case "web_search":
		kind, title = "fetch", i.Query
	default:
		c.heard()
		return
	}
	t := c.tool(i.ID, kind, title)
	if !done {
		c.uses(t)
		return
	}
	t.gives(cmp.Or(i.Output, texts(i.Result.Content), i.Error.Message))
	c.used(i.ID, t, i.Status == "failed")
	if i.Status == "declined" || i.Status == "failed" && i.Type == "file_change" {
		c.deny(t.words(), codexKeeps)
	}
}

func (i codexItem) paths() string {
	var paths []string
	for _, change := range i.Changes {
		paths = append(paths, change.Path)
	}
	return strings.Join(paths, " ")
}

// rejections passes on what Codex complains of, and finds in it what it tells nowhere
// else: a patch that it did not apply.
type rejections struct {
	to    io.Writer
	lines lineReader
}

// rejected is how Codex says so.
const rejected = "error=patch rejected"

func newRejections(to io.Writer, found func(what string)) *rejections {
	look := func(line []byte) {
		if _, why, ok := strings.Cut(string(line), rejected); ok {
			found("edit: patch rejected" + short(why, maxTitle))
		}
	}
	return &rejections{to: to, lines: lineReader{line: look, tooLong: func() {}}}
}

func (r *rejections) Write(p []byte) (int, error) {
	_, _ = r.lines.Write(p) // it does not fail
	return r.to.Write(p)
}
