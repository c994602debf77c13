// Package runner carries out what runs need on one machine: worktrees, agents' sessions, checks, merges. Of box,
// conductor and runner it alone uses git, sandboxes and processes.
//
// An [order.Order] is a value with all that a runner needs to know, and what comes of it is an input of package
// delivery. The [order.Conductor] who gave the order decides what follows; a runner decides nothing about a run.
//
// A runner is made by [New], carries out any number of orders at once: [Runner.CarryOut] returns when the result is
// handed in, or its context has ended. It is stopped once, after its orders have returned; sessions go on. Nothing that it knows has to outlive it: what a
// runner that was killed has left, worktrees, sessions that run on, reports that nobody took, is found again by
// the next one. What it hands in is recorded when HandIn returns.
package runner
