// Package advice is what an expert that is the oracle and the adapter that drives it say to each
// other. The expert is this very program (`signalbox advise`), in the sandbox of an agent, where it
// can't reach the box: all that is to be recorded goes over its standard output, a line of JSON
// each ([Line]). On its standard input it gets a [Request], and for each call of a tool a [Word]:
// it makes none before the ledger has it.
package advice

import (
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Command is the name of the command that is the expert.
const Command = "advise"

// Limits of what is said, in bytes of a line.
const (
	MaxRequest = 1 << 20
	MaxWord    = 1 << 10
)

// Settings are what an oracle is asked with.
type Settings struct {
	Model string   `json:"model,omitempty"` // as its server calls it; the environment may say it instead
	Tools string   `json:"tools,omitempty"` // a file that names MCP servers; none for what is built in
	Tree  string   `json:"tree,omitempty"`  // a file, or the name of a tree that is built in
	Allow []string `json:"allow,omitempty"` // tools that may be called although they may change something
}

// Request is the first line that the expert gets.
type Request struct {
	Settings
	Question string `json:"question,omitempty"`
	Check    bool   `json:"check,omitempty"` // nothing is asked: is there anything wrong with the settings?
}

// Word is a line that the expert gets about a call that it has told of.
type Word struct {
	Call     int  `json:"call"`
	Recorded bool `json:"recorded"` // it may be made
}

// Line is what the expert says. One of its parts is there.
type Line struct {
	Text   string         `json:"text,omitempty"`   // of the model, without signals
	Remark string         `json:"remark,omitempty"` // of the oracle's own
	Step   *delivery.Step `json:"step,omitempty"`   // to be recorded
	Given  string         `json:"given,omitempty"`  // the beginning of what a tool gave, with the step that tells so
	Denied string         `json:"denied,omitempty"` // a tool that the settings do not allow
	Used   delivery.Usage `json:"used,omitzero"`    // since the last time
	Wrong  string         `json:"wrong,omitempty"`  // with the settings, if that was asked
	Done   *Done          `json:"done,omitempty"`   // the last line
}

// Done is how the question ended.
type Done struct {
	Answered bool   `json:"answered"`          // Text is advice, if perhaps not all of it
	Text     string `json:"text,omitempty"`    // what the model said last
	Missing  string `json:"missing,omitempty"` // what is missing, or why there is no answer

	// What ended it, if that was the model's provider: its limit, or that it refuses the key.
	Limited    bool          `json:"limited,omitempty"`
	Refused    bool          `json:"refused,omitempty"`
	RetryAfter time.Duration `json:"retry_after,omitempty"`
}
