// Package ledger proves what happened: events in an order that cannot be
// changed quietly, and proofs that a third party can check.
//
// An [Event] is one JSON document; its exact stored bytes are what is hashed.
// Two structures hold the events together:
//
//   - a chain for each subject: every event names the hash of the one before it
//     on the same subject, so the history of one item can be checked alone;
//   - a Merkle tree over all events (RFC 6962), whose root a [Checkpoint] signs,
//     so that a small [Proof] shows that an event is in the order that was
//     signed, and that one checkpoint continues another.
//
// A [Tree] holds all hashes in memory and proves from them. An [Edge] holds what
// is needed to go on, whatever the number of events; [OpenFiles] proves from tiles.
//
// What is too large for an event is a [Blob] beside the ledger. It can be removed:
// its hash stays, and an event of the type [TypeBlobRemoved] says so.
//
// An event is signed through the checkpoint that covers it. What is proven is
// that the holder of the key signed this order, not that a claim in an event is
// true.
package ledger
