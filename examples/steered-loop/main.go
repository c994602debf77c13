// Command steered-loop has a loop of its own around a model, and lets a behaviour tree steer it by
// the model's signals. It is a module of its own: of signalbox it imports bt and bt/signals. The
// model is a list of replies; put a request to yours in place of ask.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/signals"
)

var replies = []string{
	"I look for it.\n" + `<signal type="need_turn"><reason>the search comes first</reason><confidence>0.8</confidence></signal>`,
	"It is in main.go.\n" + `<signal type="context_sufficient"><sources_found>1</sources_found><confidence>0.9</confidence></signal>`,
}

func ask(turn int) string { return replies[min(turn, len(replies)-1)] }

func main() {
	turns := signals.Turns{Told: func(t signals.Turn) {
		fmt.Println("signal:", t.Last["type"], signals.Text(t.Last, "reason"))
	}}
	library := turns.Library()
	turn := 0
	library.Functions["loop.ask"] = bt.Func(func(c *bt.Context) bt.Status {
		reply := ask(turn)
		turn++
		turns.Heard(c, map[string]any{"content": reply})
		signals.Append(c, signals.KeyContent, reply)
		return bt.Success
	}).Using(nil, []string{signals.KeyResponse, signals.KeyContent, signals.KeyLast, signals.KeyPrevious, signals.KeyParsed})

	is := func(kind string) *bt.Node {
		return bt.Condition("is-"+kind, "signals.signal_type_is", bt.Args{"expected_type": kind})
	}
	tree := bt.Tree{Name: "steered-loop", Blackboard: signals.Schema(), Root: bt.Repeat(10, bt.Success, bt.Sequence(
		bt.Action("ask", "loop.ask", nil),
		bt.Action("parse", "signal_actions.parse_response_signal", nil),
		bt.Action("update", "signal_actions.update_signal_state", nil),
		bt.Action("log", "signal_actions.log_signal", nil),
		bt.Action("strip", "signal_actions.strip_signal_from_response", nil),
		bt.Selector( // one of these ends the loop
			is("context_sufficient"),
			is("stuck"),
			bt.Condition("loops", "signals.consecutive_same_reason_gte", nil),
		),
	))}
	program, err := bt.Compile(tree, library)
	if err != nil {
		log.Fatal(err)
	}
	board := &bt.Blackboard{}
	run := program.Start(bt.Options{Blackboard: board})
	defer run.Close()
	status, err := run.Drive(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s after %d turns:\n%s\n", status, turn, board.Get(signals.KeyContent))
}
