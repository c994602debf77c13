package oracle

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/bt/signals"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// Places in the tree's text.
const (
	phaseBegins = `BT.sequence("signal-phase", {`
	phaseEnds   = `description = "Take the signal out of what was said",
                }),`
)

// actions is a piece of a tree that calls actions of the signal phase, by short names.
func actions(names string) string {
	full := map[string]string{"parse": "parse_response_signal", "update": "update_signal_state", "log": "log_signal", "strip": "strip_signal_from_response"}
	var b strings.Builder
	for i, name := range strings.Fields(names) {
		fmt.Fprintf(&b, "\naction(\"extra-%d-%s\", \"signal_actions.%s\"),", i, name, full[name])
	}
	return b.String()
}

const twoTurns = asksWhat + "says: A {need 0.8: one look}\ncalls: search {}\nresult:\nsays: B {need 0.8: one look}\n" +
	goesOn + "says: C\n" + goOn + "says: D {enough 0.9}"

// Whatever a tree does with the actions, a signal counts once, in the turn that it was said in.
func TestOncePerTurn(t *testing.T) {
	want := route{script: twoTurns, asks: "question question go-on continue",
		events:  sNeed + " " + called + " " + sNeed + " " + falls + " " + sEnough,
		outcome: Answered, text: "D", signals: 3}
	var routes []route
	for _, c := range []struct {
		name string
		tree []string
	}{
		{"as it is", nil},
		{"all twice", []string{phaseEnds, phaseEnds + actions("parse update log strip")}},
		{"each twice", []string{phaseBegins, phaseBegins + actions("parse parse update update log log strip strip")}},
		{"first in a wrong order", []string{phaseBegins, phaseBegins + actions("strip log update")}},
		{"in every order", []string{phaseBegins, phaseBegins + actions("log update strip parse strip log update strip parse log update strip")}},
		{"again when it is decided", []string{`condition("has-tool-calls", "oracle.has_tool_calls"),`,
			actions("parse update log strip") + `condition("has-tool-calls", "oracle.has_tool_calls"),`}},
	} {
		r := want
		r.name, r.tree = c.name, c.tree
		routes = append(routes, r)
	}
	follow(t, routes)
}

// A tree that has the actions in a wrong order only gets nothing out of them that is not in
// order; its answers are still answers.
func TestPhaseBackwards(t *testing.T) {
	server := serve(t, script("== route\n"+twoTurns))
	s := settings(t, server, model.OpenAI)
	s.Tools = tools{"search": func(string) (string, error) { return "found", nil }}
	swap := func(a, b string) []string { return []string{a, "\x00", b, a, "\x00", b} }
	s.Tree = hasty(t, append(swap("parse_response_signal", "strip_signal_from_response"), swap("update_signal_state", "log_signal")...)...)
	q, a, told := answered(context.Background(), t, s, longQuestion)
	if a.Outcome != Answered || a.Text != "D" || a.Signals != 0 {
		t.Errorf("%+v", a)
	}
	if kept, _ := q.board.Get(signals.KeyEmitted).([]any); len(kept) != 0 {
		t.Errorf("signals_emitted is %v", kept)
	}
	if told.named(sNeed) != 0 {
		t.Errorf("events %s", told.names())
	}
}

// A fault in the signal phase costs no answer, and no signal shows for it.
func TestFaultInSignalPhase(t *testing.T) {
	faults := map[string]string{
		"fails":      `action("%s", "oracle.is_finished"),`,
		"breaks":     `BT.script("%s", { source = [[ error("broken") ]] }),`,
		"says no":    `BT.script("%s", { source = [[ return false ]] }),`,
		"takes long": `BT.script("%s", { source = [[ while true do end ]], timeout = 0.05 }),`,
	}
	before := map[string]string{"parse": "", "update": "parse", "log": "parse update", "strip": "parse update log"}
	var routes []route
	for name, fault := range faults {
		for at, done := range before {
			r := route{
				name: at + " " + name, tree: []string{phaseBegins, phaseBegins + actions(done) + fmt.Sprintf(fault, at)}, faulty: true,
				question: "What does it do?", script: asksWhat + "says: It checks. {enough 0.9}",
				asks: "question", events: sEnough, outcome: Answered, text: "It checks.", signals: 1,
			}
			switch at { // what has not happened yet does not happen any more
			case "parse":
				r.events, r.signals = falls, 0
			case "update", "log":
				r.events, r.signals = "", 0
			}
			routes = append(routes, r)
		}
	}
	// Nobody counts silent turns then; it ends with the budget.
	routes = append(routes, route{
		name: "never works", tree: []string{phaseBegins, phaseBegins + fmt.Sprintf(faults["fails"], "parse"), "MAX_TURNS = 30", "MAX_TURNS = 4"}, faulty: true,
		script: asksWhat + "thinks: A\n" + goOn + "thinks: B\n" + goOn + "thinks: C\n" + "asked: This is your last turn\nsays: It checks. {enough 0.9}",
		asks:   "question continue continue last", events: falls + " " + falls + " budget.warning " + falls + " budget.exceeded",
		outcome: Partial, text: "It checks.", missing: "the budget of 4 turns is spent",
	})
	follow(t, routes)
}

// What a turn without a working signal phase leads to has nothing to do with the signal of
// the turn before.
func TestNoStaleSignal(t *testing.T) {
	trip := phaseBegins + ` BT.script("trip", { source = [[ return bb.get("turn") ~= 2 ]] }),`
	follow(t, []route{
		{
			name: "stuck", tree: []string{phaseBegins, trip}, faulty: true,
			script: asksWhat + "says: A {stuck 0.9: the index is gone}\n" + another + "says: B {enough 0.9}\n" + goOn + "says: C {enough 0.9}",
			asks:   "question stuck continue", events: sStuck + " " + falls + " " + falls + " " + sEnough, outcome: Answered, text: "C", signals: 2,
		}, {
			name: "need_turn", tree: []string{phaseBegins, trip}, faulty: true,
			script: asksWhat + "says: A {need 0.9: one look}\n" + goesOn + "says: B {enough 0.9}\n" + goOn + "says: C {enough 0.9}",
			asks:   "question go-on continue", events: sNeed + " " + falls + " " + sEnough, outcome: Answered, text: "C", signals: 2,
		},
	})
}

// The mark that a reply was parsed is gone when the next reply is there, and there when its
// signal phase is over.
func TestParsedThisTurn(t *testing.T) {
	see := func(name, want string) string {
		return `BT.script("` + name + `", { source = [[ return bb.get("_signal_parsed_this_turn") == ` + want + ` ]] }),`
	}
	const phase = `BT.always_succeed(
            BT.sequence("signal-phase", {`
	const routes = `BT.selector("route", {`
	follow(t, []route{{
		name: "seen", tree: []string{phase, see("not-yet", "false") + phase, routes, see("by-now", "true") + routes},
		script: twoTurns, asks: "question question go-on continue",
		events:  sNeed + " " + called + " " + sNeed + " " + falls + " " + sEnough,
		outcome: Answered, text: "D", signals: 3,
	}})
}

// When done comes, the signal is parsed, told and recorded.
func TestParsedBeforeDone(t *testing.T) {
	for _, provider := range providers {
		server := serve(t, script("== route\n"+asksWhat+"says: It checks. {enough 0.9}"))
		s := settings(t, server, provider)
		book := &ledger{}
		s.Ledger = book
		var order []string
		s.Subscribe = func(e Event) { order = append(order, e.Name) }
		o, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		var q *query
		q, err = o.begin(longQuestion, func(c Chunk) {
			if c.Type != Done {
				return
			}
			order = append(order, book.entries()...)
			if last, _ := q.board.Get(keyLastSignal).(map[string]any); last["type"] != "context_sufficient" || q.board.Get(signals.KeyParsed) != true {
				t.Errorf("last_signal is %v", last)
			}
			order = append(order, string(c.Type))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.run(context.Background()); err != nil {
			t.Error(err)
		}
		want := []string{sEnough, "asked: " + longQuestion, "signalled: 1 context_sufficient", "answered: answered", "done"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Error(diff)
		}
	}
}
