// Package reply is the form that the replies of the tools share: formats, what became of a file,
// failures, agent format, and texts cut to what a reply has room for.
package reply

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
)

// The formats of a reply.
const (
	FormatSummary = "summary"
	FormatFull    = "full"
	FormatReport  = "report" // of the harvest alone: Markdown
	FormatAgent   = "agent"
)

// Where the full result goes.
const (
	OutputInline = "inline"
	OutputFile   = "file" // a file beside the reply
)

// Disclaimer is what every result says of itself.
const Disclaimer = "Information, not tax or investment advice."

// MaxProblems is how many problems of the book a result names.
const MaxProblems = 20

// A Reply is what a tool answers, on success and on failure: a value that is one JSON object,
// in the format that was asked for.
type Reply struct {
	Body     any
	Failed   bool   // the body says why
	FilePath string // of the full result, where a file was asked for and written
}

// FileKeys say what became of the file, if one was asked for.
type FileKeys struct {
	FilePath  string `json:"file_path,omitempty"`
	FileError string `json:"file_error,omitempty"`
}

// A failure is the reply to what failed, outside agent format.
type failure struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	FileKeys
}

// maxFileError is how much of the reason an agent is told why there is no file.
const maxFileError = 160

// New makes the reply that all tools share: agent format, and what failed. Other formats are
// the tool's own.
func New[S agentformat.Snapshot[S]](format, status, why string, snapshot S, file agentformat.File, body func(FileKeys) any) Reply {
	r := Reply{Failed: status != agentformat.StatusSuccess}
	told := FileKeys{FilePath: file.Path}
	if file.Err != nil {
		told = FileKeys{FileError: file.Err.Error()}
		file.Err = errors.New(jsontext.Shorten(file.Err.Error(), maxFileError))
	}
	r.FilePath = told.FilePath
	switch {
	case format == FormatAgent:
		r.Body = agentformat.Respond(status, snapshot, file)
	case r.Failed:
		r.Body = failure{agentformat.StatusError, cmp.Or(why, "unknown error"), told}
	default:
		r.Body = body(told)
	}
	return r
}

// Check says what is wrong of the parameters that every reply depends on, given the formats that a
// tool has.
func Check(format, output string, formats ...string) error {
	outputs := []string{OutputInline, OutputFile}
	switch {
	case format != "" && !slices.Contains(formats, format):
		return fmt.Errorf("format is %s, not %.40q", Alternatives(formats), format)
	case output != "" && !slices.Contains(outputs, output):
		return fmt.Errorf("output is %s, not %.40q", Alternatives(outputs), output)
	}
	return nil
}
