//go:build !linux && !darwin

package filelock

import "os"

// Take refuses.
func Take(string) (release func() error, err error) { return nil, ErrUnsupported }

// Held reports that nobody has the lock.
func Held(string) (bool, error) { return false, nil }

// HeldDir reports that nobody has the directory.
func HeldDir(string) (bool, error) { return false, nil }

func take(string) (*os.File, error) { return nil, ErrUnsupported }

func lockDir(*os.File) (bool, error) { return false, ErrUnsupported }
