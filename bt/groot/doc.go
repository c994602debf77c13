// Package groot reads and writes behaviour trees in the XML of BehaviorTree.CPP 4, so that
// a tree can be drawn and changed in Groot2 and be run here.
//
// # What stands for what
//
//	Sequence, Fallback            sequence, selector
//	ReactiveSequence, ReactiveFallback
//	Switch2 to Switch6            switch, with a child for all other values
//	Parallel                      parallel; failure_count has to be what is left when
//	                              success_count can't be reached any more
//	RetryUntilSuccessful          retry, with one retry less than attempts
//	Repeat                        repeat; -1 is without end, and so is KeepRunningUntilFailure
//	Timeout                       timeout
//	Inverter, ForceSuccess, ForceFailure
//	AlwaysSuccess, AlwaysFailure  an empty sequence, an empty selector
//	SubTree                       subtree, with its ports; if no model declares any, those
//	                              that are bound, in and out
//	Action, Condition, and names  functions with bound arguments
//
// An attribute of an action or a condition is an argument: a number, true or false, a
// value in JSON after "json:", and otherwise a text. A blackboard's key in braces stays
// that text; [Key] tells a function which it is. "{=}" and "=" are the key that has the
// attribute's name, in braces.
//
// What BehaviorTree.CPP does not have is written as a node of a name of its own, which the
// TreeNodesModel declares: [Write] says which. What is not here is refused by its name:
// scripts in BehaviorTree.CPP's language, pre- and postconditions, includes, and others.
//
// Files may be anybody's: they have no document type and no entities, and are bounded in
// size, depth and number of nodes.
package groot
