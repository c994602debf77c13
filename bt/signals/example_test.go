package signals_test

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/signals"
)

// A loop without a tree: each reply is taken in, and what is known then decides.
func ExampleTurns_Take() {
	replies := []string{
		"I look.\n<signal type=\"need_turn\"><reason>the search comes first</reason></signal>",
		"It is in main.go.\n<signal type=\"context_sufficient\"><sources_found>1</sources_found></signal>",
	}
	var turns signals.Turns
	board := &bt.Blackboard{}
	for _, reply := range replies {
		state := turns.Take(board, reply, time.Now())
		switch {
		case signals.Is(state.Last, agentsig.KindContextSufficient):
			fmt.Println("this is the answer")
		case signals.Is(state.Last, agentsig.KindNeedTurn) && state.SameReason < 3:
			fmt.Println("another turn:", signals.Text(state.Last, "reason"))
		case state.Silent > 2:
			fmt.Println("it does not signal")
		}
	}
	fmt.Println(board.Get(signals.KeyContent))
	// Output:
	// another turn: the search comes first
	// this is the answer
	// I look.
	//
	// It is in main.go.
}

// A tree asks until the model knows enough. The leaf that asks is the caller's.
func ExampleTurns_Library() {
	replies := []string{
		"I look.\n<signal type=\"need_turn\"><reason>the search comes first</reason></signal>",
		"It is in main.go.\n<signal type=\"context_sufficient\"><sources_found>1</sources_found></signal>",
	}
	turn := 0
	var turns signals.Turns
	library := turns.Library()
	library.Functions["loop.ask"] = bt.Func(func(c *bt.Context) bt.Status {
		reply := replies[turn] // of a model
		turn++
		turns.Heard(c, map[string]any{"content": reply})
		signals.Append(c, signals.KeyContent, reply)
		return bt.Success
	}).Using(nil, []string{signals.KeyResponse, signals.KeyContent, signals.KeyLast, signals.KeyPrevious, signals.KeyParsed})
	tree := bt.Tree{Name: "loop", Blackboard: signals.Schema(), Root: bt.Repeat(10, bt.Success, bt.Sequence(
		bt.Action("ask", "loop.ask", nil),
		bt.Action("parse", "signal_actions.parse_response_signal", nil),
		bt.Action("update", "signal_actions.update_signal_state", nil),
		bt.Action("log", "signal_actions.log_signal", nil),
		bt.Action("strip", "signal_actions.strip_signal_from_response", nil),
		bt.Condition("enough", "signals.signal_type_is", bt.Args{"expected_type": "context_sufficient"}),
	))}
	program, err := bt.Compile(tree, library)
	if err != nil {
		fmt.Println(err)
		return
	}
	board := &bt.Blackboard{}
	run := program.Start(bt.Options{Blackboard: board})
	defer run.Close()
	status, err := run.Drive(context.Background())
	fmt.Println(status, turn, err)
	fmt.Println(board.Get(signals.KeyContent))
	// Output:
	// SUCCESS 2 <nil>
	// I look.
	//
	// It is in main.go.
}
