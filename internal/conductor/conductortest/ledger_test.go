package conductortest_test

import (
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
)

// A box and the ledger in memory can take each other's place.
var (
	_ conductor.Ledger = box.Ledger{}
	_ conductor.Ledger = (*conductortest.Ledger)(nil)
)
