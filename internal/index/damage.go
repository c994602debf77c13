package index

import (
	"errors"
)

// Damage says that a file of the index is not what was written.
type Damage struct {
	File string // its name in the index's directory
	What string // what is wrong with it
	Err  error  // the cause, if there is another error
}

func (d *Damage) Error() string {
	text := d.File + " of the index: " + d.What
	if d.Err != nil {
		text += ": " + d.Err.Error()
	}
	return text + ": the index is rebuilt from the ledger; `signalbox up` does that by itself"
}

func (d *Damage) Unwrap() error { return d.Err }

var (
	// ErrFailed is returned by everything that writes after a sync failed: nobody knows
	// what is on the disk then. Open the index again.
	ErrFailed = errors.New("the index takes nothing more after a failed write: start again")

	// ErrClosed is returned by everything after Close.
	ErrClosed = errors.New("the index is closed")
)
