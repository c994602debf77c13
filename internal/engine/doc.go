// Package engine orders the ledger's events.
//
// A [Log] is one sequence of records. Each record lies on a subject, and is
// appended only if its writer knew the last record on that subject: of two
// writers who know the same, one wins and the other gets [ErrConflict]. That
// compare-and-set is all that decides anything in the ledger.
//
// The log here, [JetStream], is a NATS server inside this process, without any
// listener: nothing outside the process reaches it. It promises order, not
// durability: what it acknowledged can be gone after a power cut, and a damaged
// file can cost it records without a word. Who needs more keeps a copy, compares
// it after [Open], and gives back with Restore what is missing.
//
// An append ends in one of four ways. Callers tell them apart with errors.Is:
//
//   - a sequence: the record is stored;
//   - [ErrUnknown]: nobody knows. The record may be stored now, later or never, so
//     read back before trying again. Trying again with the same last sequence is
//     harmless: at most one of the two is stored;
//   - [ErrConflict]: nothing was stored, and another writer was first;
//   - any other error: nothing was stored. After [ErrNotReady] it can be tried again.
package engine
