//go:build !linux

package process

// AdoptOrphans does nothing: only Linux gives a process the orphans of its descendants.
func AdoptOrphans() error { return nil }

// EndOrphans does nothing: there are none.
func EndOrphans() error { return nil }
