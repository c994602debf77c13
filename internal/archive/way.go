package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/signalbox-dev/signalbox/internal/regular"
)

const adviceAway = "move it away, and run `signalbox ledger repair`"

// inTheWay says of an error in reading files what has to be moved away, if it is something that no archive
// has: a pipe, a link, a directory, what is too long for a file there; or what is no directory. Repair does
// not do that: it keeps what it replaces, and this it can't copy.
func inTheWay(files FS, err error) error {
	if err == nil || isDamage(err) {
		return err
	}
	if large, ok := errors.AsType[*regular.TooLargeError](err); ok {
		return &Damage{Where: large.Path, What: fmt.Sprintf("it has more than the %d bytes that it can have", large.Most), Advice: adviceAway}
	}
	of, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	for dir := path.Dir(of.Path); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if _, err := files.ReadDir(dir); errors.Is(err, regular.ErrNoDirectory) {
			return &Damage{Where: dir, What: regular.ErrNoDirectory.Error(), Advice: adviceAway}
		}
	}
	if !errors.Is(err, regular.ErrIrregular) && !errors.Is(err, regular.ErrNoDirectory) {
		return err
	}
	where := of.Path
	if _, ok := segmentFirst(where); ok { // of a log that lies elsewhere
		where = logDir + "/" + where
	}
	return &Damage{Where: where, What: of.Err.Error(), Advice: adviceAway}
}

// inTheMirrorsWay does the same for the files of the log's mirror.
func inTheMirrorsWay(mirror FS, err error) error {
	err = inTheWay(mirror, err)
	if d, ok := errors.AsType[*Damage](err); ok && d.Advice == adviceAway {
		return &Damage{Where: "the mirror of the log, " + path.Base(d.Where), What: d.What, Advice: d.Advice}
	}
	return err
}
