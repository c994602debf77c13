// Package process runs a program in a process group of its own, so that the program
// and what it starts can be ended together.
//
// Three things tell which processes are whose. The group holds the program and all
// its descendants that did not leave it. A marker in the environment finds those that
// did, on Linux; one that has left the group and wiped its environment as well is found
// only by a process that adopts orphans ([AdoptOrphans]). And the time at which a process began tells it from a later one with the
// same number.
//
// Groups are Unix's: elsewhere [Start] fails with [ErrNoGroups].
package process

import (
	"errors"
	"io"
	"time"
)

// MarkerName is the environment variable that carries a marker.
const MarkerName = "SIGNALBOX_SESSION"

// outputGrace is for how long a program that has ended is waited for if its children
// keep its output open.
const outputGrace = 2 * time.Second

// ErrNoGroups is returned where the system has no process groups.
var ErrNoGroups = errors.New("programs are run in process groups, which this system does not have: use Linux or macOS")

// Command is a program to run. Path is looked up in PATH if it has no slash; one with
// a slash that is relative is taken from Dir. What is not given of input and output
// is the null device.
type Command struct {
	Path           string
	Args           []string // without the program's name
	Dir            string
	Env            []string // NAME=value; all there is
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Marker         string // put into the environment as MarkerName, if not empty
}
