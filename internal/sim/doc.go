// Package sim plays whole deliveries: a seeded world of agents, gates, merges, messages and a person, in which all of
// them misbehave, around the conductor that brings a box's runs on, by the rules of internal/delivery and
// internal/work. It has tests only.
//
// # World
//
// The conductor is the real one; its ledger is in memory, and its runner is the world. Session processes take turns
// and send what came of them until it is acknowledged, over a channel that loses, doubles and reorders. Orders fail,
// are carried out and their results lost, or go on until they are not due any more. An append may be refused, have an
// outcome that nobody knows, or be the last that the box does; and the box may be killed or drained at any time
// besides. Then the fold of the record has to be what was at hand, nothing may be left running, and the next box
// begins with the record and what is outside.
//
// In every fourth world three boxes keep the ledger, each with a fold of its own. After some events another one leads: a new conductor, or one that
// rested, while what was asked of the home goes on there for a while or ends, and who leads no more may notice late.
//
// # Schedules
//
// A schedule is a random number of steps of chaos, followed by calm: agents are
// honest, the person answers, and the run has to end with every task delivered that
// was not cancelled. Some schedules end with a silent person instead: then the run
// has to end, or wait for that person and nothing else.
//
// Each schedule has a bubble of package synctest, and its time. The world decides everything in one goroutine, while
// all others wait, and nothing by the order in which those came to do so: the same seed is the same schedule.
//
// # Judge
//
// Whether the rules were kept is read off the recorded events by an outsider that
// shares no code with the rules. What else the conductor has to do is looked at
// whenever it has come to rest: nothing is due and not recorded, each order that is due is under way, once, and no other.
package sim
