package archive

import (
	"context"
	"errors"
	"strings"

	"github.com/signalbox-dev/signalbox/ledger"
)

// LostError says what can't be restored from either copy. Nothing was changed.
type LostError struct {
	Lost []string
}

func (e *LostError) Error() string {
	return "this can't be repaired, and nothing was changed: " + strings.Join(e.Lost, "; ") +
		": put the files back from a copy of the archive"
}

// Repair is written anew.
func Repair(context.Context, FS, Keys) ([]string, error) { return nil, errors.ErrUnsupported }

// leaf returns the hash of an event as it is in a tile: that of a tree which has
// nothing else.
func leaf(stored []byte) []byte {
	var e ledger.Edge
	if err := e.Append(stored, nil); err != nil {
		return nil
	}
	root := e.Root()
	return root[:]
}
