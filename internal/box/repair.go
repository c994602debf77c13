package box

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/engine"
)

// Repair rebuilds what is damaged in a box's ledger, from the copy that proves
// itself, and then opens the box to see that all is well. The box must not run. It
// returns what it did, in words; what it replaces is kept.
func Repair(ctx context.Context, o Options) (done []string, found Found, err error) {
	if _, err := os.Stat(o.Dir.path(signerFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, Found{}, fmt.Errorf("%w: %s has no %s: give the right directory, or put the key back from a copy", ErrNoDir, o.Dir, signerFile)
	}
	o.Archive = o.Dir.Archive(o.Archive)
	release, err := o.lock()
	if err != nil {
		return nil, Found{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if entries, err := os.ReadDir(o.Archive); o.Files == nil && (err != nil || len(entries) == 0) {
		return nil, Found{}, fmt.Errorf("%s holds no archive: is it on another disk? Name it with --archive, or put it back from a copy; it is not made from the engine's store alone", agentsig.Escape(o.Archive))
	}
	if done, err = repair(ctx, o); err != nil {
		return done, Found{}, o.locate(err)
	}
	b, found, err := open(ctx, o)
	if err != nil {
		return done, Found{}, o.locate(err)
	}
	return done, found, b.Close()
}

func repair(ctx context.Context, o Options) (done []string, err error) {
	keys, err := o.Dir.keys()
	if err != nil {
		return nil, err
	}
	log, err := engine.Open(ctx, engine.Options{Dir: o.Dir.Engine()})
	if err != nil && !errors.Is(err, engine.ErrDamaged) {
		return nil, err
	}
	var stream archive.Stream // stays nil if the engine can't be opened
	if err == nil {
		stream = log
	}
	empty := func(ctx context.Context) (archive.Stream, error) {
		if log != nil {
			if err := log.Close(); err != nil {
				return nil, err
			}
		}
		kept, err := o.Dir.setAside(engineDir)
		if err != nil {
			return nil, err
		}
		if kept != "" {
			done = append(done, "the engine's store as it was is kept in "+kept)
		}
		log, err = engine.Open(ctx, engine.Options{Dir: o.Dir.Engine()})
		return log, err
	}
	did, err := archive.Repair(ctx, o.files(), keys, stream, empty)
	done = append(done, did...)
	if log != nil {
		err = errors.Join(err, log.Close())
	}
	return done, err
}

// setAside renames a part of the directory, and returns its new name; "" if it
// was not there.
func (d Dir) setAside(name string) (string, error) {
	for n := 1; ; n++ {
		kept := fmt.Sprintf("%s.damaged-%d", name, n)
		if _, err := os.Stat(d.path(kept)); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return "", err
			}
			continue
		}
		err := os.Rename(d.path(name), d.path(kept))
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return kept, errors.Join(err, durable.SyncDir(string(d)))
	}
}
