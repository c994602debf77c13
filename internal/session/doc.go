// Package session is one agent's process and what belongs to it. The runner starts it as a
// process of its own, which outlives the box: an upgrade costs no running agent.
//
// The agent's program is driven by an adapter of package agent, which makes events of what it
// says and does. A session works through turns. A turn begins with a prompt and ends when the
// adapter says so: for a plain program, when it ends or has said a terminal signal and
// fallen silent. Each turn is reported; then the session waits for the box, which sends a
// further prompt or the end. A signal that does not end the turn is reported at once.
//
// All that a session has to tell lies in its directory before anybody hears of it. A
// report is a file of the outbox until the box has answered it, so it is told at least
// once and in order, however often box and session lose each other. If the session itself
// is killed, the runner finds out by the lock, ends what is left of the agent ([Clean]) and
// takes the reports from the files ([HandIn]). A session that no longer answers, as its agent may have
// stopped its process, is killed by the runner ([Kill]).
//
// A session ends its agent, with all processes that come from it, when it is told to, when
// the box answers that it is none of its own any more, when a turn takes too long or nothing is heard of the agent, and
// when the box stays away for too long.
//
// What an agent prints is untrusted. It is read in pieces and kept up to a limit; only what
// the scanner found, and the last few lines, are held in memory.
//
// A session decides nothing about a run. [Write] prepares its directory, which is used once, [Start] starts the process, and
// [Run] is that process.
package session
