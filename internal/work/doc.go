// Package work is the life of a work item: which phase it is in, who holds it,
// and what may happen next. It is pure: [Decide] takes an item and a command and
// gives the event to record, [Evolve] takes an item and an event and gives the
// item after it. Time, identity and order come in as values.
//
// # The lease
//
// An item has one holder at most, and what it does with it is a session, also if a
// person claimed it by hand. A grant is an event on the item and carries a
// [Token] that only rises. Whoever ends the session, releases the lease or takes
// it away names the token, and [Decide] refuses any but the latest. Since the
// event that follows is appended only if nothing else happened to the item
// meanwhile, a holder whose lease was taken can't move it: the fence is the write
// itself. What such a holder reports is recorded as late, and moves nothing.
//
// A lease lasts for its term from the grant or the last renewal. The caller keeps
// the time. A renewal is not recorded; an expiry is, when it takes the lease away. A restart gives every open lease one full term.
package work
