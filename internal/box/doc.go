// Package box records: it takes requests, appends the events they lead to, folds
// them, and hands work to whoever waits for it. It knows no HTTP, no git and no
// process; runs are brought on by package conductor, which the box tells what has moved.
// It decides nothing itself: package work decides on items, package delivery on runs.
//
// # How an event comes about
//
// A request is decided on the folded state (package work). The event is appended
// to the archive's log, on the item's subject, on the condition that the item's
// last event is still the one that was decided upon. One goroutine, the log's writer,
// takes the appends that have gathered, checks their conditions, writes one batch
// with one fsync, folds it into the state, and answers; what became claimable is given
// to claims that wait. So a request is answered only when its event is in the archive,
// and the state is the fold over archived events and nothing else.
//
// If the condition fails, someone was first: nothing was written, the state has the
// event that won, and the request is decided again. The log of one box always knows the outcome. Package engine
// allows for logs that do not; then the request's key tells whether the event was recorded.
//
// # What is in memory
//
// What is live. Items that are completed, runs that have ended and conversations that were
// answered leave memory once the index on disk has them. They are folded again from the archive when
// they are asked for.
//
// # Start and stop
//
// [Open] takes the directory, brings the state back and starts the log's writer, the
// sealer, the scrub and the timers of leases. What a request was answered with is
// durable by then, whatever happens to the box. [Box.Stop] ends what waits, and lets nothing more be
// recorded. [Box.Close] does that too, waits for all that was started, seals, keeps the state as a
// snapshot and leaves the directory; it is called once, by who opened the box, after
// everybody else has stopped who uses it.
package box
