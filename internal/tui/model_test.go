package tui_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/tui"
	"github.com/signalbox-dev/signalbox/safetext"
)

// busy is a run with a question on T-2, a longer one of the run's own, a review and agents.
func busy() api.Run {
	r := states()
	r.Tasks, r.Notices = nil, nil
	for i := range 30 {
		t := api.Task{ID: fmt.Sprintf("T-%d", i+1), Work: fmt.Sprintf("R1.T-%d", i+1), Title: fmt.Sprintf("Part %d", i+1), Phase: agentsig.PhaseImplementation, Why: "blocker", Waits: api.Waiting{Text: fmt.Sprintf("for T-%d", i)}}
		r.Tasks = append(r.Tasks, t)
	}
	r.Tasks[0].Why, r.Tasks[0].Agent = "session", &api.Agent{Role: agentsig.RoleDeveloper, Name: "claude", StartedAt: ago(time.Minute), Says: "Reading gateway/limits.go"}
	r.Tasks[1].Why, r.Tasks[1].Phase, r.Tasks[1].Since = "question", agentsig.PhaseBlocked, ago(3*time.Minute)
	r.Tasks[2].Why, r.Tasks[2].Phase, r.Tasks[2].Since, r.Tasks[2].Waits.Text = "person", agentsig.PhaseReadyForReview, ago(time.Minute), "for your review"
	r.Tasks[3].Title = nasty
	r.Tasks[4].Title = strings.Repeat("日本語", 40)
	r.Questions = []api.Question{
		{ID: "R1-Q1", Kind: api.KindQuestion, Run: "R1", Task: "T-2", AskedAt: ago(3 * time.Minute), Text: "Which clients are exempt?" + nasty + strings.Repeat(" They are many, and each has a name.", 40), Choices: []string{"retry", "cancel"}},
		{ID: "R1-Q2", Kind: api.KindQuestion, Run: "R1", AskedAt: ago(time.Minute), Text: "The budget is used up.", Context: strings.Repeat("10 USD of 10 USD\n", 100), Choices: []string{"continue", "halt"}},
		{ID: "R1-P1", Kind: string(delivery.PartReview), Run: "R1", Task: "T-3", Work: "R1.T-3", Role: agentsig.RoleCritic, AskedAt: ago(time.Minute), Text: "to review, as critic: Part 3"},
	}
	for i := range 40 {
		r.Notices = append(r.Notices, api.Notice{Sequence: uint64(i), At: ago(time.Duration(40-i) * time.Second), Text: fmt.Sprintf("T-%d: ready for review", i), Grave: i%9 == 0})
	}
	return r
}

// press types keys, one after the other: names in <>, or characters.
func press(m tui.Model, keys string) (tui.Model, []tui.Action) {
	var all []tui.Action
	for keys != "" {
		name := string([]rune(keys)[0])
		rest := keys[len(name):]
		k := tui.Key{Name: name, Text: name}
		if inner, after, ok := strings.Cut(rest, ">"); name == "<" && ok {
			k, rest = tui.Key{Name: inner}, after
			if text, ok := strings.CutPrefix(inner, "paste "); ok {
				k = tui.Key{Name: tui.KeyPaste, Text: text}
			}
		}
		var act tui.Action
		if m, act = m.Press(k); act.Do != "" {
			all = append(all, act)
		}
		keys = rest
	}
	return m, all
}

// What keys lead to.
func TestPress(t *testing.T) {
	paused := busy()
	paused.State = api.RunPaused
	quiet := busy()
	quiet.Questions = nil
	for _, c := range []struct {
		name string
		run  api.Run
		own  bool
		keys string
		want []tui.Action
		says string // somewhere on the screen
	}{
		{name: "what asks is chosen first", keys: "<enter>", want: []tui.Action{{Do: tui.Log, Name: "R1.T-2"}}},
		{name: "arrows", keys: "<up><up><up><enter><down>d<page down>s<end><end>s<home>s", want: []tui.Action{
			{Do: tui.Log, Name: "R1.T-1"}, {Do: tui.Diff, Name: "R1.T-2"}, {Do: tui.Show, Name: "R1.T-12"}, {Do: tui.Show, Name: "R1.T-30"}, {Do: tui.Show, Name: "R1.T-1"},
		}},
		{name: "letters move too", keys: "jjkd", want: []tui.Action{{Do: tui.Diff, Name: "R1.T-3"}}},
		{name: "answer", keys: "aall of them<backspace>n<enter>", want: []tui.Action{{Do: tui.Answer, Name: "R1-Q1", Text: "all of then"}}},
		{name: "the run's question", keys: "<home>acontinue<enter>", want: []tui.Action{{Do: tui.Answer, Name: "R1-Q2", Text: "continue"}}},
		{name: "the next question", keys: "a<tab>halt<enter>", want: []tui.Action{{Do: tui.Answer, Name: "R1-Q2", Text: "halt"}}},
		{name: "no answer", keys: "a<enter>", says: "nothing is typed"},
		{name: "an answer is taken back", keys: "aqx<escape>", says: "? help"},
		{name: "an answer is interrupted", keys: "aqx<ctrl+c>", says: "? help"},
		{name: "keys are text while typing", keys: "aqpx?<ctrl+u>ok<enter>", want: []tui.Action{{Do: tui.Answer, Name: "R1-Q1", Text: "ok"}}},
		{name: "a paste is text while typing", keys: "a<paste one\ntwo><enter>", want: []tui.Action{{Do: tui.Answer, Name: "R1-Q1", Text: "one two"}}},
		{name: "a paste is no command", keys: "<paste q><paste p>"},
		{name: "nothing to answer", run: quiet, keys: "a", says: "nobody asks you anything"},
		{name: "tell", keys: "<home>tstop that<enter>", want: []tui.Action{{Do: tui.Tell, Name: "R1.T-1", Text: "stop that"}}},
		{name: "review", keys: "<down>r", want: []tui.Action{{Do: tui.Review, Name: "R1.T-3"}}},
		{name: "the review that waits", keys: "<end>r<enter>", want: []tui.Action{{Do: tui.Review, Name: "R1.T-3"}, {Do: tui.Log, Name: "R1.T-3"}}},
		{name: "nothing to review", run: quiet, keys: "r", says: "T-2 does not wait for your review"},
		{name: "open asks first", keys: "<home>o", says: "Take T-1 over"},
		{name: "open", keys: "<home>oy", want: []tui.Action{{Do: tui.Open, Name: "R1.T-1"}}},
		{name: "cancel asks first", keys: "x", says: "Cancel T-2 and what depends on it?"},
		{name: "cancel no", keys: "xn", says: "? help"},
		{name: "cancel is not confirmed by Enter", keys: "x<enter>"},
		{name: "cancel", keys: "xy", want: []tui.Action{{Do: tui.Cancel, Name: "R1.T-2"}}},
		{name: "pause", keys: "p", want: []tui.Action{{Do: tui.Pause, Name: "R1"}}},
		{name: "resume", run: paused, keys: "p", want: []tui.Action{{Do: tui.Resume, Name: "R1"}}},
		{name: "leave", keys: "q", want: []tui.Action{{Do: tui.Leave}}},
		{name: "leaving one's own box asks first", own: true, keys: "q", says: "3 agents are ended with it"},
		{name: "one's own box", own: true, keys: "qy", want: []tui.Action{{Do: tui.Leave}}},
		{name: "one's own box stays", own: true, keys: "qn"},
		{name: "interrupt", own: true, keys: "<ctrl+c>", want: []tui.Action{{Do: tui.Interrupt}}},
		{name: "suspend", keys: "a<ctrl+z>", want: []tui.Action{{Do: tui.Suspend}}},
		{name: "help", keys: "?", says: "any key goes back"},
		{name: "help is left by a key that does nothing else", keys: "?qp", want: []tui.Action{{Do: tui.Pause, Name: "R1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := c.run
			if run.ID == "" {
				run = busy()
			}
			m, got := press(tui.NewModel(c.own).See(run), c.keys)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if screen := strings.Join(m.Screen(tui.Options{Width: 100, Height: 40, Now: now}), "\n"); !strings.Contains(screen, c.says) {
				t.Errorf("the screen does not say %q:\n%s", c.says, screen)
			}
		})
	}
}

// The chosen task stays chosen while the run goes on, and another one is if it is gone.
func TestChosenStays(t *testing.T) {
	r := busy()
	m, _ := press(tui.NewModel(false).See(r), "<end>")
	r.Tasks = append([]api.Task{{ID: "T-0", Work: "R1.T-0"}}, r.Tasks...)
	if _, got := press(m.See(r), "d"); got[0].Name != "R1.T-30" {
		t.Errorf("chosen is %s", got[0].Name)
	}
	r.Tasks = r.Tasks[:2]
	if _, got := press(m.See(r), "d"); got[0].Name != "R1.T-1" {
		t.Errorf("chosen is %s", got[0].Name)
	}
	if _, got := press(tui.NewModel(false).See(api.Run{ID: "R1"}), "<down>dsxtro<enter>"); len(got) > 0 {
		t.Errorf("without a task: %v", got)
	}
}

// A text is moved to its end and no further, and back by as many keys.
func TestScroll(t *testing.T) {
	m := tui.NewModel(false).See(busy()).Sized(80, 24)
	o := tui.Options{Width: 79, Height: 24, Now: now}
	m, _ = press(m, "a<tab><end><page down><down>")
	if end := strings.Join(m.Screen(o), "\n"); !strings.Contains(end, "lines 86 to 104 of 104") || !strings.Contains(end, "choices: continue, halt, or your own words") {
		t.Errorf("not at the end:\n%s", end)
	}
	m, _ = press(m, "<up>")
	if back := strings.Join(m.Screen(o), "\n"); !strings.Contains(back, "lines 85 to 103 of 104") {
		t.Errorf("one key does not move it back:\n%s", back)
	}
}

// Screens as they are, in the sizes that people have.
func TestScreens(t *testing.T) {
	hostileRun := hostile()
	for i := range hostileRun.Tasks {
		hostileRun.Tasks[i].Work = "R1.x"
	}
	failed := tui.NewModel(true).See(busy()).Done("", errors.New("R1-Q1 is answered already"+nasty))
	typing, _ := press(tui.NewModel(true).See(busy()), "a"+strings.Repeat("a long answer ", 20))
	scrolled, _ := press(tui.NewModel(true).See(busy()), "a<tab>")
	scrolled, _ = press(scrolled.Sized(80, 24), "<page down><down>")
	telling, _ := press(tui.NewModel(true).See(busy()), "<home>tleave the API alone")
	leaving, _ := press(tui.NewModel(true).See(busy()), "q")
	helping, _ := press(tui.NewModel(true).See(busy()), "?")
	last, _ := press(tui.NewModel(true).See(busy()), "<end>")
	for name, m := range map[string]tui.Model{
		"busy": tui.NewModel(true).See(busy()), "last": last, "failed": failed, "typing": typing, "scrolled": scrolled, "telling": telling,
		"leaving": leaving, "helping": helping, "hostile": tui.NewModel(false).See(hostileRun),
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, s := range []struct{ width, height int }{{79, 24}, {119, 40}, {159, 50}} {
				fmt.Fprintf(&b, "-- %dx%d --\n", s.width, s.height)
				for _, l := range m.Screen(tui.Options{Width: s.width, Height: s.height, Now: now}) {
					b.WriteString(l + "\n")
				}
			}
			file := filepath.Join("testdata", "screens", name+".txt")
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

// Whatever a run says and a person presses: the screen has its size, and nothing on it acts upon a terminal.
func TestScreensOfAnything(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	keys := []string{"j", "k", "a", "t", "x", "q", "?", "y", "n", "<escape>", "<tab>", "<page down>", "<paste " + nasty + ">", "日", "<end>", "<backspace>"}
	for range 400 {
		m := tui.NewModel(g.IntN(2) == 0)
		for range g.IntN(8) {
			m = m.See(random(g))
			m, _ = press(m, keys[g.IntN(len(keys))])
			if g.IntN(4) == 0 {
				m = m.Done(nasty, nil)
			}
			o := tui.Options{Width: g.IntN(170), Height: g.IntN(60), Now: now}
			lines := m.Screen(o)
			if len(lines) != o.Height {
				t.Fatalf("%d lines, want %d", len(lines), o.Height)
			}
			for _, l := range lines {
				if strings.ContainsFunc(l, func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }) {
					t.Fatalf("%q acts upon a terminal", l)
				}
				if w := safetext.Width(l); w > o.Width {
					t.Fatalf("%q has %d columns of %d", l, w, o.Width)
				}
			}
		}
	}
}

// A full screen is drawn from its top, in one write, leaves no trace, and is drawn again as a whole after another program.
func TestFull(t *testing.T) {
	s := newScreen(80, 24, false)
	size := func() (int, int) { return s.columns, s.rows }
	full := tui.NewFull(s, size, true)
	m := tui.NewModel(false).See(busy())
	for _, step := range []func(){
		func() {},
		func() { m, _ = press(m, "jj?") },
		func() { s.resize(40, 12) },
		func() { m, _ = press(m, "x") },
		func() { _ = full.Close(); s.lines = make([]row, s.rows) },
		func() { full.Forget() },
	} {
		step()
		if err := full.Show(m, now); err != nil {
			t.Fatal(err)
		}
		want := m.Screen(tui.Options{Width: s.columns - 1, Height: s.rows, Now: now})
		if diff := cmp.Diff(want, s.text()); diff != "" {
			t.Fatal(diff)
		}
	}
	if err := full.Close(); err != nil || s.hidden || s.alternate || len(s.wrong) > 0 {
		t.Errorf("left behind: %v, cursor hidden %t, alternate %t, %v", err, s.hidden, s.alternate, s.wrong)
	}
}

// What can't be done with a completed task is refused at once, and nothing is typed or confirmed for it. It can still be looked at.
func TestKeysOnCompleted(t *testing.T) {
	r := busy()
	r.Tasks[0].Phase, r.Tasks[0].Why, r.Tasks[0].Agent = agentsig.PhaseCompleted, delivery.WaitCompleted, nil
	m := tui.NewModel(false).See(r)
	m, _ = press(m, "<home>")
	for keys, refusal := range map[string]string{"o": "can't be taken over", "x": "can't be cancelled", "t": "nobody works on it"} {
		_, acts := press(m, keys+"y")
		if len(acts) > 0 {
			t.Errorf("%s: %+v", keys, acts)
		}
		after, _ := press(m, keys)
		if text := strings.Join(after.Screen(tui.Options{Width: 100, Height: 30, Now: now}), "\n"); !strings.Contains(text, "! T-1 is completed: ") || !strings.Contains(text, refusal) {
			t.Errorf("%s:\n%s", keys, text)
		}
	}
	for keys, deed := range map[string]tui.Deed{"<enter>": tui.Log, "d": tui.Diff, "s": tui.Show} {
		if _, acts := press(m, keys); len(acts) != 1 || acts[0].Do != deed || acts[0].Name != "R1.T-1" {
			t.Errorf("%s: %+v", keys, acts)
		}
	}
}

// A task that a person has taken names the command that hands it in.
func TestTakenNamesGive(t *testing.T) {
	r := busy()
	r.Tasks[2].Waits.Text = "for you to give it"
	r.Questions[2].Kind = string(delivery.PartGive)
	for _, width := range []int{80, 160} {
		if text := strings.Join(tui.NewModel(false).See(r).Screen(tui.Options{Width: width, Height: 40, Now: now}), "\n"); !strings.Contains(text, "signalbox give R1.T-3") {
			t.Errorf("%d columns:\n%s", width, text)
		}
	}
}

// What came of a deed goes after a while, by the time that is given; what did not work stays until a key is pressed.
func TestSaidGoes(t *testing.T) {
	o := tui.Options{Width: 100, Height: 30, Now: now}
	shows := func(m tui.Model) bool { return strings.Contains(strings.Join(m.Screen(o), "\n"), "T-1 is sent back") }
	m := tui.NewModel(false).See(busy()).Done("T-1 is sent back", nil).Tick(now)
	if m = m.Tick(now.Add(5 * time.Second)); !shows(m) {
		t.Error("it is gone at once")
	}
	if gone := m.Tick(now.Add(time.Minute)); shows(gone) {
		t.Error("it stays for a minute")
	}
	if again := m.Done("T-1 is sent back", nil).Tick(now.Add(time.Minute)); !shows(again) {
		t.Error("what is said later has no time of its own")
	}
	failed := m.Done("", errors.New("T-1 is sent back already")).Tick(now).Tick(now.Add(time.Hour))
	if !shows(failed) {
		t.Error("what did not work is gone")
	}
}
