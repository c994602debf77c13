package bt

import (
	"errors"
	"fmt"
	"time"
)

// What bounds a run that says nothing else.
const (
	MaxTicks  = 1000             // of one event: one call of Drive
	StallWarn = 30 * time.Second // without progress
	StallFail = 60 * time.Second
)

// What ends a run that does not end by itself, and what Drive says of a tree that fails
// after a leaf has set a key to what it can't have.
var (
	ErrTicks   = errors.New("the tree was ticked 1000 times without an end")
	ErrStalled = errors.New("nothing has moved in the tree for 60 seconds")
	ErrValue   = errors.New("a key can't have this value")
)

// Limits bound a run. What is 0 or less is the default.
type Limits struct {
	Ticks      int           `json:"ticks,omitempty"`      // of one event, one call of Drive; MaxTicks
	StallWarn  time.Duration `json:"stall_warn,omitempty"` // without progress, until a warning; StallWarn
	StallFail  time.Duration `json:"stall_fail,omitempty"` // without progress, until the run fails; StallFail
	Blackboard int           `json:"blackboard,omitempty"` // bytes of all values together; MaxBlackboard, which bounds each in any case
}

func (l Limits) withDefaults() Limits {
	if l.Ticks <= 0 {
		l.Ticks = MaxTicks
	}
	if l.StallWarn <= 0 {
		l.StallWarn = StallWarn
	}
	if l.StallFail <= 0 {
		l.StallFail = StallFail
	}
	if l.Blackboard <= 0 {
		l.Blackboard = MaxBlackboard
	}
	l.StallWarn, l.StallFail = min(l.StallWarn, maxTime), min(l.StallFail, maxTime)
	return l
}

// limitError is ErrTicks or ErrStalled with a limit of the run's own.
type limitError struct {
	is   error
	text string
}

func (e *limitError) Error() string        { return e.text }
func (e *limitError) Is(target error) bool { return target == e.is }

func (l Limits) ticked() error {
	if l.Ticks == MaxTicks {
		return ErrTicks
	}
	return &limitError{ErrTicks, fmt.Sprintf("the tree was ticked %s without an end", plural(l.Ticks, "time", "times"))}
}

func (l Limits) stalled() error {
	if l.StallFail == StallFail {
		return ErrStalled
	}
	return &limitError{ErrStalled, "nothing has moved in the tree for " + exactly(l.StallFail)}
}
