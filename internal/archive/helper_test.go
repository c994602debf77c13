package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
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

// stream stands in for the engine: records that can be damaged at will.
type stream struct {
	records []engine.Record
	tip     uint64 // if the records up to it are gone from the end
}

func (s *stream) Tip(context.Context) (uint64, error) {
	if len(s.records) == 0 || s.tip > 0 {
		return s.tip, nil
	}
	return s.records[len(s.records)-1].Seq, nil
}

func (s *stream) Read(ctx context.Context, from uint64, f func(engine.Record) error) error {
	for _, r := range s.records {
		switch {
		case r.Seq < from:
			continue
		case r.Seq > from:
			return &engine.GapError{Want: from, Got: r.Seq}
		}
		if err := errors.Join(ctx.Err(), f(r)); err != nil {
			return err
		}
		from++
	}
	if from <= s.tip {
		return &engine.GapError{Want: from, Got: s.tip + 1}
	}
	return nil
}

func (s *stream) Restore(ctx context.Context, records iter.Seq2[engine.Record, error]) error {
	for r, err := range records {
		tip, _ := s.Tip(ctx)
		if err == nil && r.Seq != tip+1 {
			err = &engine.GapError{Want: tip + 1, Got: r.Seq}
		}
		if err != nil {
			return err
		}
		s.records = append(s.records, r)
	}
	return nil
}

func (s *stream) add(stored []byte) {
	_, rest, _ := bytes.Cut(stored, []byte(`"subject":"`))
	about, _, _ := bytes.Cut(rest, []byte(`"`))
	s.records = append(s.records, engine.Record{Seq: uint64(len(s.records)) + 1, Subject: string(about), Data: stored})
}

func (s *stream) events() [][]byte {
	var all [][]byte
	for _, r := range s.records {
		all = append(all, r.Data)
	}
	return all
}

func (s *stream) clone() *stream { return &stream{records: slices.Clone(s.records), tip: s.tip} }

// pen writes events that continue each other. It knows what it wrote by its hash,
// which is quicker than to decode it.
type pen struct {
	tips  map[string]ledger.Tip
	wrote map[ledger.Hash]place
}

type place struct {
	about string
	prev  ledger.Hash
	seq   uint64
}

func newPen() *pen { return &pen{map[string]ledger.Tip{}, map[ledger.Hash]place{}} }

func (p *pen) write(about, text string, blob *ledger.Blob) []byte {
	payload, err := json.Marshal(struct {
		Text string       `json:"text"`
		Log  *ledger.Blob `json:"log,omitempty"`
	}{text, blob})
	if err != nil {
		panic(err)
	}
	tip := p.tips[about]
	stored, err := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: about, ItemSeq: tip.ItemSeq + 1, Prev: tip.Sum,
		Type: "WorkAdded", Actor: "tester", Time: time.Unix(1700000000, 0).UTC(), Payload: payload,
	}.Encode()
	if err != nil {
		panic(err)
	}
	sum := ledger.Sum(stored)
	p.wrote[sum] = place{about, tip.Sum, tip.ItemSeq + 1}
	p.tips[about] = ledger.Tip{ItemSeq: tip.ItemSeq + 1, Sum: sum}
	return stored
}

// each follows the events that an archive has.
func (p *pen) each(index int64, stored []byte) error {
	sum := ledger.Sum(stored)
	at, ok := p.wrote[sum]
	if !ok || p.tips[at.about].Sum != at.prev {
		return fmt.Errorf("event %d does not continue the ledger", index)
	}
	p.tips[at.about] = ledger.Tip{ItemSeq: at.seq, Sum: sum}
	return nil
}

// many returns so many events on a few subjects.
func (p *pen) many(n int) [][]byte {
	var all [][]byte
	for i := range n {
		all = append(all, p.write(fmt.Sprint("item-", i%7), strings.Repeat("x", 200), nil))
	}
	return all
}

// box is an archive beside its stream, as whoever records events uses them.
type box struct {
	*archive.Archive
	stream *stream
	pen    *pen
	found  archive.Findings
}

func open(fs archive.FS, keys archive.Keys, s *stream, p *pen) (*box, error) {
	a, err := archive.Open(fs, keys)
	if err != nil {
		return nil, err
	}
	clear(p.tips)
	b := &box{Archive: a, stream: s, pen: p}
	b.found, err = a.Reconcile(context.Background(), s, b.pen.each)
	return b, err
}

func mustOpen(t testing.TB, fs archive.FS, keys archive.Keys, s *stream, p *pen) *box {
	t.Helper()
	b, err := open(fs, keys, s, p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// record adds events to the stream and then to the archive.
func (b *box) record(events ...[]byte) error {
	for _, stored := range events {
		b.stream.add(stored)
	}
	return b.Append(events)
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
