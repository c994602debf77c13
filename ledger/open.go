package ledger

import (
	"errors"
	"fmt"
	"io/fs"
)

// errIrregular is returned for what is no regular file: a link, a directory, a device or
// a pipe. What a stranger gave may hold any of them.
var errIrregular = errors.New("it is no regular file")

// openRegular opens a regular file. If the files can say what a name is without opening
// it, they are asked first: opening a pipe may wait for ever.
func openRegular(files fs.FS, path string) (fs.File, fs.FileInfo, error) {
	if info, err := statFirst(files, path); err != nil {
		return nil, nil, err
	} else if info != nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: %w", path, errIrregular)
	}
	file, err := files.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return file, nil, nil // whoever opened it knows what it is
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("%s: %w", path, errIrregular)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// statFirst says what a name is, without following it, or nothing if these files can't
// say so without opening it.
func statFirst(files fs.FS, path string) (fs.FileInfo, error) {
	switch files.(type) {
	case fs.ReadLinkFS, fs.StatFS:
		return fs.Lstat(files, path)
	}
	return nil, nil
}
