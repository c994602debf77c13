//go:build !unix

package filelock

import "os"

// Take refuses.
func Take(string) (release func() error, err error) { return nil, ErrUnsupported }

// Held reports that nobody has the lock.
func Held(string) (bool, error) { return false, nil }

func lockDir(*os.File) error { return ErrUnsupported }
