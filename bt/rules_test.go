package bt

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func act(name string) *Node  { return Action(name, "leaf", nil) }
func cond(name string) *Node { return Condition(name, "leaf", nil) }
func ask(name string) *Node  { return AskModel(name, LLMCall{}) }

// cast has leaves that answer by letters: S, F and R are statuses, P is a panic, T a
// failure that may pass; the last one holds from there on. It keeps who was asked, and,
// after a ~, who was given up.
type cast struct {
	answers map[string]string
	asked   strings.Builder
}

func newCast(answers string) *cast {
	c := &cast{answers: map[string]string{}}
	for _, field := range strings.Fields(answers) {
		leaf, letters, _ := strings.Cut(field, "=")
		c.answers[leaf] = letters
	}
	return c
}

func (c *cast) library() Library {
	return library(c.answer, func() {}, func(leaf string) { c.asked.WriteString("~" + leaf) })
}

func (c *cast) answer(leaf string) answer {
	c.asked.WriteString(leaf)
	letters := c.answers[leaf]
	if letters == "" {
		return answer{status: Success}
	}
	if len(letters) > 1 {
		c.answers[leaf] = letters[1:]
	}
	return map[byte]answer{'S': {status: Success}, 'F': {status: Failure}, 'R': {status: Running},
		'P': {panics: true}, 'T': {status: Failure, temporary: true}}[letters[0]]
}

// start compiles a tree of which nothing is known but its root, and starts a run of it.
func (c *cast) start(t *testing.T, root *Node, o Options) *Run {
	t.Helper()
	return begin(t, Tree{Name: "tree", Root: root}, c.library(), o)
}

func begin(t *testing.T, tree Tree, l Library, o Options) *Run {
	t.Helper()
	program, err := Compile(tree, l)
	if err != nil {
		t.Fatal(err)
	}
	run := program.Start(o)
	t.Cleanup(run.Close)
	return run
}

// at is a time of a run, in seconds.
func at(seconds string) time.Time {
	s, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		panic(err)
	}
	return time.Unix(1_000_000, 0).Add(time.Duration(s * float64(time.Second)))
}

// TestRules has a row for each rule: what leaves answer, the seconds of the ticks, the
// tree's status after each, and who was asked and given up.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule    string
		root    *Node
		answers string
		ticks   string
		want    string
		asked   string
	}{
		{"an empty sequence succeeds", Sequence(), "", "0", "S", ""},
		{"a sequence ends at the first failure", Sequence(act("a"), act("b"), act("c")), "b=F", "0", "F", "ab"},
		{"a sequence resumes at the child that is RUNNING", Sequence(act("a"), act("b"), act("c")), "b=RS", "0 1", "RS", "abbc"},
		{"an empty selector fails", Selector(), "", "0", "F", ""},
		{"a selector ends at the first success", Selector(act("a"), act("b"), act("c")), "a=F", "0", "S", "ab"},
		{"a selector resumes at the child that is RUNNING", Selector(act("a"), act("b"), act("c")), "a=F b=RF", "0 1", "RS", "abbc"},
		{"a tree that has ended begins anew", Sequence(act("a"), act("b")), "b=FS", "0 1", "FS", "abab"},
		{"a sequence that is left is begun anew", Retry(1, 0, Sequence(act("a"), act("b"))), "b=FS", "0 0", "RS", "abab"},

		{"a reactive sequence asks from the first on", ReactiveSequence(cond("a"), act("b"), act("c")), "c=RRS", "0 1 2", "RRS", "abcabcabc"},
		{"a reactive sequence: what fails gives up what is RUNNING behind it", ReactiveSequence(cond("a"), act("b")), "a=SF b=R", "0 1", "RF", "aba~b"},
		{"a reactive sequence: what is RUNNING gives up what is RUNNING behind it", ReactiveSequence(act("a"), act("b")), "a=SRS b=RS", "0 1 2", "RRS", "aba~bab"},
		{"a reactive sequence resumes at a child that is RUNNING itself", ReactiveSequence(cond("a"), Sequence(act("b"), act("c"))), "c=RS", "0 1", "RS", "abcac"},
		{"a reactive selector asks from the first on", ReactiveSelector(cond("a"), act("b")), "a=F b=RS", "0 1", "RS", "abab"},
		{"a reactive selector: what succeeds gives up what is RUNNING behind it", ReactiveSelector(cond("a"), act("b"), act("c")), "a=FS b=F c=R", "0 1", "RS", "abca~c"},
		{"an empty reactive sequence succeeds", ReactiveSequence(), "", "0", "S", ""},
		{"an empty reactive selector fails", ReactiveSelector(), "", "0", "F", ""},
		{"a budget of time lets its child answer a last time", WithBudget(Budget{Time: 2 * time.Second}, act("a")), "a=RRS", "0 1 2", "RRS", "aaa"},
		{"a budget of time fails what is RUNNING for too long", WithBudget(Budget{Time: 2 * time.Second}, act("a")), "a=R", "0 1.9 2", "RRF", "aaa~a"},

		{"an empty parallel succeeds", Parallel(0), "", "0", "S", ""},
		{"a parallel's children that finished stay so", Parallel(0, act("a"), act("b")), "a=RRS", "0 1 2", "RRS", "abaa"},
		{"all: one that fails decides, the others are given up", Parallel(0, act("a"), act("b"), act("c")), "a=R b=F", "0", "F", "abc~a"},
		{"one: one that succeeds decides", Parallel(1, act("a"), act("b")), "a=R", "0", "S", "ab~a"},
		{"one: it fails when all have", Parallel(1, act("a"), act("b")), "a=F b=RF", "0 1", "RF", "abb"},
		{"n: enough have succeeded", Parallel(2, act("a"), act("b"), act("c")), "b=R", "0", "S", "abc~b"},
		{"n: it fails when enough can't succeed any more", Parallel(2, act("a"), act("b"), act("c")), "a=F b=F c=R", "0", "F", "abc~c"},
		{"n: as long as enough still can it is RUNNING", Parallel(2, act("a"), act("b"), act("c")), "a=F b=R c=R", "0", "R", "abc"},
		{"a parallel is begun anew", Repeat(2, Fresh, Parallel(0, act("a"), act("b"))), "", "0 0", "RS", "abab"},
		{"what is given up below is given up once", Parallel(1, Sequence(act("a"), Parallel(0, act("b"), act("c"))), act("d")), "b=R c=R d=RS", "0 1", "RS", "abcdbcd~b~c"},

		{"a timeout lets pass what is in time", Timeout(2*time.Second, act("a")), "a=RS", "0 1.9", "RS", "aa"},
		{"a timeout lets its child answer a last time", Timeout(2*time.Second, act("a")), "a=RS", "0 2", "RS", "aa"},
		{"a timeout fails what is RUNNING for too long", Timeout(2*time.Second, act("a")), "a=R", "0 1.9 2", "RRF", "aaa~a"},
		{"a timeout counts anew when it begins anew", Timeout(2*time.Second, act("a")), "a=R", "0 2 3 4.9 5", "RFRRF", "aa~aaaa~a"},
		{"a timeout counts from its own first tick", Sequence(act("a"), Timeout(2*time.Second, act("b"))), "a=RS b=R", "0 5 6.9 7", "RRRF", "aabbb~b"},

		{"retry: N retries are N+1 attempts", Retry(2, 0, act("a")), "a=F", "0 0 0", "RRF", "aaa"},
		{"retry: no retries, one attempt", Retry(0, 0, act("a")), "a=F", "0", "F", "a"},
		{"retry ends with the first success", Retry(2, 0, act("a")), "a=FS", "0 0", "RS", "aa"},
		{"retry lets RUNNING pass", Retry(1, 0, act("a")), "a=RFRS", "0 1 2 3", "RRRS", "aaaa"},
		{"retry pauses, each time twice as long", Retry(3, time.Second, act("a")), "a=F", "0 0.9 1 2.9 3 6.9 7", "RRRRRRF", "aaaa"},
		{"retry counts anew when it begins anew", Retry(1, 0, act("a")), "a=F", "0 0 1 1", "RFRF", "aaaa"},

		{"a guard whose condition fails asks nothing else", Guard(cond("a"), act("b")), "a=F", "0", "F", "a"},
		{"a guard's condition is asked at each tick", Guard(cond("a"), act("b")), "b=RRS", "0 1 2", "RRS", "ababab"},
		{"a guard gives its child up", Guard(cond("a"), act("b")), "a=SF b=R", "0 1", "RF", "aba~b"},
		{"a guard's conditions are asked from the first on", Guard(Selector(Inverter(cond("a")), cond("b")), act("c")), "c=RS", "0 1", "RS", "abcabc"},
		{"a guard's condition that is RUNNING fails", Guard(cond("a"), act("b")), "a=R", "0", "F", "a"},

		{"a cooldown fails until its time is over", Cooldown(5*time.Second, act("a")), "", "0 1 4.9 5", "SFFS", "aa"},
		{"a cooldown follows a failure too", Cooldown(5*time.Second, act("a")), "a=F", "0 1 5", "FFF", "aa"},
		{"a cooldown counts from the end of its child", Cooldown(5*time.Second, act("a")), "a=RS", "0 6 10 11", "RSFS", "aaa"},
		{"a child that was given up does not cool down", Timeout(time.Second, Cooldown(5*time.Second, act("a"))), "a=RRS", "0 1 2", "RFS", "aa~aa"},

		{"an inverter", Inverter(act("a")), "a=RSF", "0 1 2", "RFS", "aaa"},
		{"always_succeed", AlwaysSucceed(act("a")), "a=RSF", "0 1 2", "RSS", "aaa"},
		{"always_fail", AlwaysFail(act("a")), "a=RSF", "0 1 2", "RFF", "aaa"},

		{"repeat: so many times, each a tick", Repeat(3, Fresh, act("a")), "", "0 0 0", "RRS", "aaa"},
		{"repeat: a failure fails it", Repeat(3, Fresh, act("a")), "a=SF", "0 0", "RF", "aa"},
		{"repeat: RUNNING passes, and is no round", Repeat(2, Fresh, act("a")), "a=RSRS", "0 1 2 3", "RRRS", "aaaa"},
		{"repeat: without end until it fails", Repeat(0, Fresh, act("a")), "a=SSSF", "0 0 0 0", "RRRF", "aaaa"},
		{"repeat: until it succeeds", Repeat(0, Success, act("a")), "a=FFS", "0 0 0", "RRS", "aaa"},
		{"repeat: until it fails", Repeat(0, Failure, act("a")), "a=SSF", "0 0 0", "RRS", "aaa"},
		{"repeat: until it succeeds, but it never does", Repeat(2, Success, act("a")), "a=F", "0 0", "RF", "aa"},
		{"repeat: until it fails, but it never does", Repeat(2, Failure, act("a")), "", "0 0", "RF", "aa"},

		{"a condition is never RUNNING", cond("a"), "a=R", "0", "F", "a"},
		{"a panic is a failure", Selector(act("a"), act("b")), "a=P", "0", "S", "ab"},

		{"llm_call: what may pass is tried 3 times more, after 2, 4 and 8 s", ask("a"), "a=T", "0 1.9 2 5.9 6 13.9 14", "RRRRRRF", "aaaa"},
		{"llm_call: what may pass did", ask("a"), "a=TTS", "0 2 6", "RRS", "aaa"},
		{"llm_call: what does not pass is not tried again", ask("a"), "a=F", "0", "F", "a"},
		{"llm_call: a panic is not tried again", ask("a"), "a=P", "0", "F", "a"},
		{"llm_call: retries as it says", AskModel("a", LLMCall{Retries: 1, Backoff: time.Second}), "a=T", "0 1", "RF", "aa"},
		{"llm_call: no retries", AskModel("a", LLMCall{Retries: -1}), "a=T", "0", "F", "a"},
		{"llm_call: an attempt out of time is given up, and tried again", AskModel("a", LLMCall{Timeout: 5 * time.Second, Retries: 1}), "a=RRR", "0 4.9 5 7 11.9 12", "RRRRRF", "aaa~aaaa~a"},
		{"llm_call: an attempt's time begins with the attempt", AskModel("a", LLMCall{Timeout: 5 * time.Second, Retries: 1}), "a=TR", "0 20 24.9 25", "RRRF", "aaaa~a"},
		{"llm_call: in a pause there is nothing to give up", Timeout(time.Second, ask("a")), "a=T", "0 1", "RF", "a"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			cast := newCast(c.answers)
			run := cast.start(t, c.root, Options{})
			got := ""
			for _, tick := range strings.Fields(c.ticks) {
				status, err := run.Tick(t.Context(), at(tick))
				if err != nil {
					t.Fatal(err)
				}
				got += status.String()[:1]
			}
			if got != c.want {
				t.Errorf("the tree was %s, not %s", got, c.want)
			}
			if d := cmp.Diff(c.asked, cast.asked.String()); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
		})
	}
}

// TestDue has the seconds at which ticks are due that nothing wakes.
func TestDue(t *testing.T) {
	const watch = "30"
	for _, c := range []struct {
		what    string
		root    *Node
		answers string
		ticks   string
		due     string
	}{
		{"a leaf alone is due when it may have stalled", act("a"), "a=R", "0 1", watch + " " + watch},
		{"a timeout is due at its end", Timeout(10*time.Second, act("a")), "a=R", "0 3", "10 10"},
		{"the nearest end counts", Timeout(10*time.Second, Timeout(4*time.Second, act("a"))), "a=R", "0", "4"},
		{"a retry without a pause is due at once", Retry(1, 0, act("a")), "a=F", "3", "3"},
		{"a retry is due after its pause", Retry(3, time.Second, act("a")), "a=F", "0 1 3", "1 3 7"},
		{"a round is due at once", Repeat(2, Fresh, act("a")), "", "5", "5"},
		{"an attempt is due at its end", AskModel("a", LLMCall{Timeout: 10 * time.Second}), "a=R", "0", "10"},
		{"a model is due after a pause", ask("a"), "a=T", "0 2 6", "2 6 14"},
	} {
		t.Run(c.what, func(t *testing.T) {
			run := newCast(c.answers).start(t, c.root, Options{})
			dues := strings.Fields(c.due)
			for i, tick := range strings.Fields(c.ticks) {
				if status, err := run.Tick(t.Context(), at(tick)); status != Running || err != nil {
					t.Fatal(status, err)
				}
				if got, ok := run.Due(); !ok || !got.Equal(at(dues[i])) {
					t.Errorf("after %s s the next tick is due in %v", tick, got.Sub(at(tick)))
				}
			}
		})
	}
}
