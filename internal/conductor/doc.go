// Package conductor brings runs on. Each run has one decider, which takes the run's inputs one at a time, has
// the rules of package delivery decide what follows, records it, and gives orders to a [order.Runner]. What comes of an order
// goes back to the [Conductor] as a value. Everything that outlives
// the process is in the [Ledger]: a conductor that starts on it gives the orders that are still due, with the ids that
// they had.
//
// A conductor is made by [New], begins with [Conductor.Start] and ends with [Conductor.Stop], once each. Stop it before
// its runner is stopped and before its ledger is closed. Its orders end when it is stopped or the ledger takes nothing more,
// and Stop returns when they have ended. A result that came too late to be recorded is not lost: its order is still due, and
// the next conductor gives it again. Agents' sessions go on after Stop; who wants to end them too calls [Conductor.Drain]
// before. A conductor that is never started delivers nothing, and says so.
//
// The package decides and waits; it knows no file, no process, no git and no HTTP.
package conductor
