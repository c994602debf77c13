// Package faults breaks a box on purpose and looks for what it had acknowledged.
//
// It holds tests only. A crowd of clients works on a box over HTTP and keeps a
// record of every answer. Meanwhile the box is killed, or its power is cut, or
// its files are damaged. Afterwards every event that was acknowledged has to be in
// the ledger, with the content and at the place that were acknowledged, and none
// twice; or the box has to refuse to start and say what to do.
package faults
