//go:build !unix

package process

import "time"

// Group is a program that was started, with its process group.
type Group struct{}

// Start fails: this system has no process groups.
func Start(Command) (*Group, error) { return nil, ErrNoGroups }

// Pid returns 0: there is no program.
func (g *Group) Pid() int { return 0 }

// Started returns "": there is no program.
func (g *Group) Started() string { return "" }

// Done returns nil: nothing was started that could end.
func (g *Group) Done() <-chan struct{} { return nil }

// Wait fails.
func (g *Group) Wait() (exit int, err error) { return -1, ErrNoGroups }

// End does nothing.
func (g *Group) End(time.Duration) {}

// EndGroup does nothing.
func EndGroup(int, string, string, time.Duration) {}

// Sweep does nothing.
func Sweep(string) (killed int, err error) { return 0, nil }

// StartedAt returns "".
func StartedAt(int) string { return "" }
