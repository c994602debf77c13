//go:build !unix

package cli

import "errors"

// freeSpace can't be told here.
func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }
