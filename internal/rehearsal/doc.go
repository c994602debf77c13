// Package rehearsal runs a behaviour tree without doing anything: each leaf answers what
// a text says, and the trace shows what the tree makes of that. It has no clock: seconds
// pass as fast as they can.
//
// # Results
//
// A line of the text has the name of a leaf and its results, one for each time it is
// asked; the last one holds from there on. Leaves of one name share their results. A leaf
// without a name goes by its kind, and one whose name has a colon or quotes is written as
// a JSON string.
//
//	# A comment.
//	fetch: running running success {"pages": ["a", "b"]}
//	ask: temporary success global {"answer": "yes"}
//	think: success spent {"tokens": 1200, "money": 0.02}
//	"odd: name": panic
//	otherwise: success
//	ticks: 0s 1s 90s
//
// The results are success, failure, running, panic, and temporary: the failure of an
// llm_call that may pass. The keys that a leaf sets follow its result; those after the
// word global are set in the global scope. After the word spent stands what it used up,
// which counts against a budget.
//
// The line otherwise is for the leaves that have none; without it they succeed. The line
// ticks says when the tree is ticked, even after it has finished. Without it the tree is
// ticked until it has finished: when that is due, and each second while a leaf is RUNNING.
package rehearsal
