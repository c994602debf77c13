//go:build !darwin && !freebsd && !linux

package cli

import "errors"

// freeSpace can't be told here.
func freeSpace(string) (free, disk uint64, err error) { return 0, 0, errors.ErrUnsupported }
