package archive

import "errors"

// Damage is a refusal: something could mean that an acknowledged event is lost or
// altered, and a person has to look at it. In its text events are counted from 1, as
// sequences are.
type Damage struct {
	Where  string // the file
	What   string // what is wrong with it
	Advice string // what to do
	Err    error  // the cause, if there is another error
}

func (d *Damage) Error() string {
	text := d.Where + ": " + d.What
	if d.Err != nil {
		text += ": " + d.Err.Error()
	}
	return text + ": " + d.Advice
}

func (d *Damage) Unwrap() error { return d.Err }

const (
	adviceRepair = "run `signalbox ledger repair`"
	adviceBackup = "put the file back from a copy of the archive; it can't be made again"
	adviceKey    = "use the key that this archive was made with; if this is the one, run `signalbox ledger repair`"
	adviceDir    = "put the archive's directory back, or give the right one; is its disk there?"

	adviceVerify = "start the box with `signalbox up --verify` to see which of them is right"
)

var (
	// ErrFailed is returned by everything that writes after a write to the log
	// or a sync failed: nobody knows what is on the disk then. Open the archive
	// again.
	ErrFailed = errors.New("the archive takes nothing more after a failed write: start again")

	// ErrNotStarted is returned by everything that writes before Start.
	ErrNotStarted = errors.New("the archive was not started yet")

	// ErrNotSealed is returned for the proof of an event that no checkpoint
	// covers yet.
	ErrNotSealed = errors.New("no checkpoint covers the event yet")

	// ErrClosed is returned by everything that writes after Close.
	ErrClosed = errors.New("the archive is closed")
)

func isDamage(err error) bool {
	var d *Damage
	return errors.As(err, &d)
}
