package tui_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/tui"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

var sizes = []struct{ width, height int }{{40, 20}, {80, 23}, {160, 49}}

// Each golden file has a run in all sizes, and in colour once.
func TestGolden(t *testing.T) {
	for name, r := range runs() {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			add := func(title string, lines []string) {
				fmt.Fprintf(&b, "-- %s --\n%s\n", title, strings.ReplaceAll(strings.Join(lines, "\n"), "\x1b", "␛"))
			}
			for _, s := range sizes {
				add(fmt.Sprintf("frame %dx%d", s.width, s.height), tui.Frame(r, tui.Options{Width: s.width, Height: s.height, Now: now}))
			}
			add("frame 80x23 in colour", tui.Frame(r, tui.Options{Width: 80, Height: 23, Now: now, Color: true}))
			if len(r.Tasks) < 100 {
				add("summary 80", tui.Summary(r, tui.Options{Width: 80, Now: now}))
				add("summary 80 in colour", tui.Summary(r, tui.Options{Width: 80, Now: now, Color: true}))
			}
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
				t.Errorf("differs from %s (-want +got; -update rewrites it):\n%s", file, diff)
			}
		})
	}
}

var styles = regexp.MustCompile("\x1b\\[[0-9;]+m")

// columns counts the columns of a drawn line, by blocks of characters and not by
// the table that the package has.
func columns(t *testing.T, s string) int {
	t.Helper()
	n := 0
	for _, r := range s {
		switch {
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			t.Fatalf("%q reaches the screen in %q", r, s)
		case unicode.Is(unicode.Mn, r):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul), r >= 0x3000 && r < 0x3100, r >= 0x1f300:
			n += 2
		default:
			n++
		}
	}
	return n
}

// Whatever the run and the screen, a frame fits, is inert, and says the same in
// colour as without.
func TestFrameFits(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		r := random(g)
		o := tui.Options{Width: g.IntN(200) - 1, Height: 1 + g.IntN(40), Now: now}
		lines := tui.Frame(r, o)
		if len(lines) > o.Height {
			t.Fatalf("run %d at %+v has %d lines", i, o, len(lines))
		}
		for _, s := range lines {
			if n := columns(t, s); n > max(o.Width, 0) {
				t.Fatalf("run %d at %+v: %d columns: %q", i, o, n, s)
			}
			if strings.TrimRight(s, " ") != s {
				t.Fatalf("run %d at %+v: blanks at the end: %q", i, o, s)
			}
		}
		summary := tui.Summary(r, o)
		for _, s := range summary {
			if n := columns(t, s); n > max(o.Width, 0) && !strings.HasPrefix(s, "    git ") && !strings.HasPrefix(s, "    signalbox answer ") {
				t.Fatalf("the summary of run %d at %+v: %d columns: %q", i, o, n, s)
			}
		}
		o.Color = true
		for _, c := range []struct{ color, bare []string }{{tui.Frame(r, o), lines}, {tui.Summary(r, o), summary}} {
			got := strings.Split(styles.ReplaceAllString(strings.Join(c.color, "\n"), ""), "\n")
			if diff := cmp.Diff(strings.Split(strings.Join(c.bare, "\n"), "\n"), got); diff != "" {
				t.Fatalf("run %d at %+v differs in colour:\n%s", i, o, diff)
			}
		}
	}
}

// A frame with room for all has a line for every task.
func TestFrameWithoutHeight(t *testing.T) {
	text := strings.Join(tui.Frame(large(200), tui.Options{Width: 80, Now: now}), "\n")
	for _, task := range large(200).Tasks {
		if !strings.Contains(text, task.ID+" ") {
			t.Errorf("%s is missing", task.ID)
		}
	}
}

// Tasks that do not fit are counted, and none is lost.
func TestFrameCounts(t *testing.T) {
	r := large(200)
	number := regexp.MustCompile(`\d+ (at work|asking|blocked|ready|waiting|cancelled|done)`)
	for height := 8; height < 60; height++ {
		total := 0
		for _, s := range tui.Frame(r, tui.Options{Width: 80, Height: height, Now: now}) {
			switch {
			case strings.HasPrefix(s, "+ "):
				for _, m := range number.FindAllString(s, -1) {
					digits, _, _ := strings.Cut(m, " ")
					n, err := strconv.Atoi(digits)
					if err != nil {
						t.Fatal(err)
					}
					total += n
				}
			case regexp.MustCompile(`^\S P\d-T`).MatchString(s):
				total++
			}
		}
		if total != len(r.Tasks) {
			t.Errorf("at height %d there are %d tasks of %d", height, total, len(r.Tasks))
		}
	}
}

// What is at work is never hidden behind what is not.
func TestFrameShowsWork(t *testing.T) {
	text := strings.Join(tui.Frame(large(200), tui.Options{Width: 80, Height: 23, Now: now}), "\n")
	for _, task := range large(200).Tasks {
		if task.Agent != nil && !strings.Contains(text, "● "+task.ID) {
			t.Errorf("%s is at work and not shown:\n%s", task.ID, text)
		}
	}
}

func TestSummaryQuotesForTheShell(t *testing.T) {
	r := ended("completed")
	r.Base, r.Branch = "main", "a b'c"
	text := strings.Join(tui.Summary(r, tui.Options{Width: 20, Now: now}), "\n")
	for _, want := range []string{`git log --oneline main..'a b'\''c'`, `git diff main...'a b'\''c'`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in:\n%s", want, text)
		}
	}
}

// What no auditor has looked at is said, in the view and at the end; what was audited, or not changed, is not counted.
func TestUnaudited(t *testing.T) {
	r := ended("completed")
	if text := strings.Join(tui.Summary(r, tui.Options{Width: 80, Now: now}), "\n"); strings.Contains(text, "audit") {
		t.Errorf("all was audited:\n%s", text)
	}
	r.Unaudited = "no auditor: the plan is one sentence"
	r.Tasks[0].Unaudited = true
	text := strings.Join(tui.Summary(r, tui.Options{Width: 80, Now: now}), "\n")
	if !strings.Contains(text, "! not audited: 1 task, as the run has no auditor\n") || strings.Contains(text, "one sentence") {
		t.Errorf("it is not said, or not in short:\n%s", text)
	}
	if text := strings.Join(tui.Frame(r, tui.Options{Width: 120, Height: 30, Now: now}), "\n"); !strings.Contains(text, "no auditor") {
		t.Errorf("the view does not say it:\n%s", text)
	}
}

// A run of which nothing was completed was cancelled, and not partly completed; what an amended plan has no more is dropped.
func TestOutcomes(t *testing.T) {
	summary := func(r api.Run) string {
		return strings.Join(tui.Summary(r, tui.Options{Width: 80, Now: now}), "\n")
	}
	r := ended("partial")
	r.Tasks = r.Tasks[3:4]
	if text := summary(r); !strings.Contains(text, "✗ cancelled  0 of 1 task in") {
		t.Errorf("nothing was completed:\n%s", text)
	}
	r = ended("completed")
	if text := summary(r); strings.Contains(text, "dropped") {
		t.Errorf("nothing was dropped:\n%s", text)
	}
	r.Tasks[4].Phase, r.Tasks[4].Why = agentsig.PhaseImplementation, "cancelled"
	if text := summary(r); !strings.Contains(text, "✓ completed  4 of 5 tasks, 1 dropped in") || strings.Contains(text, "cancelled") {
		t.Errorf("a task was dropped:\n%s", text)
	}
}

func TestSummaryOfNothing(t *testing.T) {
	r := starting()
	r.State = api.RunDry
	if text := strings.Join(tui.Summary(r, tui.Options{Width: 80, Now: now}), "\n"); strings.Contains(text, "git ") {
		t.Errorf("there is nothing to look at yet:\n%s", text)
	}
}

// What cuts a question says how to see all of it, and nothing else does.
func TestSummaryOfLongQuestions(t *testing.T) {
	for _, c := range []struct {
		text, context string
		cut           bool
	}{{strings.Repeat("why ", 300), "", true}, {"Why?", strings.Repeat("so ", 500), true}, {"Why?", "So …", false}} {
		r := starting()
		r.State, r.Questions = api.RunWaiting, []api.Question{{ID: "R1-Q1", Run: "R1", Task: "T-1", Text: c.text, Context: c.context}}
		if text := strings.Join(tui.Summary(r, tui.Options{Width: 80, Now: now}), "\n"); strings.Contains(text, "all of it: signalbox inbox") != c.cut {
			t.Errorf("cut is %v:\n%s", c.cut, text)
		}
	}
}
