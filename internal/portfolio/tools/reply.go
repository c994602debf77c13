package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/safetext"
)

// A Reply is what a tool answers, on success and on failure: a value that is one JSON object,
// in the format that was asked for.
type Reply struct {
	Body     any
	Failed   bool   // the body says why
	FilePath string // of the full result, where a file was asked for and written
}

// fileKeys say what became of the file, if one was asked for.
type fileKeys struct {
	FilePath  string `json:"file_path,omitempty"`
	FileError string `json:"file_error,omitempty"`
}

// A failure is the reply to what failed, outside agent format.
type failure struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	fileKeys
}

// maxFileError is how much of the reason an agent is told why there is no file.
const maxFileError = 160

// answer makes the reply that both tools share: agent format, and what failed. Other formats are
// the tool's own.
func answer[S agentformat.Snapshot[S]](format, status, why string, snapshot S, file agentformat.File, body func(fileKeys) any) Reply {
	reply := Reply{Failed: status != agentformat.StatusSuccess}
	told := fileKeys{FilePath: file.Path}
	if file.Err != nil {
		told = fileKeys{FileError: file.Err.Error()}
		file.Err = errors.New(shorten(file.Err.Error(), maxFileError))
	}
	reply.FilePath = told.FilePath
	switch {
	case format == FormatAgent:
		reply.Body = agentformat.Respond(status, snapshot, file)
	case reply.Failed:
		reply.Body = failure{agentformat.StatusError, cmp.Or(why, "unknown error"), told}
	default:
		reply.Body = body(told)
	}
	return reply
}

// Check says what of the parameters that every reply depends on is wrong.
func (p ExitParams) Check() error {
	return checkReply(p.Format, p.Output, FormatSummary, FormatFull, FormatAgent)
}

// Check says what of the parameters that every reply depends on is wrong.
func (p HarvestParams) Check() error {
	return checkReply(p.Format, p.Output, FormatFull, FormatSummary, FormatReport, FormatAgent)
}

func checkReply(format, output string, formats ...string) error {
	outputs := []string{OutputInline, OutputFile}
	switch {
	case format != "" && !slices.Contains(formats, format):
		return fmt.Errorf("format is %s, not %.40q", alternatives(formats), format)
	case output != "" && !slices.Contains(outputs, output):
		return fmt.Errorf("output is %s, not %.40q", alternatives(outputs), output)
	}
	return nil
}

// alternatives writes what is allowed: "a, b or c".
func alternatives(allowed []string) string {
	last := len(allowed) - 1
	return strings.Join(allowed[:last], ", ") + " or " + allowed[last]
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// shorten makes text from files safe to print, and cuts it so that JSON has it in at most so many
// bytes.
func shorten(s string, most int) string { return cutMiddle(s, most, 0) }

// shortTicker keeps both ends of a ticker, since long ones are often alike in the first.
func shortTicker(s string) string { return cutMiddle(s, maxTickerText, maxTickerTail) }

// cutMiddle is shorten, with so many of the bytes kept for the end of the text.
func cutMiddle(s string, most, tail int) string {
	if len(s) > 2*most { // neither escaping nor JSON makes text shorter
		s = s[:most] + s[len(s)-most:]
	}
	s = safetext.Escape(s)
	total := 0
	for _, r := range s {
		total += jsonBytes(r)
	}
	if total <= most {
		return s
	}
	head, size := 0, tail+len("…")
	for i, r := range s {
		if size += jsonBytes(r); size > most {
			head = i
			break
		}
	}
	end := len(s)
	for size = 0; end > head; {
		r, n := utf8.DecodeLastRuneInString(s[:end])
		if size += jsonBytes(r); size > tail {
			break
		}
		end -= n
	}
	return s[:head] + "…" + s[end:]
}

// jsonBytes is how long a printable character is in JSON, which may be escaped for HTML, too.
func jsonBytes(r rune) int {
	switch r {
	case '"', '\\':
		return len(`\"`)
	case '<', '>', '&':
		return len(`\u0026`)
	}
	return utf8.RuneLen(r)
}

// jsonLength is how long a value is in JSON. The numbers of a snapshot are all finite, so there is
// no value that JSON does not have.
func jsonLength(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(text)
}
