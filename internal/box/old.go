package box

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/durable"
)

// Versions before this one ordered events in an engine of its own, whose store lies in the box's
// directory, and kept them in the archive. What only the engine had was never acknowledged: so
// the archive is taken as it is, if its log is whole.
const (
	engineDir   = "engine"
	engineAside = "engine.old"
)

const adviceOld = "start the version of Signalbox before this one here once, and stop it again: it mends the log from its engine's store"

// hasEngine reports whether a version before was the last to run here.
func (d Dir) hasEngine() (bool, error) {
	_, err := os.Stat(d.path(engineDir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// openArchive looks at the archive. Where a version before was the last to run, one whose log is not
// whole is refused: the rest of it may be in the engine's store, which only that version can read.
func (o Options) openArchive(keys archive.Keys) (*archive.Archive, *archive.Journal, error) {
	if o.Cluster != nil {
		return archive.OpenMember(o.files(), keys)
	}
	a, err := o.openOwn(keys)
	return a, nil, err
}

// openOwn opens the archive of a box that stands alone.
func (o Options) openOwn(keys archive.Keys) (*archive.Archive, error) {
	old, err := o.Dir.hasEngine()
	if err != nil {
		return nil, err
	}
	a, err := archive.Open(o.files(), keys)
	var damage *archive.Damage
	switch {
	case old && errors.As(err, &damage):
		damage.Advice = adviceOld
		return nil, err
	case err != nil:
		return nil, err
	case !old || a.Unfinished() == "":
		if !a.Fresh() {
			return a, nil
		}
		if err := o.Dir.refuseGone(o.Archive); err != nil {
			return nil, errors.Join(err, a.Close())
		}
		return a, nil
	}
	return nil, errors.Join(&archive.Damage{
		Where: a.Unfinished(), What: "it does not end with a whole write, and the engine's store in " + o.Dir.path(engineDir) + " may have the rest",
		Advice: adviceOld,
	}, a.Close())
}

// refuseOld refuses to repair what the version before can mend, from its engine's store.
func (o Options) refuseOld(keys archive.Keys) error {
	old, err := o.Dir.hasEngine()
	if err != nil || !old {
		return err
	}
	a, err := o.openOwn(keys)
	if err != nil {
		return err
	}
	return a.Close()
}

// setEngineAside renames the engine's store of a version before, and says so.
func (d Dir) setEngineAside() (notes []string, err error) {
	old, err := d.hasEngine()
	if err != nil || !old {
		return nil, err
	}
	aside, err := free(d.path(engineAside))
	if err == nil {
		err = os.Rename(d.path(engineDir), aside)
	}
	if err != nil {
		return nil, err
	}
	if err := durable.SyncDir(string(d)); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("the archive of a version before is taken as it is; that version's engine is not needed any more and was set aside as %s: remove it when you like", aside)}, nil
}

// free returns a path, or the first of path.2, path.3 and so on that names nothing yet.
func free(path string) (string, error) {
	name := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		} else if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s.%d", path, n)
	}
}
