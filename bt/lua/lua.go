// Package lua reads behaviour trees from Lua files, and runs the scripts in them.
//
//	local answer = BT.action("answer", { fn = "oracle.answer" })
//
//	BT.subtree("agent-turn", {
//	    root = BT.sequence({
//	        BT.llm_call({ prompt_keys = { "messages" }, stream_key = "reply" }),
//	        BT.always_succeed(BT.action("log", { fn = "signals.log" })),
//	    }),
//	})
//
//	BT.tree("oracle", {
//	    description = "Answers a question.",
//	    blackboard = { messages = "list", reply = "string" },
//	    root = BT.retry("ask", BT.subtree("agent-turn"), { retries = 2, backoff = 1.5 }),
//	})
//
// A file is a program that calls these functions. Each returns a node, to be used as a
// child once or several times. The name in brackets may be left out; every table may have
// a description as well. Times are in seconds.
//
//	BT.tree(name, {blackboard={key="type"}, root=node})      exactly one in a file
//	BT.subtree(name, {blackboard={key="type"} [, ports={key="in"|"out"|"inout"}], root=node})
//	                                                         defines a subtree,
//	BT.subtree(name [, {ports={port="key"}}])                which this uses
//	BT.sequence([name,] {children…})
//	BT.selector([name,] {children…})
//	BT.reactive_sequence([name,] {children…})
//	BT.reactive_selector([name,] {children…})
//	BT.switch([name,] {BT.case(value, child)…}, {key="key" [, default=child]})
//	BT.parallel([name,] {children…} [, {succeed="all"|"one"|n}])
//	BT.for_each([name,] child, {list="key", item="key" [, min=n] [, continue_on_failure=true]})
//	BT.timeout([name,] child, {seconds=n})
//	BT.retry([name,] child, {retries=n [, backoff=n]})
//	BT.guard([name,] condition, child)
//	BT.cooldown([name,] child, {seconds=n})
//	BT.budget([name,] child, {tokens=n, money=n, seconds=n})   one of them at least
//	BT.inverter([name,] child)
//	BT.always_succeed([name,] child)
//	BT.always_fail([name,] child)
//	BT.loop([name,] child [, {times=n, stop_on="success"|"failure"}])
//	BT.action(name, {fn="function" [, args={…}]})
//	BT.condition(name, {fn="function" [, args={…}]})
//	BT.llm_call([name,] {prompt_keys={"key"…} [, model=] [, stream_key=] [, budget=] [, timeout=] [, retries=] [, backoff=]})
//	BT.tool(name, {tool="name" [, args={…}] [, from={argument="key"}] [, result="key"]})
//	BT.script(name, {source=[[…]] [, timeout=n]})
//
// BT.loop makes the node that bt calls repeat, which is a word of Lua.
//
// # Scripts
//
// A script decides a leaf. It returns true or BT.SUCCESS, or false or BT.FAILURE; one that
// returns nothing, or anything else, fails. It reads the blackboard with bb.get(key) and
// sets keys with bb.set(key, value) and bb.set_global(key, value), which take effect when
// it has ended without an error. A table with elements 1 to n is a list, one with named
// fields a map; an empty one is a map if the key has a map, and else a list.
//
// # What Lua is here
//
// Lua 5.5 with the functions assert, error, getmetatable, ipairs, next, pairs, pcall, print,
// rawequal, rawget, rawlen, rawset, select, setmetatable, tonumber, tostring, type and
// xpcall, and the libraries string (without dump, pack, packsize and unpack), table, math
// (without random) and utf8. There is no os, io, debug, package, load or coroutine, no __gc,
// and no arithmetic on strings. A variable that was never set is an error, and not nil.
//
// Nothing in a file depends on chance: pairs goes through numbers, then strings, in order,
// and tostring shows no addresses.
//
// Files are not trusted. Time, steps, memory and nesting are bounded, whatever a file or
// script does, pcall and metamethods included; what uses more is ended with [ErrLimit].
package lua
