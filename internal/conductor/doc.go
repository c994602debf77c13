// Package conductor brings runs on. Each run has one decider, which takes what happens to the run one by one, has
// the rules of package delivery decide what follows, records it, and gives orders to a [order.Runner]. What comes of an order
// goes back to the [Conductor] as a value; so the runner may be in this process or elsewhere. Everything that outlives
// the process is in the [Ledger]: a conductor that starts on it gives the orders that are still due, with the ids that
// they had.
//
// A conductor is made by [New], begins with [Conductor.Start] and ends with [Conductor.Stop], once each. It stops before
// its runner, which it needs to the last, and before its ledger, which it records in. Stop ends all orders that are
// under way and returns when they have ended; agents' sessions go on without it. [Conductor.Drain] ends those too.
//
// The package decides and waits; it knows no file, no process, no git and no HTTP.
package conductor
