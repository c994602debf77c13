package signals_test

import (
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
