package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// handOver is a lease, with what its holder has to know.
func (b *Box) handOver(i work.Item) (api.Grant, error) {
	g := b.grant(i)
	var err error
	g.Handoff, err = b.handoff(i)
	return g, err
}

// handoff reads what the next one on an item has to know. An item knows where that is, so it takes four events at most.
func (b *Box) handoff(i work.Item) (h api.Handoff, err error) {
	if h.Asked, err = b.asked(i); err != nil {
		return h, err
	}
	if h.Claim, err = b.statement(i.Said.Claim); err != nil {
		return h, err
	}
	if h.Claim != nil {
		h.Evidence = h.Claim.Evidence
	}
	if h.Findings, err = b.statement(i.Said.Findings); err != nil {
		return h, err
	}
	request, err := b.statement(i.Said.PullRequest)
	if request != nil {
		h.PRURL = request.PRURL
	}
	return h, err
}

// asked reads what is asked for.
func (b *Box) asked(i work.Item) (string, error) {
	if i.Said.Asked == 0 {
		return "", nil
	}
	e, err := b.event(i.Said.Asked)
	if err != nil {
		return "", err
	}
	var p work.Added
	err = json.Unmarshal(e.Payload, &p)
	return p.Asked, err
}

// statement reads what an event says; nil if there is none.
func (b *Box) statement(seq uint64) (*work.Statement, error) {
	if seq == 0 {
		return nil, nil
	}
	e, err := b.event(seq)
	if err != nil {
		return nil, err
	}
	s, err := work.StatementOf(seq, e)
	return &s, err
}

// MaxEvidence is how large a file of evidence may be, in bytes.
const MaxEvidence = 1 << 20

// keepEvidence keeps a file that an exit record names, or says why it can't.
func (b *Box) keepEvidence(read func() ([]byte, error)) (*work.Kept, error) {
	data, err := read()
	var tooLarge *regular.TooLargeError
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		return &work.Kept{Problem: "it is not there"}, nil
	case errors.Is(err, regular.ErrIrregular), errors.Is(err, regular.ErrNoDirectory):
		return &work.Kept{Problem: "it is no file of its own: links, pipes and directories are not read"}, nil
	case errors.As(err, &tooLarge):
		return &work.Kept{Problem: fmt.Sprintf("it has more than %d bytes", tooLarge.Most)}, nil
	default:
		return &work.Kept{Problem: "it can't be read"}, nil // whatever the reason is, it names places
	}
	blob, err := b.archive.PutBlob(b.redact.Bytes(data))
	return &work.Kept{Blob: &blob}, err
}

// Event reads an event that the fold has.
func (l Ledger) Event(seq uint64) (ledger.Event, error) { return l.box.event(seq) }

// KeepEvidence keeps a file that an exit record names, or says why it can't.
func (l Ledger) KeepEvidence(read func() ([]byte, error)) (*work.Kept, error) {
	return l.box.keepEvidence(read)
}
