// Package memberlog says what the log of a cluster's member holds: entries, the state that each batch repeats, and which batches may follow
// each other. It is the seam between package member, which decides what is written, and package archive, which writes and reads it.
package memberlog
