// Package runner carries out what runs need on one machine: worktrees, agents' sessions, checks, merges. It alone
// knows git, sandboxes and processes.
//
// An [order.Order] is a value with all that a runner needs to know, and what comes of it is an input of package
// delivery. The [order.Conductor] who gave the order decides what follows; a runner decides nothing about a run.
//
// A runner is made by [New], carries out any number of orders at once ([Runner.CarryOut]), each until its context
// ends, and is stopped once, after its orders have ended. Nothing that it knows has to outlive it: what a
// runner that was killed has left, worktrees, sessions that run on, reports that nobody took, is found again by
// the next one. What it hands in is recorded when HandIn returns.
package runner
