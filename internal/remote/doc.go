// Package remote is a runner on another machine than its box's: it dials the box, says that it is there, follows what is to be
// under way, and has [runner.Runner] carry it out, with a repository of its own in the place of the user's checkout.
//
// Its sessions do not know the difference: they find a box in the runner's directory, a Unix socket, and whatever they say there is passed on
// to the box over the runner's own connection. While the box is away they wait for it, as they do beside a box.
//
// What an agent has committed, or left, is pushed to the box before the word is passed on that says so, so the box never waits for
// this machine to judge what was handed in. What came of an order is handed in until the box has recorded it or refused it for good.
//
// A [Remote] is opened once in a directory, which it keeps for itself, runs until its context ends, and is closed. Sessions go
// on without it, and the next one in the same directory finds them.
package remote
