//go:build !unix

package session

import "github.com/signalbox-dev/signalbox/internal/process"

// lock refuses: no agent could be started here.
func lock(string) (release func() error, err error) { return nil, process.ErrNoGroups }

func locked(string) (bool, error) { return false, nil }

func syncDir(string) error { return nil }
