package agentformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A File is what became of a file that was asked for: it has a path or an error, never both.
// Its zero value is that none was asked for.
type File struct {
	Path string // absolute
	Err  error
}

// Save writes a result as JSON to <dir>/<name>_<YYYYMMDD_HHMMSS>.json, by the clock of at's
// place. It makes dir if it is not there. The directories it makes and the file are the owner's
// alone.
//
// The name may come from anywhere: what is not a letter of ASCII, a digit, '.', '_' or '-'
// becomes '_', and the file is always in dir. A file that is there is never written over: the
// new one gets _2, _3 and so on behind its time, also if several processes save at once. The
// file is durable and whole when Save returns; if it fails, nothing is left of it.
func Save(dir, name string, at time.Time, result any) File {
	return Limits{}.Save(dir, name, at, result)
}

// Save writes a result as [Save] does, and removes the oldest results of dir first if there would be more
// than the limits allow. A result that is larger than a file may be is not written. Whoever saves to one
// directory from several goroutines takes turns; several processes can be over the limits by a file each,
// until the next is saved.
func (l Limits) Save(dir, name string, at time.Time, result any) File {
	data, err := encode(result)
	if err != nil {
		return File{Err: err}
	}
	if err := l.makeRoom(dir, int64(len(data))); err != nil {
		return File{Err: err}
	}
	path, err := write(dir, fileName(name)+at.Format("_20060102_150405"), data)
	if err != nil {
		return File{Err: fmt.Errorf("the result could not be saved: %w", err)}
	}
	return File{Path: path}
}

func encode(result any) ([]byte, error) {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(result)
	if value := new(json.UnsupportedValueError); errors.As(err, &value) {
		return nil, fmt.Errorf("the result can't be saved: JSON has no NaN, no infinities and no cycles, and it contains %s: %w", value.Str, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the result can't be saved as JSON: %w", err)
	}
	return data.Bytes(), nil
}

// maxName is how many bytes of a name are kept: enough to know it by, and few enough for every
// file system with the time and a suffix behind it.
const maxName = 100

// fileName makes a name that stands for itself in any directory of any system: never empty, no
// separators, not hidden, and not a device of Windows, which takes CON.x for one as well as CON.
func fileName(name string) string {
	safe := func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}
	name = strings.TrimLeft(strings.Map(safe, name), ".")
	name = name[:min(len(name), maxName)]
	switch stem, _, _ := strings.Cut(name, "."); {
	case name == "":
		return "result"
	case isDevice(strings.ToUpper(stem)):
		return "_" + name
	}
	return name
}

func isDevice(stem string) bool {
	switch stem {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	port := strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")
	return port && len(stem) == 4 && '0' <= stem[3] && stem[3] <= '9'
}

// write puts data into a new file of dir and returns its path.
func write(dir, stem string, data []byte) (path string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if err := makeDir(dir); err != nil {
		return "", err
	}
	temporary, err := os.CreateTemp(dir, temporaryPrefix+"*") // which is the owner's alone
	if err != nil {
		return "", err
	}
	_, err = temporary.Write(data)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return "", errors.Join(err, os.Remove(temporary.Name()))
	}
	if path, err = reserve(dir, stem); err != nil {
		return "", errors.Join(err, os.Remove(temporary.Name()))
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return "", errors.Join(err, os.Remove(temporary.Name()), os.Remove(path))
	}
	if err := syncDir(dir); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// makeDir makes a directory and those above it as far as they are missing, and makes their names
// durable.
func makeDir(dir string) error {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		missing = append(missing, d)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range missing {
		if err := syncDir(filepath.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

// maxSuffix is how many files of one name a second can have.
const maxSuffix = 9999

// reserve makes an empty file under the first name that is free. Making it fails if it is there,
// so no two processes get the same.
func reserve(dir, stem string) (path string, err error) {
	for n := 1; n <= maxSuffix; n++ {
		path = filepath.Join(dir, stem)
		if n > 1 {
			path += "_" + strconv.Itoa(n)
		}
		path += ".json"
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return "", err
		}
		if err := f.Close(); err != nil {
			return "", errors.Join(err, os.Remove(path))
		}
		return path, nil
	}
	return "", fmt.Errorf("%s has %d files of this name and second already", dir, maxSuffix)
}
