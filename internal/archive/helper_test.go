package archive_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/ledger"
)

var origin = ledger.Origin("example.com/ledger", 1)

func newKeys(t testing.TB) archive.Keys {
	t.Helper()
	signer, verifier, err := ledger.NewKey(origin)
	if err != nil {
		t.Fatal(err)
	}
	return archive.Keys{Signer: signer, Verifier: verifier}
}
