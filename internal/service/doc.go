// Package service runs a box with all that belongs to it, and is where the order of starting and stopping is.
//
// It starts what others need first: the checkout is opened, if plans are delivered or work by hand is checked, the box takes its directory and brings its state back, the conductor is made on it,
// the runner is made for the conductor, the runs that go on are brought on, and last requests are answered. To stop,
// the box lets nothing more be recorded, which also ends requests that wait; then the conductor ends its orders, the runner
// what it does by itself, and last the box seals what was recorded, keeps its state and leaves its directory. What an
// order has to say in between is not recorded, and the order is given again at the next start. Each of them is started once
// and stopped once, by this package, and returns from its stop when nothing of it runs any more. Nothing that was
// acknowledged depends on a stop: a service that is killed goes on from its log.
package service
