package bt_test

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
)

// A door is opened: it may be open already, and its lock takes two tries.
func Example() {
	tries := 0
	library := bt.Library{Functions: map[string]bt.Leaf{
		"door.is_open": bt.Func(func(c *bt.Context) bt.Status {
			if c.Get("open") == true {
				return bt.Success
			}
			return bt.Failure
		}),
		"door.unlock": bt.Func(func(c *bt.Context) bt.Status {
			if tries++; tries < 2 {
				c.Note("it sticks")
				return bt.Failure
			}
			return bt.Success
		}),
		"door.open": bt.Func(func(c *bt.Context) bt.Status {
			c.SetGlobal("open", true)
			return bt.Success
		}),
	}}
	tree := bt.Tree{
		Name:       "door",
		Blackboard: bt.Schema{"open": "bool"},
		Root: bt.Selector(
			bt.Condition("open?", "is_open", nil),
			bt.Sequence(
				bt.Retry(3, time.Second, bt.Action("unlock", "unlock", nil)),
				bt.Action("open", "door.open", nil),
			),
		),
	}
	program, err := bt.Compile(tree, library)
	if err != nil {
		fmt.Println(err)
		return
	}
	run := program.Start(bt.Options{Trace: func(tick int, at time.Duration, entries []bt.Entry) {
		fmt.Print(string(program.AppendTrace(nil, tick, at, entries)))
	}})
	defer run.Close()
	now := time.Now()
	for status := bt.Running; status == bt.Running; {
		if status, err = run.Tick(context.Background(), now); err != nil {
			fmt.Println(err)
			return
		}
		now, _ = run.Due() // Run.Drive would wait until then
	}
	// Output:
	// tick 1 at 0s
	//   selector RUNNING
	//     condition open? FAILURE
	//     sequence RUNNING
	//       retry RUNNING: again in 1s
	//         action unlock FAILURE: it sticks
	// tick 2 at 1s
	//   selector SUCCESS 1s
	//     sequence SUCCESS 1s
	//       retry SUCCESS 1s
	//         action unlock SUCCESS
	//       action open SUCCESS
}
