package rehearsal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/bt"
)

func act(name string) *bt.Node { return bt.Action(name, "any.function", nil) }

// rehearse runs a tree and returns what is written.
func rehearse(t *testing.T, tree bt.Tree, results string) (bt.Status, string) {
	t.Helper()
	r, err := Parse(results)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	tree.Name = "tree"
	o, err := Rehearse(tree, r, &out)
	if err != nil {
		t.Fatal(err)
	}
	return o.Status, out.String()
}

func TestRehearse(t *testing.T) {
	tree := bt.Tree{
		Blackboard: bt.Schema{"list": "list", "item": "any", "signal": "Signal"},
		Root: bt.Sequence(
			bt.Action("find", "deep.down.find", bt.Args{"depth": 3}),
			bt.ForEach("list", "item", bt.Action("use", "deep.down.find", bt.Args{"width": 3})),
			bt.AskModel("", bt.LLMCall{Prompt: []string{"list"}}),
			bt.AlwaysSucceed(bt.CallTool("odd: name", bt.ToolCall{Tool: "any"})),
			bt.RunScript("script", bt.Script{Source: "not even Lua"}),
		),
	}
	status, got := rehearse(t, tree, `
# The tree finds, uses, asks.
find:   running success {"list": [1, 2.0], "signal": "any"} global {"item": {"k": [1e3, true, null]}}
llm_call: temporary success
"odd: name": panic
otherwise: success`)
	const want = `tick 1 at 0s
  sequence RUNNING
    action find RUNNING
tick 2 at 1s
  sequence RUNNING 1s
    action find SUCCESS 1s
    for_each SUCCESS
      action use SUCCESS
      action use SUCCESS
    llm_call RUNNING: again in 2s
tick 3 at 3s
  sequence SUCCESS 3s
    llm_call SUCCESS 2s
    always_succeed SUCCESS
      tool odd: name FAILURE: it panicked: as the results say
    script script SUCCESS
SUCCESS after 3 ticks
`
	if d := cmp.Diff(want, got); d != "" || status != bt.Success {
		t.Errorf("%v (-want +got):\n%s", status, d)
	}
	if _, again := rehearse(t, tree, ""); !strings.HasSuffix(again, "FAILURE after 1 tick\n") { // nobody sets the list
		t.Error(again)
	}
}

func TestEndings(t *testing.T) {
	for _, c := range []struct {
		what    string
		root    *bt.Node
		results string
		want    bt.Status
		end     string
	}{
		{"it stalls", act("a"), "a: running", bt.Failure, "FAILURE after 61 ticks: nothing has moved in the tree for 60 seconds"},
		{"it has no end", bt.Repeat(0, bt.Failure, act("a")), "", bt.Failure, "FAILURE after 1000 ticks: the tree was ticked 1000 times without an end"},
		{"it ends with the last of them", bt.Repeat(1000, bt.Fresh, act("a")), "", bt.Success, "SUCCESS after 1000 ticks"},
		{"it is not ticked to its end", act("a"), "a: running\nticks: 0s 10s", bt.Running, "RUNNING after 2 ticks"},
		{"it is ticked after its end", act("a"), "a: success failure\nticks: 0s 0s", bt.Failure, "FAILURE after 2 ticks"},
		{"it stalls between two ticks", act("a"), "a: running\nticks: 0s 61s 62s", bt.Failure, "FAILURE after 2 ticks: nothing has moved in the tree for 60 seconds"},
		{"others fail", bt.Sequence(act("a"), act("b")), "a: success\notherwise: failure", bt.Failure, "FAILURE after 1 tick"},
		{"an attempt that is given up does not wait", bt.AskModel("a", bt.LLMCall{Timeout: time.Second, Retries: 1}), "a: running", bt.Failure, "FAILURE after 4 ticks"},
	} {
		status, got := rehearse(t, bt.Tree{Root: c.root}, c.results)
		lines := strings.Split(strings.TrimSpace(got), "\n")
		if last := lines[len(lines)-1]; status != c.want || last != c.end {
			t.Errorf("%s: %v, %q", c.what, status, last)
		}
	}
}

func TestWarningsAreEscaped(t *testing.T) {
	_, got := rehearse(t, bt.Tree{Root: act("a")}, `a: success {"\u001b[31m\n": 1}`)
	if first, _, _ := strings.Cut(got, "\n"); !strings.HasPrefix(first, "warning: tree/a uses the key") || strings.ContainsAny(got, "\x1b") {
		t.Errorf("%q", got)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a", "results, line 1: it needs a leaf's name, a colon, and what the leaf answers: success, failure, running, panic or temporary"},
		{": success", "results, line 1: it needs a leaf's name, a colon, and what the leaf answers: success, failure, running, panic or temporary"},
		{`"a" success`, "results, line 1: it needs a leaf's name, a colon, and what the leaf answers: success, failure, running, panic or temporary"},
		{`"a: success`, "results, line 1: the name is no JSON string: unexpected EOF"},
		{"# fine\n\na:", "results, line 3: there is no result: success, failure, running, panic or temporary"},
		{"a: sucess", `results, line 1: "sucess" is no result: success, failure, running, panic or temporary`},
		{"a: \x1b[31m", `results, line 1: "\x1b[31m" is no result: success, failure, running, panic or temporary`},
		{`a: {"k": 1}`, "results, line 1: keys follow the result that they come with"},
		{`a: success {"k": }`, "results, line 1: the keys and values are no JSON object: invalid character '}' looking for beginning of value"},
		{`a: success {"k": 1`, "results, line 1: the keys and values are no JSON object: it does not end on this line"},
		{`a: success {"k": 1e999}`, `results, line 1: 1e999 is no number that can be kept`},
		{"a: success global", `results, line 1: after global come keys and values, such as {"found": true}`},
		{"a: success global success", `results, line 1: after global come keys and values, such as {"found": true}`},
		{"a: success spent", `results, line 1: after spent comes what was used, such as {"tokens": 100, "money": 0.25}`},
		{`a: success spent {"time": 1}`, `results, line 1: what was spent is tokens and money, and not "time"`},
		{`a: success spent {"tokens": 1.5}`, `results, line 1: tokens is a number from 0 to 1000000000, and tokens are whole`},
		{`a: success spent {"money": -1}`, `results, line 1: money is a number from 0 to 1000000000, and tokens are whole`},
		{"a: success\nb: success\na: failure", `results, line 3: "a" has results in line 1 already: write all of them there`},
		{"otherwise: success\notherwise: failure", "results, line 2: there is a second line otherwise"},
		{"ticks: 0s\nticks: 1s", "results, line 2: there is a second line of ticks"},
		{"ticks:", "results, line 1: there are 0 ticks: it takes at least one, and at most 1000"},
		{"ticks: 1s 0.5s", "results, line 1: 500ms is before the tick that precedes it"},
		{"ticks: -1s", "results, line 1: -1s is before the tick that precedes it"},
		{"ticks: 1", `results, line 1: "1" is no time: write 0s, 1.5s or 2m`},
	} {
		_, err := Parse(c.text)
		var wrong *Error
		if !errors.As(err, &wrong) || err.Error() != c.want {
			t.Errorf("%q: %v", c.text, err)
		}
	}
	for _, text := range []string{"", "# nothing", "\"ticks\": success\n\"otherwise\": success", "a:success{\"k\":1}failure\r\n", "ticks: 0s 0s"} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestResultsForNobody(t *testing.T) {
	tree := bt.Tree{Name: "tree", Root: bt.Sequence(act("fetch"), bt.AskModel("ask", bt.LLMCall{}))}
	r, err := Parse("fetch: temporary\nask: temporary\nfecth: success")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Rehearse(tree, r, &bytes.Buffer{})
	const want = `results, line 1: temporary is for an llm_call, and "fetch" is none
results, line 3: there is no leaf "fecth": there is "ask", "fetch"`
	if err == nil || err.Error() != want {
		t.Error(err)
	}
}

func TestBadTree(t *testing.T) {
	_, err := Rehearse(bt.Tree{Name: "tree", Root: bt.Timeout(0, act("a"))}, Results{}, &bytes.Buffer{})
	if problem := (bt.Problem{}); !errors.As(err, &problem) {
		t.Error(err)
	}
}

func TestFullDisk(t *testing.T) {
	full := errors.New("full")
	if _, err := Rehearse(bt.Tree{Name: "tree", Root: act("a")}, Results{}, failing{full}); !errors.Is(err, full) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// FuzzParse reads results that nobody would write, and rehearses a tree with them.
func FuzzParse(f *testing.F) {
	f.Add("a: running success {\"k\": [1, {\"x\": null}]} global {\"g\": 1}\nb: temporary\notherwise: failure\nticks: 0s 1h")
	f.Add("\"a\": panic failure\n# x\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		tree := bt.Tree{Name: "tree", Blackboard: bt.Schema{"k": "list", "g": "any"},
			Root: bt.Parallel(1, bt.Retry(2, time.Second, act("a")), bt.ForEach("k", "g", bt.AskModel("b", bt.LLMCall{})))}
		var out bytes.Buffer
		if _, err := Rehearse(tree, r, &out); err == nil && strings.ContainsAny(out.String(), "\x1b\r") {
			t.Errorf("%q", out.String())
		}
	})
}
