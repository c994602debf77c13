package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/safetext"
)

// KindQuestion is the kind of what is to be answered.
const KindQuestion = "question"

// Asks reports whether it is to be answered, and not a part in a task.
func (q Question) Asks() bool { return q.Kind == "" || q.Kind == KindQuestion }

// Command is what a person runs about it. It has nothing in it that an agent has said.
func (q Question) Command() string {
	if q.Asks() {
		return "signalbox answer " + safetext.ShellWord(q.ID) + ` "…"`
	}
	return "signalbox " + q.Kind + " " + safetext.ShellWord(q.Work)
}

// meanings are the answers that mean something to some kind of question.
var meanings = []string{delivery.ChooseRetry, delivery.ChooseCancel, delivery.ChooseHealthy, delivery.ChooseHalt, delivery.ChooseContinue, delivery.ChooseAccept, delivery.ChooseRaise}

// Fits refuses a word that means something to another kind of question: the agent that would be told it could make nothing
// of it. It refuses to answer what is no question, too.
func (q Question) Fits(answer string) error {
	word := strings.ToLower(strings.TrimSpace(answer))
	switch {
	case !q.Asks():
		return fmt.Errorf("%s is no question, but work that waits for you: `%s`", safetext.Escape(q.ID), q.Command())
	case slices.Contains(meanings, word) && len(q.Choices) > 0 && !slices.Contains(q.Choices, word):
		return fmt.Errorf("%s is no answer to %s: answer %s, or in your own words", word, q.ID, strings.Join(q.Choices, " or "))
	}
	return nil
}

// More is the command that shows all that an agent said, if the question is so long that the ledger has only its beginning;
// empty if it has all of it, or nothing has more.
func (q Question) More() string {
	const long = 1000 // bytes: shorter ones are never cut
	cut := func(text string) bool { return len(text) > long && strings.HasSuffix(text, "…") }
	if q.Run == "" || q.Task == "" || !cut(q.Text) && !cut(q.Context) {
		return ""
	}
	return "signalbox logs " + safetext.ShellWord(q.Run+"."+q.Task)
}

// Sight is what a person who plays a role of review is shown of a task: a commit, its tree, and the commit that its
// work begins from. Before a merge ([delivery.RoleMerge]) it is the audited commit, the tree of the merge, and what it is
// merged with.
type Sight struct {
	Work   string        `json:"work"`
	Task   string        `json:"task"`
	Role   agentsig.Role `json:"role"`
	Commit string        `json:"commit"`
	Tree   string        `json:"tree"`
	Base   string        `json:"base"`
	Merge  string        `json:"merge,omitempty"` // the merge as it was checked: a commit to compare with base
}

// Verdict is what a person says of what they were shown.
type Verdict struct {
	Accept   bool          `json:"accept,omitempty"`
	Comments []string      `json:"comments,omitempty"` // path:line: text; at least one if it is sent back
	Role     agentsig.Role `json:"role"`               // as in [Sight], and so is what follows
	Commit   string        `json:"commit"`
	Tree     string        `json:"tree"`
	Base     string        `json:"base"`
}

// Taken says where a person works on a task that they have taken.
type Taken struct {
	Task     string `json:"task"`
	Work     string `json:"work"`
	Worktree string `json:"worktree"`
	Session  string `json:"session"`
}

// Give hands in a task that a person has taken.
type Give struct {
	Text string `json:"text,omitempty"` // what was done; with back, for the next agent
	Back bool   `json:"back,omitempty"` // it goes to agents, and not to the gate

	NoChange string `json:"no_change,omitempty"` // why nothing has to be changed: the critic judges that
}

// Sight returns what a person is shown of a task that waits for their review.
func (c *Client) Sight(ctx context.Context, work string) (Sight, error) {
	return get[Sight](ctx, c, workPath(work)+"/review")
}

// Review says what a person thinks of it.
func (c *Client) Review(ctx context.Context, work string, v Verdict) (Run, error) {
	return post[Run](ctx, c, workPath(work)+"/review", NewKey(), v)
}

// Take takes a task for a person. An agent that works on it is told to end.
func (c *Client) Take(ctx context.Context, work string) (Taken, error) {
	return post[Taken](ctx, c, workPath(work)+"/take", NewKey(), struct{}{})
}

// Give hands in a task that a person has taken.
func (c *Client) Give(ctx context.Context, work string, g Give) (Run, error) {
	return post[Run](ctx, c, workPath(work)+"/give", NewKey(), g)
}
