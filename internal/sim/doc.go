// Package sim plays whole deliveries against the rules of internal/delivery and
// internal/work: a seeded world of agents, gates, merges, messages and a person, in
// which all of them misbehave. It has tests only.
//
// # World
//
// The run and its items are folded from recorded events and from nothing else.
// Around them stands a model of the rim: session processes that take turns and send
// what came of them until it is acknowledged, over a channel that loses, doubles and
// reorders; gates, merges and baselines whose results are lost with the box; commands
// that are carried out twice or not at all; leases that run out. At any place between
// two appends the box may restart: then the fold of the record has to be what was at
// hand, and everything else is forgotten.
//
// # Schedules
//
// A schedule is a random number of steps of chaos, followed by calm: agents are
// honest, the person answers, and the run has to end with every task delivered that
// was not cancelled. Some schedules end with a silent person instead: then the run
// has to end, or wait for that person and nothing else.
//
// # Judge
//
// Whether the rules were kept is read off the recorded events by an outsider that
// shares no code with the rules.
package sim
