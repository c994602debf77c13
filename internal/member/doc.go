// Package member is one member of a cluster that keeps one log: what it writes, sends, applies and answers, as a function of what it is
// told. It has no clock, disk, network or goroutine. docs/cluster-protocol.md says the rules in words, and what each is for.
//
// # The host's part
//
// A host calls [Start] with what the log holds, then inputs ([Member.Tick], [Member.Receive], [Member.Propose], [Member.Read],
// [Member.Want], [Member.Fetched]), and after those [Member.Next] until its [Output] is empty. It carries out an output in the order of its
// fields: it writes and syncs, calls [Member.Written], and only then sends the rest, applies and answers. While it writes, it may call
// inputs, but not Next. A crash at any of these points is harmless.
//
// # Whose rules
//
// Elections, the log's order and what is committed are the raft library's (go.etcd.io/raft). Ours is all around: what stands in a batch
// and is synced before what goes out, cutting back by a record, deciding against the whole log and after all earlier terms,
// blobs before entries, who is a member and under which id, and disks that come back older than they were.
//
// Election timeouts are drawn by the library, from crypto/rand. Nothing else is left to chance.
package member
