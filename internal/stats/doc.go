// Package stats says how agents do, by what the ledger has of them. It is pure: a [Fold] makes facts of events, one after
// another, and a [Table] counts them by agent and model. Both hold what concerns runs that go on, and one row for each agent
// and model, however long the ledger is.
//
// Only agents that a box starts are counted. Who works by hand has no session whose turns and cost the ledger knows.
package stats
