package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/ledger"
)

// Verified says what [Verify] found to be true.
type Verified struct {
	ledger.Report
	Log      bool  // there is a log, and it has the same events; an export has none
	Unsealed int64 // events in the log that no checkpoint covers yet
	Single   int64 // events that are in bundles only: no segment of the log has them
}

// Verify checks an archive or an export of one, and changes nothing: all that
// [ledger.Verify] checks, and if there is a log, its checksums, that it has the same events
// as the bundles, and that it goes on from them. A box may
// write to the archive meanwhile: then it looks again.
func Verify(ctx context.Context, fs FS, verifier string) (v Verified, err error) {
	for range 10 {
		before := mark(fs)
		v = Verified{}
		if v.Report, err = ledger.Verify(readable{fs}, verifier); err == nil {
			err = v.verifyLog(ctx, fs, verifier)
		}
		if err == nil || ctx.Err() != nil || bytes.Equal(before, mark(fs)) {
			break
		}
	}
	var d *Damage
	if errors.As(err, &d) { // its advice is for who runs the box
		err = &ledger.VerifyError{Path: d.Where, Event: -1, Problem: errors.New(d.What)}
	}
	return v, err
}

// mark changes whenever a box writes to the archive.
func mark(fs FS) []byte {
	m, _ := fs.ReadFile(ledger.CheckpointPath) // if it can't be read, Verify has said so
	names, _, _ := segmentNames(fs)
	if len(names) > 0 {
		last, _ := fs.ReadFile(names[len(names)-1])
		m = fmt.Append(m, names[len(names)-1], len(last))
	}
	return m
}

func (v *Verified) verifyLog(ctx context.Context, fs FS, verifier string) error {
	a := &Archive{files: newStore(fs), keys: Keys{Verifier: verifier}}
	key, err := fs.ReadFile(keyPath)
	switch {
	case missing(err):
	case err != nil:
		return err
	case !bytes.Equal(key, keyFile(a.keys)):
		return &ledger.VerifyError{Path: keyPath, Event: -1, Problem: errors.New("it is another key than the one that was given")}
	}
	if _, err := fs.ReadDir(logDir); missing(err) {
		return nil // an export
	}
	note, err := fs.ReadFile(ledger.CheckpointPath)
	if err != nil {
		return err
	}
	if err := a.readSealed(note); err != nil {
		return err
	}
	if a.tail != nil {
		return damagedLog(a.tail.segment, "its last batch, from event %d on, is damaged or was never finished", a.tail.first+1)
	}
	if v.Single, err = holdLog(ctx, fs, 0, a.sealed.Size, a.tiles().same); err != nil {
		return err
	}
	for i, stored := range a.recent {
		if _, err := ledger.Decode(stored); err != nil {
			return &ledger.VerifyError{Path: logDir, Event: a.full + int64(i), Problem: err}
		}
	}
	v.Log, v.Unsealed = true, a.size()-a.sealed.Size
	return nil
}
