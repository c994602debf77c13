//go:build !unix

package box

import "errors"

// lock refuses: without it two boxes could write to one directory.
func lock(string) (release func() error, err error) {
	return nil, errors.New("a box runs on Linux and macOS only")
}

func locked(string) (bool, error) { return false, nil }

func syncDir(string) error { return nil }
