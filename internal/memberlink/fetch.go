package memberlink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/ledger"
)

// fetchPatience is how long a member may take to answer, and for each further piece of a file.
const fetchPatience = 5 * time.Second

var (
	errNone     = errors.New("it has none")
	errNoLeader = errors.New("no other member is known to lead")
	errNobody   = errors.New("there is no other member")
	errLarge    = errors.New("it is larger than any file of an archive")
)

// Fetch returns a file of another member's archive: the checkpoint of the one that leads, and of no other; any other file of that one, or of the first
// that has it. The error satisfies errors.Is(err, fs.ErrNotExist) only if each of the others has said that it has none: one that was not reached may
// have it. It implements [raftlog.Transport].
func (l *Links) Fetch(ctx context.Context, name string) ([]byte, error) {
	peers, leader := slices.Clone(l.options.Peers()), l.options.Leader()
	slices.SortStableFunc(peers, func(a, b Peer) int {
		switch {
		case a.ID == leader && b.ID != leader:
			return -1
		case b.ID == leader && a.ID != leader:
			return 1
		}
		return 0
	})
	switch {
	case len(peers) == 0:
		return nil, errNobody
	case name != ledger.CheckpointPath:
	case peers[0].ID != leader:
		return nil, errNoLeader
	default:
		data, err := l.fetchFrom(ctx, peers[0].ID, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", peers[0].Name, name, err)
		}
		return data, nil
	}
	var why []error
	for _, p := range peers {
		data, err := l.fetchFrom(ctx, p.ID, name)
		switch {
		case err == nil:
			return data, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, errNone):
			why = append(why, fmt.Errorf("%s: %w", p.Name, err))
		}
	}
	if len(why) == 0 {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return nil, fmt.Errorf("%s: not all members could be asked: %s", name, errors.Join(why...).Error()) // as text: what is in it may look like a file that is not there
}

// fetchFrom returns a file of one member's archive.
func (l *Links) fetchFrom(ctx context.Context, id uint64, name string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	patience := time.AfterFunc(fetchPatience, cancel)
	defer patience.Stop()
	at := url.URL{Scheme: "https", Host: "member", Path: FilesPath + "/" + name}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := carrier{l, id}.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read, or is given up
	switch answer.StatusCode {
	case http.StatusOK:
	case noFile:
		return nil, errNone
	default:
		return nil, fmt.Errorf("it answers %s", answer.Status)
	}
	var data bytes.Buffer
	if _, err := io.Copy(&data, patient{io.LimitReader(answer.Body, ledger.MaxBlob+1), patience}); err != nil {
		return nil, err
	}
	if data.Len() > ledger.MaxBlob {
		return nil, errLarge
	}
	return data.Bytes(), nil
}

// patient gives each piece that is read its own time.
type patient struct {
	io.Reader
	timer *time.Timer
}

func (p patient) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.timer.Reset(fetchPatience)
	return n, err
}
