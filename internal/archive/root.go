package archive

import "github.com/signalbox-dev/signalbox/ledger"

// Root returns the root of the tree of the first size events.
func (a *Archive) Root(size int64) (ledger.Hash, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tree.Root(size)
}
