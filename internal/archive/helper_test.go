package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/ledger"
)

var bg = context.Background()

var origin = ledger.Origin("example.com/ledger", 1)

func newKeys(t testing.TB) archive.Keys {
	t.Helper()
	signer, verifier, err := ledger.NewKey(origin)
	if err != nil {
		t.Fatal(err)
	}
	return archive.Keys{Signer: signer, Verifier: verifier}
}

// pen writes events that continue each other.
type pen map[string]ledger.Tip

func (p pen) write(about, text string, blob *ledger.Blob) []byte {
	payload, err := json.Marshal(struct {
		Text string       `json:"text"`
		Log  *ledger.Blob `json:"log,omitempty"`
	}{text, blob})
	if err != nil {
		panic(err)
	}
	tip := p[about]
	stored, err := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: about, ItemSeq: tip.ItemSeq + 1, Prev: tip.Sum,
		Type: "WorkAdded", Actor: "tester", Time: time.Unix(1700000000, 0).UTC(), Payload: payload,
	}.Encode()
	if err != nil {
		panic(err)
	}
	p[about] = ledger.Tip{ItemSeq: tip.ItemSeq + 1, Sum: ledger.Sum(stored)}
	return stored
}

// many returns so many events on a few subjects.
func (p pen) many(n int) [][]byte {
	var all [][]byte
	for i := range n {
		all = append(all, p.write(fmt.Sprint("item-", i%7), strings.Repeat("x", 200), nil))
	}
	return all
}

// box is an archive in use, and what was given to it.
type box struct {
	*archive.Archive
	pen   pen
	wrote [][]byte // whatever was given to it, stored or not
	found archive.Findings
}

// open opens an archive and starts it, after looking at everything. The events that it has are
// where the pen goes on from.
func open(fs archive.FS, keys archive.Keys) (*box, error) {
	return openFrom(fs, keys, 0)
}

func openFrom(fs archive.FS, keys archive.Keys, from int64) (*box, error) {
	a, err := archive.Open(fs, keys)
	if err != nil {
		return nil, err
	}
	b := &box{Archive: a, pen: pen{}}
	if b.found, err = a.Start(bg, min(from, a.Size())); err != nil {
		return nil, err
	}
	b.wrote, err = entries(a)
	for _, stored := range b.wrote {
		e, decodeErr := ledger.Decode(stored)
		if err = errors.Join(err, decodeErr); err != nil {
			break
		}
		b.pen[e.Subject] = ledger.Tip{ItemSeq: e.ItemSeq, Sum: ledger.Sum(stored)}
	}
	return b, err
}

func mustOpen(t testing.TB, fs archive.FS, keys archive.Keys) *box {
	t.Helper()
	b, err := open(fs, keys)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// record appends events.
func (b *box) record(events ...[]byte) error {
	b.wrote = append(b.wrote, events...)
	_, err := b.Append(events)
	return err
}

func entries(a *archive.Archive) ([][]byte, error) {
	var all [][]byte
	err := a.Entries(0, func(index int64, stored []byte) error {
		if index != int64(len(all)) {
			return fmt.Errorf("event %d comes where event %d should be", index, len(all))
		}
		all = append(all, stored)
		return nil
	})
	return all, err
}

// same says how two lists of events differ, without printing them.
func same(got, want [][]byte) error {
	for i := range min(len(got), len(want)) {
		if !bytes.Equal(got[i], want[i]) {
			return fmt.Errorf("event %d differs", i)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("there are %d events, and should be %d", len(got), len(want))
	}
	return nil
}
