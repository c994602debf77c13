package box

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// NewerError says that an event is of a type that this version does not know. The ledger is not
// damaged: types are added and never changed, so a newer version wrote the event.
type NewerError struct{ Type string }

func (e *NewerError) Error() string {
	return fmt.Sprintf("it is of the type %s, which this version of signalbox does not know: a newer version wrote it. "+
		"Nothing is damaged, and nothing was changed: go on with that version, or with a later one", safetext.Escape(e.Type))
}

// knownTypes has every type of event that this version can fold.
var knownTypes = func() map[string]bool {
	known := map[string]bool{ledger.TypeBlobRemoved: true}
	for _, types := range [][]string{work.Types(), delivery.Types(), conversation.Types(), access.Types()} {
		for _, t := range types {
			known[t] = true
		}
	}
	return known
}()
