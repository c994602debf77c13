package archive

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/signalbox-dev/signalbox/ledger"
)

// Verify checks an archive or an export of one, and changes nothing: all that
// [ledger.Verify] checks, and if there is a log, its checksums and that it goes on
// from what is sealed. It returns how many events are not sealed yet. A box may
// write to the archive meanwhile: then it looks again.
func Verify(path, verifier string) (r ledger.Report, unsealed int64, err error) {
	for range 10 {
		before := mark(path)
		if r, err = ledger.Verify(os.DirFS(path), verifier); err == nil {
			unsealed, err = verifyLog(path, verifier)
		}
		if err == nil || bytes.Equal(before, mark(path)) {
			break
		}
	}
	var d *Damage
	if errors.As(err, &d) { // its advice is for who runs the box
		err = &ledger.VerifyError{Path: d.Where, Event: -1, Problem: errors.New(d.What)}
	}
	return r, unsealed, err
}

// mark changes whenever a box writes to the archive.
func mark(path string) []byte {
	files := Dir(path)
	m, _ := files.ReadFile(ledger.CheckpointPath) // if it can't be read, Verify has said so
	names, _, _ := segmentNames(files)
	if len(names) > 0 {
		last, _ := files.ReadFile(names[len(names)-1])
		m = fmt.Append(m, names[len(names)-1], len(last))
	}
	return m
}

func verifyLog(path, verifier string) (unsealed int64, err error) {
	a := &Archive{files: newStore(Dir(path)), keys: Keys{Verifier: verifier}}
	key, err := a.files.ReadFile(keyPath)
	switch {
	case missing(err):
	case err != nil:
		return 0, err
	case !bytes.Equal(key, keyFile(a.keys)):
		return 0, &ledger.VerifyError{Path: keyPath, Event: -1, Problem: fmt.Errorf("it is another key than the one that was given")}
	}
	if _, err := a.files.ReadDir(logDir); missing(err) {
		return 0, nil // an export
	}
	note, err := a.files.ReadFile(ledger.CheckpointPath)
	if err != nil {
		return 0, err
	}
	if err := a.readSealed(note); err != nil {
		return 0, err
	}
	if a.tail != nil {
		return 0, damagedLog(logDir, "its last batch, from event %d on, is damaged or was never finished", a.tail.first+1)
	}
	sealed := a.sealed.Size - a.full
	if sealed > 0 {
		bundle, err := readBundle(a.files, a.full/ledger.TileWidth, int(sealed))
		if err != nil {
			return 0, err
		}
		for i, stored := range bundle {
			if !bytes.Equal(stored, a.recent[i]) {
				return 0, damagedLog(logDir, "event %d is not the one that is sealed", a.full+int64(i)+1)
			}
		}
	}
	for i, stored := range a.recent {
		if _, err := ledger.Decode(stored); err != nil {
			return 0, &ledger.VerifyError{Path: logDir, Event: a.full + int64(i), Problem: err}
		}
	}
	return a.size() - a.sealed.Size, nil
}
