// Package raftlog is the log that a cluster's members share, as an [engine.Log]: one member of it, package member, between its disk, which is
// package archive's, and the others, which a [Transport] reaches.
//
// One goroutine, the loop, does all that a member says, in the order that it says: it sends what may go out early, writes and
// syncs, sends what depends on that, and hands what is committed to archive and fold. Only what is committed gets there. While
// it syncs, messages and appends gather for the next round, so that one sync serves for all of them.
//
// An append ends in a sequence when its event is synced in a majority of the voters, committed and folded here. It ends in
// [engine.ErrConflict] when what it lost against is committed and folded; with [engine.ErrNotReady] if nothing was stored and
// it can be tried again, here or with the member that leads ([Log.Status]); and in [engine.ErrUnknown] when its caller waits no longer, or when
// this member stops, after it was put into the log.
//
// What waits is bounded: appends by their callers, messages from others and to each of them by bytes. What is beyond that is dropped, as if
// the network had lost it. So a member that is slow, dead or cut off holds up nobody but itself.
package raftlog
