// Package engine says what orders the ledger's events.
//
// A [Log] is one sequence of records. Each record lies on a subject, and is
// appended only if its writer knew the last record on that subject: of two
// writers who know the same, one wins and the other gets [ErrConflict]. That
// compare-and-set is all that decides anything in the ledger.
//
// The log of one box is its archive (archive.Log), and there an append ends in a sequence, in
// [ErrConflict], or because the box stops. A log that several boxes share has more ways
// to end; callers tell them apart with errors.Is:
//
//   - a sequence: the record is stored;
//   - [ErrUnknown]: nobody knows. The record may be stored now, later or never, so
//     read back before trying again. Trying again with the same last sequence is
//     harmless: at most one of the two is stored;
//   - [ErrConflict]: nothing was stored, and another writer was first;
//   - any other error: nothing was stored. After [ErrNotReady] it can be tried again.
package engine
