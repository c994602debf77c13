// Package service runs a box with all that belongs to it, and is where the order of starting and stopping is.
//
// It starts what others need first: the box takes its directory and brings its state back, the conductor is made on it,
// the runner is made for the conductor, the runs that go on are brought on, and last requests are answered. It stops in
// the other direction: requests end, the conductor ends the orders that are under way, the runner ends what it does by
// itself, and the box seals what was recorded, keeps its state and leaves its directory. Each of them is started once
// and stopped once, by this package, and returns from its stop when nothing of it runs any more. Nothing that was
// acknowledged depends on a stop: a service that is killed goes on from its log.
package service
