// Package runview is what people are shown of a run besides its board: its plan, its timeline and its cost, as a part of the page; and
// all of a run as a report, one file that asks nobody for anything.
package runview
