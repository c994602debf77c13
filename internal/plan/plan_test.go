package plan_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/signalbox-dev/signalbox/internal/plan"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata")

// TestGood reads each plan of testdata/good and compares the plan, written out
// again, and its drawing.
func TestGood(t *testing.T) {
	for _, name := range files(t, "testdata/good/*.txtar") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			a := archive(t, name)
			p, err := plan.Parse(part(t, a, "plan.md"))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, a, "markdown", p.Markdown())
			for _, width := range []int{80, 40} {
				golden(t, name, a, fmt.Sprintf("draw %d", width), p.Draw(width))
			}
			roundTrip(t, p)
			windows := "\ufeff" + strings.ReplaceAll(string(part(t, a, "plan.md")), "\n", "\r\n")
			same, err := plan.Parse([]byte(windows))
			if diff := cmp.Diff(p, same); diff != "" || err != nil {
				t.Errorf("with a byte order mark and CRLF (-without +with): %v\n%s", err, diff)
			}
		})
	}
}

// TestBad compares what is said about each plan of testdata/bad. Each file has
// plans with what is wrong behind them.
func TestBad(t *testing.T) {
	for _, name := range files(t, "testdata/bad/*.txtar") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			a := archive(t, name)
			for i := 0; i < len(a.Files); i++ {
				id, ok := strings.CutSuffix(a.Files[i].Name, ".md")
				if !ok {
					continue
				}
				_, err := plan.Parse(a.Files[i].Data)
				var errs *plan.Errors
				if !errors.As(err, &errs) {
					t.Errorf("%s: %v is no *plan.Errors", id, err)
					continue
				}
				golden(t, name, a, id+" errors", errs.Error()+"\n")
			}
		})
	}
}

func TestExample(t *testing.T) {
	text, err := os.ReadFile("testdata/example.md")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Tasks) != 5 || len(p.Checks) != 4 {
		t.Fatalf("%d tasks and %d checks", len(p.Tasks), len(p.Checks))
	}
	want := plan.Task{
		ID: "WC-4", Title: "Print the table", Phase: "2: The command",
		Work: "One row for each file, numbers to the right, and a row `total` if there is more\nthan one. `-l`, `-w` and `-c` choose the columns.",
		Criteria: []string{
			"the output for three files is compared with a golden file",
			"names with control characters are printed escaped",
		},
		BlockedBy: []string{"WC-2", "WC-3"}, Environment: "linux", Line: 66,
	}
	if diff := cmp.Diff(want, p.Tasks[3]); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
	check := plan.Check{Name: "format", Environment: "linux", Command: `test -z "$(gofmt -l . | head -1)"`}
	if diff := cmp.Diff(check, p.Checks[2]); diff != "" {
		t.Errorf("check (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"WC-1": 4, "WC-2": 2, "WC-3": 2, "WC-4": 1, "WC-5": 0}, p.Dependents()); diff != "" {
		t.Errorf("dependents (-want +got):\n%s", diff)
	}
	roundTrip(t, p)
	const drawings = "testdata/example.txtar"
	golden(t, drawings, archive(t, drawings), "draw 80", p.Draw(80))
}

// Text that is made to be slow is not: each of these would take minutes if it took
// the square of its size.
func TestLargest(t *testing.T) {
	fill := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < plan.MaxText-200; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	task := "#### Task A: b\nWork: c\n"
	var chain strings.Builder
	for i := range plan.MaxTasks - 1 {
		fmt.Fprintf(&chain, "#### Task %d: x\nWork: y\nBlocked By: %d\n", i, i+1)
	}
	last := fmt.Sprintf("#### Task %d: x\nWork: y\n", plan.MaxTasks-1)
	for _, c := range []struct {
		name, text string
		accepted   bool
	}{
		{"blockers", task + "Blocked By: " + fill("%x,"), false},
		{"one criterion", task + "Acceptance Criteria:\n- [ ]" + fill(" %x\n"), true},
		{"sections", task + fill("Environment: %x\n"), false},
		{"checks", task + "### Verification\n| Check | Environment | Command | Expected exit code |\n" + fill("|%x||x|0|\n"), true},
		{"markers", task + fill("- %.0d"), true},
		{"a chain of all tasks", chain.String() + last, true},
		{"a cycle of all tasks", chain.String() + last + "Blocked By: 0", false},
	} {
		p, err := plan.Parse([]byte(c.text))
		if c.accepted != (err == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		p.Draw(80)
		p.Dependents()
	}
}

func TestLimits(t *testing.T) {
	task := func(i int) string { return fmt.Sprintf("#### Task %d: x\nWork: y\n", i) }
	var most strings.Builder
	for i := range plan.MaxTasks {
		most.WriteString(task(i))
	}
	large := task(1) + strings.Repeat("a", plan.MaxText-len(task(1)))
	for _, c := range []struct{ name, text, want string }{
		{"as many tasks as there may be", most.String(), ""},
		{"a task more", most.String() + task(plan.MaxTasks), "line 20001: the plan has more than 10000 tasks: make two plans of it"},
		{"as large as it may be", large, ""},
		{"a byte more", large + "a", "the plan has 1048577 bytes of at most 1048576: make two plans of it"},
		{"not UTF-8", task(1) + "\xff", "line 3: the text is not UTF-8: save the plan as UTF-8"},
		{"as long an id as there may be", "#### Task " + strings.Repeat("a", 100) + ": x\nWork: y", ""},
		{"a long id", "#### Task " + strings.Repeat("a", 101) + ": x\nWork: y", `line 1: "` + strings.Repeat("a", 59) + `…" can't be an id: it has 101 bytes of at most 100`},
		{"a long title", "#### Task 1: " + strings.Repeat("a", 1025) + "\nWork: y", "line 1: the title of task 1 has 1025 bytes of at most 1024: put the rest into Work"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := plan.Parse([]byte(c.text))
			if got := fmt.Sprint(err); c.want != "" && got != c.want || c.want == "" && err != nil {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Errors are bounded, however much is wrong.
func TestManyErrors(t *testing.T) {
	_, err := plan.Parse([]byte(strings.Repeat("#### Task\n", 300)))
	var errs *plan.Errors
	if !errors.As(err, &errs) {
		t.Fatal(err)
	}
	// Each has no id and no Work, and all of them are counted.
	if len(errs.List) != 100 || errs.More != 500 || !strings.HasSuffix(err.Error(), "\n  and 500 more") {
		t.Errorf("%d errors and %d more: %.200s", len(errs.List), errs.More, err)
	}
}

func TestSentence(t *testing.T) {
	long := "Find out why the login test fails on Mondays, write down the reason, and mend it so that it stays mended"
	for _, c := range []struct{ sentence, title, work string }{
		{"fix the flaky login test", "fix the flaky login test", "fix the flaky login test"},
		{"  fix\tit \r\n now ", "fix it now", "fix\tit\n now"},
		{long, "Find out why the login test fails on Mondays, write down the reason…", long},
		{strings.Repeat("語", 50), strings.Repeat("語", 35) + "…", strings.Repeat("語", 50)},
		{"run this:\n```\n#### Task A: b\n```", "run this: ``` #### Task A: b ```", "run this:\n```\n#### Task A: b\n```"},
	} {
		p, err := plan.Sentence(c.sentence)
		if err != nil {
			t.Errorf("%q: %v", c.sentence, err)
			continue
		}
		want := plan.Plan{Tasks: []plan.Task{{ID: "T-1", Title: c.title, Work: c.work, Line: 1}}}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.sentence, diff)
		}
		roundTrip(t, p)
		if read, err := plan.Parse([]byte(p.Markdown())); err != nil || !read.IsSentence() {
			t.Errorf("%q is read as no sentence: %+v, %v", c.sentence, read, err)
		}
	}
	for _, s := range []string{
		"", " \n", "# Title", "---", "fix it\n\n#### Task A: b\nWork: c", "fix it\nBlocked By: T-2", "fix it\nBlocked by: T-2",
		"fix it\n```", "fix it\nEnvironment: linux", "fix it\nRequired Reading: a", "fix it\n### Verification", "fix it\n# Title",
		"fix it\n### Verification\n| Check | Environment | Command | Expected exit code |\n|---|---|---|---|\n| a | b | c | 0 |",
		"\xff", strings.Repeat("a", plan.MaxText),
	} {
		if p, err := plan.Sentence(s); !errors.Is(err, plan.ErrNoSentence) {
			t.Errorf("%.40q: %+v, %v", s, p, err)
		}
	}
}

// roundTrip checks that Parse gives back what Markdown writes.
func roundTrip(t *testing.T, p plan.Plan) {
	t.Helper()
	text := p.Markdown()
	back, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(withoutLines(p), withoutLines(back)); diff != "" {
		t.Fatalf("(-before +after):\n%s\n%s", diff, text)
	}
	if again := back.Markdown(); again != text {
		t.Fatalf("written again, it differs:\n%s", cmp.Diff(text, again))
	}
}

func withoutLines(p plan.Plan) plan.Plan {
	tasks := make([]plan.Task, len(p.Tasks))
	for i, t := range p.Tasks {
		t.Line = 0
		tasks[i] = t
	}
	p.Tasks = tasks
	return p
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return names
}

func archive(t *testing.T, name string) *txtar.Archive {
	t.Helper()
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func part(t *testing.T, a *txtar.Archive, name string) []byte {
	t.Helper()
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	t.Fatalf("there is no part %s", name)
	return nil
}

// golden compares a part of an archive, or rewrites it.
func golden(t *testing.T, name string, a *txtar.Archive, id, got string) {
	t.Helper()
	if !*update {
		if diff := cmp.Diff(string(part(t, a, id)), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
		return
	}
	set(a, id, got)
	if err := os.WriteFile(name, txtar.Format(a), 0o600); err != nil {
		t.Fatal(err)
	}
}

// set puts a part into the archive: errors behind their plan, others at the end.
func set(a *txtar.Archive, id, data string) {
	at := len(a.Files)
	for i, f := range a.Files {
		if f.Name == id {
			a.Files[i].Data = []byte(data)
			return
		}
		if f.Name == strings.TrimSuffix(id, " errors")+".md" {
			at = i + 1
		}
	}
	a.Files = append(a.Files[:at:at], append([]txtar.File{{Name: id, Data: []byte(data)}}, a.Files[at:]...)...)
}

// A plan that asks for more than a sentence can is none.
func TestIsSentence(t *testing.T) {
	for name, change := range map[string]func(*plan.Plan){
		"a title":        func(p *plan.Plan) { p.Title = "A plan" },
		"no task":        func(p *plan.Plan) { p.Tasks = nil },
		"two tasks":      func(p *plan.Plan) { p.Tasks = append(p.Tasks, plan.Task{ID: "T-2"}) },
		"another id":     func(p *plan.Plan) { p.Tasks[0].ID = "WC-1" },
		"a phase":        func(p *plan.Plan) { p.Tasks[0].Phase = "1: Groundwork" },
		"an environment": func(p *plan.Plan) { p.Tasks[0].Environment = "linux" },
		"criteria":       func(p *plan.Plan) { p.Tasks[0].Criteria = []string{"it is green"} },
		"a blocker":      func(p *plan.Plan) { p.Tasks[0].BlockedBy = []string{"T-2"} },
		"reading":        func(p *plan.Plan) { p.Tasks[0].Reading = []string{"README.md"} },
		"checks":         func(p *plan.Plan) { p.Checks = []plan.Check{{Name: "t", Command: "true"}} },
	} {
		p, err := plan.Sentence("fix the flaky login test")
		if err != nil || !p.IsSentence() {
			t.Fatalf("%+v, %v", p, err)
		}
		if change(&p); p.IsSentence() {
			t.Errorf("%s: %+v is a sentence", name, p)
		}
	}
}
