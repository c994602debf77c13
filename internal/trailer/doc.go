// Package trailer is about what stands at the end of the message of a merge that a
// box has made, so that the commit proves itself to whoever has the verifier's key:
//
//	Signalbox-Task: T-1
//	Signalbox-Run: R1
//	Signalbox-Event: 27
//	Signalbox-Checkpoint: ORIGIN SIZE ROOT SIGNATURE
//	Signalbox-Proof: EVENT HASHES
//
// If no auditor has looked at it, because its run was started without one, a line Signalbox-Audit: none stands
// before them.
//
// Before the merge is made, the box records which one it allows: a MergeAllowed
// event names the task, the run, both parents of the merge, and its tree. The
// checkpoint is signed after that, so it covers the event, and the hashes lead from
// the event to the signed root. [Check] goes the way back: signature, root, event,
// commit. Trailers that were edited do not lead there, and trailers that were moved
// lead to an event that names another commit.
//
// The message's other lines, the author and the dates are not bound. The event is
// recorded before the commit has a name; a WorkMerged event, recorded after it, has
// the name, for those who have the archive or a proof of it.
package trailer
