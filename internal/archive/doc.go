// Package archive keeps the ledger's events in files that prove themselves.
//
// The engine orders events, and is not trusted to keep them. The archive is the
// point of durability: an event is acknowledged only after [Archive.Append] has
// returned, and then it is in the log and synced. The archive lies in a directory
// of its own:
//
//	log/<index>.log     what was appended, one checksummed batch for each Append
//	tile/..., checkpoint  the sealed ledger, laid out as package ledger has it
//	blob/...            what events refer to, by hash
//	key                 the verifier's key
//	tmp/                files that are being written
//
// [Archive.Seal] writes the events that were added into tiles and bundles and
// signs a checkpoint over them. What is in full bundles leaves the log; what is in
// the last, partial bundle is in the log too. So the archive's events are the full
// bundles, proven by the signed root, followed by the log, proven by checksums and
// as far as it is sealed by the root. Everything else in the tile directory is
// derived from them.
//
// A file is replaced by writing another one beside it, syncing it, renaming it and
// syncing the directory. Only the log is written in place, and there a batch is
// begun only after the one before it was synced: a write that a power cut tore is
// always the last one, and was never acknowledged. Anything else that is broken is
// damage.
//
// [Open] looks at the archive alone, [Archive.Reconcile] holds it against the
// engine's stream, event by event; event i of the archive is record i+1 of the
// stream. Reconcile heals what is derived and gives back to the stream an end that
// it lost. Both refuse with [Damage] whatever could mean that an acknowledged event
// is lost or altered. [Repair] is for a person to run after that: it rebuilds each
// copy from what is proven, and deletes nothing.
//
// One loss can't be seen: that of the newest events, not sealed yet, from both
// copies at once, if the log ends there as a torn write would.
//
// An archive belongs to one process. Whoever opens it sees to that.
package archive
