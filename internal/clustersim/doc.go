// Package clustersim plays clusters: a seeded world of boxes, disks and a network that all misbehave, around members of
// internal/member. It has tests only.
//
// # World
//
// The members are the real ones. A step is one thing that happens: a tick, a message that arrives, a sync that ends, a client that
// proposes or reads, a blob or an archive that arrives, a checkpoint, a crash, a start, a link that is cut, a disk that is lost, emptied or
// put back, an operator who adds, replaces or removes members. Messages are lost, doubled, late and out of order. A crash keeps any
// beginning of what was written and not synced. Clocks go at different speeds.
//
// After some steps of chaos the world is calm: every link is whole, every box runs, and then the cluster has to come to rest with the
// members that are wanted, equal logs, a proposal that is stored and a read that is answered.
//
// # Judge
//
// What holds is looked at from outside, with no code of the members': in what was synced, applied and answered.
//
// # Same seed, same steps
//
// A world runs in one goroutine, and all chance comes from its seed. The library draws its election timeouts from crypto/rand, so
// the world puts a reader of its own there.
package clustersim
