// Package order is what conductor and runner agree on; neither imports the other. The conductor decides and gives an
// [Order], the runner carries it out and hands what came of it to the [Conductor]. Orders and results are values. Besides them
// both use one mailbox.Set, for what is said to sessions, so they run in one process. The package starts nothing and keeps nothing.
package order
