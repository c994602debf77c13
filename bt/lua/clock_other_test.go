//go:build !unix

package lua

import "time"

var start = time.Now()

// processorTime is as much of the processors as this process can have had, with one.
func processorTime() time.Duration { return time.Since(start) }
