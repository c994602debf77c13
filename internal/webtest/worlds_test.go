//go:build unix

package webtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// views returns the addresses of all views, below the page.
func views(t *testing.T) (all []string) {
	t.Helper()
	for _, line := range lines(t, "views.txt") {
		if !strings.HasPrefix(line, "#") {
			all = append(all, strings.TrimPrefix(line, "./"))
		}
	}
	return all
}

// hostileStrings are what a browser, a terminal or a template might act upon.
func hostileStrings(t *testing.T) (all []string) {
	t.Helper()
	for _, line := range lines(t, "hostile.txt") {
		s, err := strconv.Unquote(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, s)
	}
	return append(all, strings.Repeat("overlong", 100))
}

func lines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "web", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// worlds are what the page is looked at in. R1 is the run that matters, and T-1 its task.
var worlds = map[string]func(*testing.T) *world{
	"fresh":    func(t *testing.T) *world { t.Helper(); return newWorld(t) },
	"busy":     busyWorld,
	"waiting":  waitingWorld,
	"failed":   failedWorld,
	"finished": finishedWorld,
	"huge":     hugeWorld,
	"hostile":  hostileWorld,
	"runners":  runnersWorld,
}

// shop are tasks as somebody might plan them.
var shop = []string{
	"T-1: Keep prices as whole cents", "T-2: Show the sum in the cart", "T-3: Ask before an order is cancelled", "T-4: Import products from CSV",
	"T-5: Send a receipt by mail", "T-6: Count what is in stock [T-4]", "T-7: Search by name and number", "T-8: Round sums as the law says [T-1]",
	"T-9: Offer vouchers", "T-10: Let a person change their address", "T-11: Keep a log of refunds", "T-12: Load the list in parts",
	"T-13: Warn when stock is low [T-6]", "T-14: Export orders for the accountant", "T-15: Mend the menu on small screens", "T-16: Write down how to release [T-14]",
}

// saying is what agents print while they work.
var saying = []string{
	"Reading cart.go, and who calls Sum", "go test ./... : 41 passed", "Two rows have no price: looking how the others are read", "Writing TestCancelAfterPayment",
	"The template has no place for the tax", "Searching for where the address is kept", "go vet ./... : clean", "Committing: refunds are written down before they are paid",
}

// busyWorld has twelve agents at work.
func busyWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "limits: {agents: 12}")
	for i := range shop {
		w.script(fmt.Sprintf("T-%d", i+1), "echo '"+saying[i%len(saying)]+"'\nwhile :; do sleep 1; done\n")
	}
	w.deliver("A shop that counts right", shop...)
	w.agents(12)
	return w
}

// waitingWorld waits for three answers and a review, and has three agents at work.
func waitingWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "limits: {agents: 8}", "checks: [{name: tests, command: 'echo ok; test -s shop/price.go || test ! -e shop'}]")
	w.script("T-1", writes("shop/price.go", "package shop\n\n// Price is what something costs, in cents.\ntype Price int64\n\n// Sum adds prices.\nfunc Sum(all ...Price) (sum Price) {\n\tfor _, p := range all {\n\t\tsum += p\n\t}\n\treturn sum\n}", "prices are whole cents; Sum adds them without a float"))
	w.script("T-2", asks("Does the sum have the tax in it? The plan says nothing of that."))
	w.script("T-3", asks("Which orders can still be cancelled: those not paid, or those not sent?"))
	w.script("T-4", asks("The CSV has two columns for the price. Which of them counts?"))
	w.script("T-5", works)
	w.script("T-7", works)
	w.script("T-9", works)
	w.deliver("A shop that counts right", shop[:9]...)
	w.until("three questions", func() (bool, error) { return len(w.waits("question")) == 3, nil })
	w.until("a review", func() (bool, error) { return len(w.waits("review")) == 1, nil })
	w.agents(3)
	return w
}

// finishedWorld has delivered a plan.
func finishedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.deliver("A shop that counts right", shop[0], shop[1], shop[8])
	w.accept("R1")
	return w
}

// failedWorld has a run whose first task did not pass the gate three times, and was given up; and one that was delivered before.
func failedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "checks: [{name: tests, command: 'test ! -e broken || { echo FAIL: TestSum: got 0.30000000000000004; exit 1; }'}]")
	w.script("T-1", "date +%N >>broken\n"+writes("shop.go", "package shop", "prices are whole cents"))
	w.script("T-2", works)
	w.deliver("A shop that counts right", shop[0], shop[1], shop[7])
	w.until("a question about what does not pass", func() (bool, error) { return len(w.waits("question")) > 0, nil })
	if _, err := w.client.CancelRun(t.Context(), "R1", api.Message{Text: "it was planned wrong"}); err != nil {
		t.Fatal(err)
	}
	w.accept("R1")
	return w
}

// hugeWorld has a run of a thousand tasks, of which the first one asks something.
func hugeWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "limits: {agents: 1}")
	w.script("T-1", asks("May I begin?"))
	tasks := []string{"T-1: The first of all, for which the others wait"}
	for i := range 999 {
		tasks = append(tasks, fmt.Sprintf("T-%d: One of many tasks, which has number %d [T-1]", i+2, i+2))
	}
	w.deliver("A plan of a thousand tasks", tasks...)
	w.until("a question", func() (bool, error) { return len(w.waits("question")) == 1, nil })
	return w
}

// works is what an agent does that has enough to do.
const works = "echo 'Reading the sources, and what was asked'\nwhile :; do sleep 1; done\n"

// asks is what an agent does that has a question.
func asks(question string) string {
	return "cat <<EOF\nSEEKING_DIVINE_CLARIFICATION $run\nQuestion: " + question + "\nEOF\n"
}

// writes is what an agent does that writes something and hands it over.
func writes(file, text, summary string) string {
	return fmt.Sprintf("mkdir -p \"$(dirname %[1]s)\"\ncat >>%[1]s <<'EOF'\n%[2]s\nEOF\ngit add -A && git commit --allow-empty -qm \"$SIGNALBOX_TASK\"\necho \"READY_FOR_REVIEW: $SIGNALBOX_TASK $run\"\ncat <<'EOF'\nSummary: %[3]s\nEOF\n", file, text, summary)
}

// accept accepts what waits for a review, as whoever may, until nothing more does and the run is over.
func (w *world) accept(run string) {
	w.t.Helper()
	w.until(run+" over", func() (bool, error) {
		for _, q := range w.waits("review") {
			if s, err := w.client.Sight(w.t.Context(), q.Work); err == nil {
				_, _ = w.client.Review(w.t.Context(), q.Work, api.Verdict{Accept: true, Role: s.Role, Commit: s.Commit, Tree: s.Tree, Base: s.Base}) // the next look finds what came of it
			}
		}
		r, err := w.client.Run(w.t.Context(), run)
		return r.State == api.RunFinished, err
	})
}

// agents waits until so many agents are at work on R1, and have said something.
func (w *world) agents(n int) {
	w.t.Helper()
	w.until(fmt.Sprintf("%d agents at work", n), func() (bool, error) {
		r, err := w.client.Run(w.t.Context(), "R1")
		said := 0
		for _, t := range r.Tasks {
			if t.Agent != nil && t.Agent.Says != "" {
				said++
			}
		}
		return said >= n, err
	})
}

// hostileWorld is one in which titles, questions, output, file names, the diff, what is claimed and what was found, and the branch
// are hostile strings.
func hostileWorld(t *testing.T) *world {
	t.Helper()
	all := hostileStrings(t)
	text := filepath.Join(t.TempDir(), "strings")
	w := newWorld(t, `branch: "in/\"><img/src=x/onerror=alert(1)>'&{run}"`, "limits: {agents: 6}", fmt.Sprintf("checks: [{name: \"<b>a check</b>\", command: \"cat '%s'\"}]", text))
	files := filepath.Join(w.scripts, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	var oneLine, plain []string
	for i, s := range all {
		line := strings.NewReplacer("\n", " ", "\r", " ", "\x00", " ").Replace(s)
		oneLine = append(oneLine, line)
		plain = append(plain, strings.ToValidUTF8(line, "\ufffd"))
		name := fmt.Sprintf("%.150s", strings.ReplaceAll(line, "/", " "))
		if err := os.WriteFile(filepath.Join(files, fmt.Sprintf("%d %s", i, name)), []byte(s+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(text, []byte(strings.Join(oneLine, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.script("T-1", fmt.Sprintf("cp -r '%s/.' . && date +%%N >again && git add -A && git commit -qm \"$(head -n 1 '%[2]s')\"\ncat '%[2]s'\necho \"READY_FOR_REVIEW: $SIGNALBOX_TASK $run\"\necho Summary: what follows\nsed 's/^/ - /' '%[2]s'\n", files, text))
	w.script("T-2", "echo SEEKING_DIVINE_CLARIFICATION $run\necho Question: what follows\nsed 's/^/ - /' '"+text+"'\n")
	for i := range 3 {
		w.script(fmt.Sprintf("T-%d", i+3), "while :; do while read -r line; do printf '%s\\n' \"$line\"; sleep 1; done <'"+text+"'; done\n")
	}
	var tasks []string
	for i, s := range plain {
		task := fmt.Sprintf("T-%d: %s", i+1, s)
		if i > 4 {
			task += " [T-1]"
		}
		tasks = append(tasks, task)
	}
	w.deliver(plain[0], tasks...)
	for i := 0; i < len(plain); i += 5 {
		w.asks(strings.Join(plain[i:min(i+5, len(plain))], " "))
	}
	w.until("a review", func() (bool, error) { return len(w.waits("review")) == 1, nil })
	s, err := w.client.Sight(t.Context(), "R1.T-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Review(t.Context(), "R1.T-1", api.Verdict{Comments: plain, Role: s.Role, Commit: s.Commit, Tree: s.Tree, Base: s.Base}); err != nil {
		t.Fatal(err)
	}
	w.until("a review of what was mended", func() (bool, error) {
		now, err := w.client.Sight(t.Context(), "R1.T-1")
		return err == nil && now.Commit != s.Commit && len(w.waits("review")) == 1, nil
	})
	w.agents(3)
	return w
}
