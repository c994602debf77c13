package lua_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/lua"
)

func Example() {
	tree, err := lua.Load(context.Background(), "greet.lua", []byte(`
		local ask = BT.action("ask", { fn = "ask" })

		BT.tree("greet", {
		    blackboard = { name = "string", greeting = "string" },
		    root = BT.sequence({
		        BT.retry(ask, { retries = 2 }),
		        BT.script("greet", { source = [[
		            bb.set_global("greeting", "Hello, " .. bb.get("name"))
		            return true
		        ]] }),
		    }),
		})`))
	if err != nil {
		fmt.Println(err)
		return
	}
	asked := 0
	program, err := bt.Compile(tree, bt.Library{
		Script: lua.Script,
		Functions: map[string]bt.Leaf{"ask": bt.Func(func(c *bt.Context) bt.Status {
			if asked++; asked < 3 {
				return bt.Failure
			}
			c.Set("name", "world")
			return bt.Success
		})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	board := &bt.Blackboard{}
	run := program.Start(bt.Options{Blackboard: board})
	defer run.Close()
	status, err := run.Drive(context.Background())
	fmt.Println(status, err, board.Get("greeting"))
	// Output: SUCCESS <nil> Hello, world
}

// Every problem of a file is told, with its place.
func ExampleLoad_problems() {
	_, err := lua.Load(context.Background(), "wrong.lua", []byte(`
		BT.tree("wrong", {
		    root = BT.sequence({
		        BT.action("look", { fm = "look" }),
		        BT.timeout(BT.subtree("part"), { seconds = -1 }),
		    }),
		})`))
	fmt.Println(err)
	// Output:
	// wrong.lua:4: look: it needs fn, the function to call
	// wrong.lua:4: look: BT.action has no setting "fm": it has args, description, fn
	// wrong.lua:5: BT.timeout: seconds is a time of more than 0 and at most 86400 seconds, and not -1
}

// A script decides a leaf of a tree that was built in Go.
func ExampleScript() {
	tree := bt.Tree{
		Name: "count", Blackboard: bt.Schema{"n": "any"},
		Root: bt.Repeat(10, bt.Failure, bt.RunScript("count", bt.Script{Source: `
			local n = (bb.get("n") or 0) + 1
			bb.set_global("n", n)
			return n < 3`})),
	}
	program, err := bt.Compile(tree, bt.Library{Script: lua.Script})
	if err != nil {
		fmt.Println(err)
		return
	}
	board := &bt.Blackboard{}
	run := program.Start(bt.Options{Blackboard: board})
	defer run.Close()
	status, err := run.Drive(context.Background())
	fmt.Println(status, board.Get("n"), err)
	// Output: SUCCESS 3 <nil>
}
