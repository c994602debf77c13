// Package bt runs behaviour trees: small programs that decide, again and again, what
// is to be done next, and whose run can be looked at, recorded, replayed and resumed.
//
// A tree is a description ([Tree], made of [Node] values by hand or, with bt/lua, from
// a file). [Compile] checks it against a [Library], which has the functions that its
// leaves call, and gives a [Program]. A [Run] of a program is ticked: [Run.Tick] goes
// down from the root, asks the leaves that are due, and returns RUNNING, SUCCESS or
// FAILURE. [Run.Drive] ticks until the tree has finished, and sleeps in between: a leaf
// that waits for something wakes it, nothing polls. [Program.Draw] and [Program.DrawSVG]
// draw a tree, with what a run did if it is given ([Program.Mark]).
//
// # What nodes do
//
//	sequence         children in order; the first failure fails it
//	selector         children in order; the first success succeeds
//	reactive_sequence, reactive_selector
//	                 the same from the first child on at each tick; gives up a child that
//	                 is RUNNING when one before it decides or is RUNNING
//	switch           the child for the value of a key, which is looked at at each tick
//	parallel         all unfinished children at each tick; succeeds when enough of them
//	                 have, fails when that can't be any more, or when two of them write
//	                 one key
//	for_each         its child for each element of a list
//	timeout          fails its child when it is still RUNNING after a while
//	retry            its child again when it fails: N retries are N+1 attempts
//	guard            its child while a condition holds, which is asked at each tick
//	cooldown         fails for a while after its child has finished
//	budget           fails when more tokens or money were used below it than may be
//	                 ([Context.Spend]), or when its child is RUNNING for too long
//	inverter, always_succeed, always_fail
//	repeat           its child again, so many times or until it succeeds or fails
//	action           calls a function
//	condition        calls a function that never returns RUNNING
//	llm_call         asks a model; tries again when it can't be reached
//	tool             calls a tool
//	script           runs a script
//	subtree          another tree, with a scope of its own
//
// Sequence and selector resume at the child that was RUNNING. RUNNING passes through
// every decorator. A node that finished and is ticked anew begins anew.
//
// # What is given up
//
// A child that is RUNNING when its parent ends, or goes on without it, is given up: it and
// all below it are FRESH. Each leaf there whose function returned RUNNING is told once, by
// its Halt function if it has one, in the order of the tree; the context of its [Async] work
// has ended then. It is not asked any more, can't set keys, and what it spends does not
// count. The same holds when the run is broken or closed, and for a leaf that is RUNNING
// and has set a key to what it can't have.
//
// # Time and order
//
// A tick is told what time it is; nothing here looks at a clock but [Run.Drive]. The
// same tree with the same times and the same results of its leaves gives the same
// trace, byte for byte. Leaves are asked one after the other, in the order of the tree.
// What takes long runs beside the tree ([Async]) and is RUNNING meanwhile.
//
// # A process that ends
//
// A [Recorder] writes down what leaves do. [Program.Replay] goes through a run again without
// them; [Program.Resume] goes on with one that was stopped anywhere, and does not run again
// what has run.
//
// # Faults
//
// A leaf that panics fails, with its stack in the trace. A context that ends stops a
// tick at the next node. An event that takes more than 1000 ticks, and a run in which
// nothing moves for 60 seconds, fail, unless its [Limits] say otherwise. A leaf that sets a
// key to what it can't have fails; if the tree does too, the error of [Run.Drive] says so. A leaf that finishes moves it, a sign of life of its
// work ([Context.Alive]) does, and so does a wait that is bounded: between attempts, and
// for a model.
package bt
