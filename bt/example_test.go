package bt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// A run is carried out step by step: the caller says when, and what time it is. A leaf that is not
// done is ticked again.
func ExampleRun_Tick() {
	left := 2
	pour := bt.Func(func(c *bt.Context) bt.Status {
		if left--; left >= 0 {
			c.Again(time.Second)
			return bt.Running
		}
		return bt.Success
	})
	program, err := bt.Compile(
		bt.Tree{Name: "tea", Root: bt.Timeout(time.Minute, bt.Action("pour", "pour", nil))},
		bt.Library{Functions: map[string]bt.Leaf{"pour": pour}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	run := program.Start(bt.Options{})
	defer run.Close()
	start := time.Unix(0, 0)
	for now, status := start, bt.Running; status == bt.Running; {
		if status, err = run.Tick(context.Background(), now); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("tick", run.Ticks(), "after", now.Sub(start), status)
		now, _ = run.Due()
	}
	// Output:
	// tick 1 after 0s RUNNING
	// tick 2 after 1s RUNNING
	// tick 3 after 2s SUCCESS
}

// Decorators change what a child comes to, or how often it is tried.
func ExampleNode_decorators() {
	answers := func(s bt.Status) bt.Leaf { return bt.Func(func(*bt.Context) bt.Status { return s }) }
	library := bt.Library{Functions: map[string]bt.Leaf{"yes": answers(bt.Success), "no": answers(bt.Failure)}}
	yes, no := bt.Condition("yes", "yes", nil), bt.Condition("no", "no", nil)
	for _, root := range []*bt.Node{
		bt.Inverter(no),
		bt.AlwaysSucceed(no),
		bt.AlwaysFail(yes),
		bt.Guard(no, yes), // the child runs only while the condition holds
		bt.Repeat(3, bt.Failure, no),
		bt.Retry(1, 0, no),
	} {
		program, err := bt.Compile(bt.Tree{Name: "one", Root: root}, library)
		if err != nil {
			fmt.Println(err)
			return
		}
		run := program.Start(bt.Options{})
		status, err := run.Drive(context.Background())
		run.Close()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(root.Kind, status)
	}
	// Output:
	// inverter SUCCESS
	// always_succeed SUCCESS
	// always_fail FAILURE
	// guard FAILURE
	// repeat SUCCESS
	// retry FAILURE
}

// What takes long is done beside the tree. What it returns decides in the next tick, where the
// blackboard can be written.
func ExampleAsync() {
	library := bt.Library{Functions: map[string]bt.Leaf{
		"load": bt.Async(func(*bt.Context) bt.Work {
			return func(context.Context) func(*bt.Context) bt.Status {
				text := "what the network said" // which took a while
				return func(c *bt.Context) bt.Status {
					c.SetGlobal("page", text)
					return bt.Success
				}
			}
		}),
	}}
	tree := bt.Tree{Name: "load", Blackboard: bt.Schema{"page": "string"}, Root: bt.Action("load", "load", nil)}
	program, err := bt.Compile(tree, library)
	if err != nil {
		fmt.Println(err)
		return
	}
	board := &bt.Blackboard{}
	run := program.Start(bt.Options{Blackboard: board})
	defer run.Close()
	status, err := run.Drive(context.Background())
	fmt.Println(status, board.Get("page"), err)
	// Output: SUCCESS what the network said <nil>
}

// A run is stopped in the midst of its work, and another process goes on with it. What had
// been done is not done again; what was under way is told that it may have been done.
func ExampleProgram_Resume() {
	stop := func() {} // what stops the first process
	library := bt.Library{Functions: map[string]bt.Leaf{
		"fetch": bt.Func(func(c *bt.Context) bt.Status {
			fmt.Println("fetch")
			c.Set("page", "hello")
			return bt.Success
		}),
		"send": bt.Func(func(c *bt.Context) bt.Status {
			fmt.Println("send", c.Get("page"), "- perhaps again:", c.Interrupted())
			stop()
			return bt.Running // until somebody has received it
		}),
	}}
	program, err := bt.Compile(bt.Tree{
		Name: "relay", Blackboard: bt.Schema{"page": "string"},
		Root: bt.Sequence(bt.Action("fetch", "fetch", nil), bt.Timeout(time.Minute, bt.Action("send", "send", nil))),
	}, library)
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for range 2 {
		ctx, cancel := context.WithCancel(context.Background())
		stop = cancel
		file, err := os.OpenFile(filepath.Join(dir, "recording"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			fmt.Println(err)
			return
		}
		run, err := program.Resume(file, bt.Options{}) // of an empty file: a run that begins
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = run.Drive(ctx)
		fmt.Println(err)
		run.Close()
		_ = file.Close()
	}
	// Output:
	// fetch
	// send hello - perhaps again: false
	// context canceled
	// send hello - perhaps again: true
	// context canceled
}
