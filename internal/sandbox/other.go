//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"fmt"
	"runtime"
)

func available(k Kind) error {
	return fmt.Errorf("%w: %s is for Linux on amd64 and arm64, and this is %s on %s: use %s, and run agents in a container or as another user",
		ErrUnavailable, k, runtime.GOOS, runtime.GOARCH, None)
}

func (p Policy) enter(entries, []string) error { return available(p.Kind) }
