// Package benchmark states the time of a tick beside that of another behaviour tree
// library, joeycumines/go-behaviortree, on the same tree in the same run. It is a module
// of its own, so that bt keeps to the standard library:
//
//	cd bt/benchmark && go test -bench Tick
//
// It does so with a context that never ends and with one that may. The metric x_bt says
// how many times the time of bt's tick the other one takes: the median of rounds in which
// both are measured, one after the other; below 1 the other is faster. What the two do
// differs: bt traces each tick, keeps each node's status and times, recovers panics, looks
// at the context at each node, and resumes at the child that is RUNNING. The other does
// the last in its memorized form only, and nothing of the rest.
package benchmark
