package box

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// snapshot is the state at a checkpoint. It is a cache: one that does not belong
// to the ledger at hand, or can't be read, is as good as none.
type snapshot struct {
	Items         []work.Item             // in the order of their subjects
	Runs          []byte                  // a list of runs
	News          map[string][]api.Notice // of runs, by subject
	Conversations []conversation.Conversation
	Trails        map[string]*trail // by subject
	MadeUp        map[string]int    // the largest number in a name that was made up, by the name's form
	Total         int               // items that were ever added
	NewestRun     string            // the subject of the run that was started last
	LastSubject   string            // the greatest that was ever made
	Housekeeping  work.Chain
	Tokens        access.Tokens
	Runners       access.Runners
	Members       access.Members
	Removed       map[ledger.Hash]uint64 // blobs that the index does not have yet
	Index         int64                  // how much the index has to cover: what left is not here
}

// snapshotHead comes before it.
type snapshotHead struct {
	Format     int
	Checkpoint string // signed
	MAC        []byte // of the checkpoint and the rest, by a key that only the box has
}

// snapshotFormat rises with every change of what is in a snapshot: gob would read an
// old one without a word, and leave out what it does not find.
const snapshotFormat = 21

// snapshotMAC keeps anybody else from writing a snapshot that the box believes.
func snapshotMAC(signer, checkpoint string, body []byte) []byte {
	key := sha256.Sum256([]byte("signalbox snapshot\n" + signer))
	h := hmac.New(sha256.New, key[:])
	fmt.Fprintf(h, "%d\n%s", len(checkpoint), checkpoint)
	h.Write(body)
	return h.Sum(nil)
}

// capture returns the state as it is, and the size of the ledger that it is the fold of. It does
// not hold up the fold for longer than copying takes.
func (s *state) capture() (*snapshot, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := &snapshot{
		Items: make([]work.Item, 0, len(s.items)), News: map[string][]api.Notice{},
		Trails: make(map[string]*trail, len(s.trails)), MadeUp: maps.Clone(s.madeUp), Total: s.total, NewestRun: s.newestRun, LastSubject: s.lastSubject,
		Housekeeping: s.housekeeping, Tokens: s.tokens, Runners: s.runners, Members: s.members, Removed: maps.Clone(s.removed),
	}
	if s.past != nil {
		snap.Index = s.past.index.Mark().Size
	}
	for subject, t := range s.trails {
		snap.Trails[subject] = &trail{slices.Clone(t.Seqs), slices.Clone(t.Blobs), t.Latest, t.AddKey, t.Requests.clone()}
	}
	for _, i := range s.items {
		snap.Items = append(snap.Items, *i)
	}
	var runs []delivery.Run
	for _, r := range s.runs {
		runs = append(runs, *r)
		snap.News[r.Subject] = slices.Clone(s.newsOf(r.Subject).notices)
	}
	slices.SortFunc(runs, func(a, b delivery.Run) int { return cmp.Compare(a.Subject, b.Subject) })
	if len(runs) > 0 {
		var encoded bytes.Buffer
		if err := gob.NewEncoder(&encoded).Encode(runs); err != nil { // at once: a run changes in place
			return nil, 0, err
		}
		snap.Runs = encoded.Bytes()
	}
	for _, c := range s.conversations {
		snap.Conversations = append(snap.Conversations, *c)
	}
	return snap, int64(s.folded), nil
}

// encode returns a snapshot as bytes, the same for the same state.
func (snap *snapshot) encode(signer string, checkpoint []byte) ([]byte, error) {
	slices.SortFunc(snap.Items, func(a, b work.Item) int { return cmp.Compare(a.Subject, b.Subject) })
	slices.SortFunc(snap.Conversations, func(a, b conversation.Conversation) int { return cmp.Compare(a.Subject, b.Subject) })
	var body, file bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(snap); err != nil {
		return nil, err
	}
	head := snapshotHead{snapshotFormat, string(checkpoint), snapshotMAC(signer, string(checkpoint), body.Bytes())}
	if err := gob.NewEncoder(&file).Encode(head); err != nil {
		return nil, err
	}
	_, err := body.WriteTo(&file)
	return file.Bytes(), err
}

// keepSnapshot writes a snapshot of the state at a size. The ledger is sealed up to there by then,
// and the snapshot bound to a checkpoint of exactly that size.
func (b *Box) keepSnapshot(snap *snapshot, size int64) error {
	if b.archive.Sealed() < size {
		if _, err := b.seal(); errors.Is(err, errUnsigned) {
			return nil // the one before stays
		} else if err != nil {
			return err
		}
	}
	root, err := b.archive.Root(size)
	if err != nil {
		return err
	}
	checkpoint, err := ledger.Checkpoint{Origin: b.keys.Origin(), Size: size, Root: root}.Sign(b.keys.Signer)
	if err != nil {
		return err
	}
	data, err := snap.encode(b.keys.Signer, checkpoint)
	if err != nil {
		return err
	}
	b.kept = uint64(size)
	return b.held.write(snapshotFile, data)
}

// saveSnapshot keeps the state as it is.
func (b *Box) saveSnapshot() error {
	if b.signsNothing() != "" {
		return nil
	}
	snap, size, err := b.state.capture()
	if err != nil || size == 0 {
		return err
	}
	return b.keepSnapshot(snap, size)
}

// maxSnapshot bounds a snapshot that is read: without one, the events are folded again.
const maxSnapshot = 1 << 30

// loadSnapshot reads the snapshot, and returns the state and the checkpoint that
// it belongs to; nil if there is none that this box wrote, or it needs an index that covers more.
func (d Dir) loadSnapshot(keys archive.Keys, covered int64) (*state, ledger.Checkpoint) {
	data, err := d.readFile(snapshotFile, maxSnapshot)
	if err != nil {
		return nil, ledger.Checkpoint{}
	}
	var head snapshotHead
	var snap snapshot
	rest := bytes.NewReader(data) // as a ByteReader it is read no further than need be
	if gob.NewDecoder(rest).Decode(&head) != nil || head.Format != snapshotFormat {
		return nil, ledger.Checkpoint{}
	}
	body := data[len(data)-rest.Len():]
	at, err := ledger.OpenCheckpoint([]byte(head.Checkpoint), keys.Verifier)
	if err != nil || !hmac.Equal(head.MAC, snapshotMAC(keys.Signer, head.Checkpoint, body)) || gob.NewDecoder(rest).Decode(&snap) != nil {
		return nil, ledger.Checkpoint{}
	}
	s := newState()
	if snap.Index > covered || s.restore(&snap, uint64(at.Size)) != nil {
		return nil, ledger.Checkpoint{}
	}
	return s, at
}

// restore puts a snapshot in place of the empty state.
func (s *state) restore(snap *snapshot, size uint64) error {
	var runs []delivery.Run
	if err := gob.NewDecoder(bytes.NewReader(snap.Runs)).Decode(&runs); err != nil && len(snap.Runs) > 0 {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := slices.Clone(snap.Items)
	slices.SortFunc(items, func(a, b work.Item) int { return cmp.Compare(a.Seq, b.Seq) }) // as they became ready
	for i := range items {
		s.put(&work.Item{}, &items[i])
	}
	maps.Copy(s.madeUp, snap.MadeUp)
	maps.Copy(s.removed, snap.Removed)
	s.total, s.newestRun, s.housekeeping, s.tokens, s.runners, s.members = snap.Total, snap.NewestRun, snap.Housekeeping, snap.Tokens, snap.Runners, snap.Members
	s.lastSubject = snap.LastSubject
	for i := range runs {
		r := &runs[i]
		r.Restored()
		s.runs[r.Subject] = r
		s.newsOf(r.Subject).notices = snap.News[r.Subject]
	}
	for i := range snap.Conversations {
		s.putConversation(&snap.Conversations[i])
	}
	for subject, t := range snap.Trails {
		s.follow(subject, t)
	}
	s.folded = size
	return nil
}
