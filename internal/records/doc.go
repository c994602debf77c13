// Package records copies what a session says, and what checks print, from the machine where that is written to the box, while it grows:
// with its secrets taken out before it leaves the machine.
//
// What is a secret can be known only later, by what follows: a copy is changed from where it differs. Its machine reads with a [Source], which gives a
// [Change] at a time; the box makes each with [Keep].
package records
