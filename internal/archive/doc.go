// Package archive keeps the ledger's events in files that prove themselves, and orders them.
//
// It is the point of durability: an event is acknowledged only after [Archive.Append] has
// returned, and then it is in the log and synced. [Log] is the archive as an [engine.Log]. The
// archive lies in a directory of its own:
//
//	log/<index>.log     what was appended, one checksummed batch for each Append
//	tile/..., checkpoint  the sealed ledger, laid out as package ledger has it
//	blob/...            what events refer to, by hash
//	key                 the verifier's key
//	mirror              there if the log has a mirror
//	tmp/, log/*.tmp     files that are being written
//
// # Two copies
//
// [Archive.Seal] writes the events that were added into tiles and bundles and signs a
// checkpoint over them. The log's files (segments, of about 1 MB) stay. So each sealed event lies
// in two formats: in a bundle, proven by the Merkle tree up to the signed root, and in a
// segment, proven by the checksums of its batch. Everything else in the tile directory
// is derived from them. Each copy rebuilds the other ([Repair]). What is single is what no
// checkpoint covers yet, about the last second.
//
// The log may lie on another disk ([Split]), and may be written to a second directory too
// ([Mirrored]), so that nothing is single. An append is acknowledged when both are synced. The
// mirror has the segments with events that are not in full bundles yet. At a start one has
// to be the beginning of the other: the longer one is taken, and the shorter one completed before
// anything is answered. Other bytes, a mirror that is gone, and one that ends before the checkpoint
// are refused. The file mirror, which is written when a new mirror was filled and removed when
// the archive is started without one, tells one that is lost from one that is new. A directory that
// holds a beginning of this log is taken as a new mirror, also if it is an old one.
//
// Archives of earlier versions have segments only for their end. That is no damage: a start says
// so and goes on, the scrub and [Verify] look at what is there, and [Repair] makes the rest.
//
// # A member's log
//
// The log of a cluster's member is a [Journal], in files of its own beside those of a single box's log:
//
//	log/member-<number>.log
//
// It holds what is not committed too, and what the member must not forget: its terms, votes and members. [Found] makes the log of a box that
// of a member, [OpenMember] opens it, and [Archive.Leave] makes it a single box's again. Each is refused in the other's place:
// the log itself says whose it is. What is committed is sealed as ever. What is not in bundles comes from the journal, and nothing in it is
// ever made from bundles, which don't have terms, votes and members.
//
// # Writing
//
// A file is replaced by writing another one beside it, syncing it, renaming it and
// syncing the directory. Only the log is written in place, and there a batch is
// begun only after the one before it was synced: a write that a power cut tore is
// always the last one, and was never acknowledged. It is cut off at a start, and nowhere else.
// Anything else that is broken is damage.
//
// # Starting
//
// [Open] reads the checkpoint, the tree's right edge, which it proves against the signed root, and
// the end of the log. [Archive.Start] heals what is derived, and makes the log's end durable before
// anything is answered: it writes the segments after the checkpoint anew. Otherwise a box could be killed
// between write and sync, answer from the page cache after its restart, and lose that in a power cut.
// A sync of the old files would prove nothing, as one may have failed before. Start refuses with
// [Damage] whatever could mean that an acknowledged event is lost or altered.
//
// Start looks at what comes after the checkpoint, or at everything. What it does not look at,
// [Archive.Scrub] does in the background, a stretch at a time. [Verify] needs no box.
//
// # Limits
//
// One loss can't be seen without a mirror: that of the newest events, not sealed yet, if the log ends
// there as a torn write would, or between two batches.
//
// An archive, with its log and mirror, belongs to one process. Whoever opens it sees to that.
package archive
