// Package box is the shell around the decisions: it takes requests, appends the
// events they lead to, and hands work to whoever waits for it.
//
// # How an event comes about
//
// A request is decided on the folded state (package work). The event is appended
// to the engine's log, on the item's subject, on the condition that the item's
// last event is still the one that was decided upon. One goroutine, the follower,
// watches the log: it writes what comes to the archive, with one fsync for all
// that is there, folds it into the state, wakes the requests that wait for it,
// and gives what became claimable to claims that wait. So a request is answered
// only when its event is in the archive, and the state is the fold over archived
// events and nothing else.
//
// If the condition fails, someone was first: the request is decided again once
// the state has caught up. If the engine does not answer, the outcome is unknown:
// the state catches up, and the request's key tells whether it was recorded.
package box
