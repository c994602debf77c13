package modeltest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

func TestParseErrors(t *testing.T) {
	const begun = "== a\nasked: x\n"
	for _, c := range []struct{ text, want string }{
		{"", `s:1: no conversation: one begins with == and a name`},
		{"# only\n", `s:1: no conversation: one begins with == and a name`},
		{"says: x\n", `s:1: "says": outside a conversation: one begins with == and a name`},
		{"  says: x\n", `s:1: an indented line continues a line such as says:, and there is none`},
		{"# c\n  x\n", `s:1: an indented line continues a line such as says:, and there is none`},
		{"== a\n", `s:2: the conversation above has no asked: line`},
		{"==\n", `s:1: a conversation needs a name of its own, not ""`},
		{"== a\n  x\n", `s:1: a conversation's name is one line`},
		{begun + "says: y\n== a\n", `s:4: a conversation needs a name of its own, not "a"`},
		{begun, `s:3: the turn above has no reply: after asked: something must follow`},
		{begun + "== b\n", `s:3: the turn above has no reply: after asked: something must follow`},
		{"== a\nsays: x\n", `s:2: a conversation begins with asked:, not "says:"`},
		{"== a\nasked: (\n", "s:2: not a regular expression: error parsing regexp: missing closing ): `(?m)(`"},
		{"== a\nasked: x\n  y\n", `s:2: asked: is one line`},
		{begun + "hello\n", `s:3: "hello" is neither a comment (#), a conversation (==) nor a verb with a colon`},
		{begun + "\x1b[2J: x\n", `s:3: no verb "\x1b[2J"; there are asked, says, thinks, floods, runs, writes, reads, calls, result, until, waits, usage, pieces, breaks, stalls, fails, limits, times`},
		{begun + "says:\n", `s:3: says: needs text, on its line or indented below`},
		{begun + "writes:\n  x\n", `s:3: writes: needs a path; what is written is indented below`},
		{begun + "reads:\n", `s:3: reads: needs a path`},
		{begun + "reads: x\n  y\n", `s:3: "reads": is one line`},
		{begun + "waits:\n", `s:3: waits: needs a name, for Server.Release`},
		{begun + "calls: x\n", `s:3: calls: needs a tool's name and its arguments as a JSON object`},
		{begun + "calls: x [1]\n", `s:3: calls: needs a tool's name and its arguments as a JSON object`},
		{begun + "result: x\n", `s:3: result: must follow a call (runs:, writes:, reads: or calls:)`},
		{begun + "says: x\nresult: y\n", `s:4: result: must follow a call (runs:, writes:, reads: or calls:)`},
		{begun + "runs: x\nresult: y\n", `s:5: after result: or until: a reply must follow`},
		{begun + "runs: x\nresult: y\nasked: z\n", `s:5: after result: or until: a reply must follow`},
		{begun + "usage: 1 in\n", `s:3: usage: must follow the reply that it is about`},
		{begun + "says: x\nusage: many\n", `s:4: usage: reads like 120 in, 100 cached, 34 out; not "many"`},
		{begun + "says: x\nusage: 1 up\n", `s:4: usage: has in, cached and out, not "up"`},
		{begun + "says: x\nusage: 1 in, 2 cached\n", `s:4: usage: cached tokens are part of those that went in, so there can't be more of them`},
		{begun + "says: x\npieces: 0\n", `s:4: pieces: needs a number from 1 on, not "0"`},
		{begun + "says: x\ntimes: 2\n", `s:4: times: must follow trouble (breaks:, stalls:, fails: or limits:)`},
		{begun + "breaks: now\n", `s:3: breaks: stands alone, without "now"`},
		{begun + "fails: 200\n", `s:3: fails: needs a status from 400 to 599, not "200"`},
		{begun + "fails: 500\n  body\n", `s:3: fails: below it are headers, then an empty line and a body; "body" is no header`},
		{begun + "says: x\nfails: 500\n", `s:4: fails: can't come after what is said: the status is sent first. breaks: cuts a reply`},
		{begun + "limits: soon\n", `s:3: limits: needs a duration such as 90m or a time such as 2030-01-02T15:04:05Z, not "soon"`},
		{begun + "floods: 65MiB\n", `s:3: floods: needs a size from 1KiB to 64MiB, not "65MiB"`},
		{begun + "floods: 1B\n", `s:3: floods: needs a size from 1KiB to 64MiB, not "1B"`},
	} {
		_, err := modeltest.Parse("s", c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// Any text is a script or gets an error that names a line of it.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		f.Fatalf("no scripts in testdata: %v", err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	f.Add("== a\nasked: x\nruns: y\nfails: 500\n\ttimes: 1\n \tx\n")
	f.Add("== a\nasked: \x99\r\xa6\n")
	line := regexp.MustCompile(`^s:[1-9][0-9]*: \S`)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := modeltest.Parse("s", text)
		if err != nil && (!line.MatchString(err.Error()) || strings.ContainsAny(err.Error(), "\x1b\r")) {
			t.Errorf("the error is %q", err)
		}
	})
}
