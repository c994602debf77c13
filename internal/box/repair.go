package box

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Repair rebuilds what is damaged in a box's ledger, from the copy that proves
// itself, and then opens the box to see that all is well. The box must not run. It
// returns what it did, in words; what it replaces is kept.
func Repair(ctx context.Context, o Options) (done []string, found Found, err error) {
	if _, err := os.Stat(o.Dir.path(signerFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, Found{}, fmt.Errorf("%w: %s has no %s: give the right directory, or put the key back from a copy", ErrNoDir, o.Dir, signerFile)
	}
	if err := o.hold(ctx, o.expectSome); err != nil {
		return nil, Found{}, err
	}
	defer func() { err = errors.Join(err, o.held.release()) }()
	keys, err := o.Dir.keys()
	if err != nil {
		return nil, Found{}, err
	}
	if err := o.refuseOld(keys); err != nil {
		return nil, Found{}, o.locate(err)
	}
	if done, err = archive.Repair(ctx, o.files(), keys); err != nil {
		return done, Found{}, o.locate(err)
	}
	o.Verify = true
	b, found, err := open(ctx, o)
	if err != nil {
		return done, Found{}, o.locate(err)
	}
	return done, found, b.Close()
}

// expectSome refuses to repair where there is nothing.
func (o *Options) expectSome() error {
	if entries, err := os.ReadDir(o.Archive); o.Files == nil && (err != nil || len(entries) == 0) {
		return fmt.Errorf("%s holds no archive: is it on another disk? Name it with --archive, or put it back from a copy", safetext.Escape(o.Archive))
	}
	return nil
}
