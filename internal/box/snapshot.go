package box

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"os"
	"slices"

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
	Items         []work.Item // in the order of their subjects
	Adds          []addedKey  // oldest first
	Runs          []delivery.Run
	News          map[string][]api.Notice // of runs, by subject
	Conversations []conversation.Conversation
}

// snapshotHead comes before it.
type snapshotHead struct {
	Format     int
	Checkpoint string // signed
	MAC        []byte // of the checkpoint and the rest, by a key that only the box has
}

// snapshotFormat rises with every change of what is in a snapshot: gob would read an
// old one without a word, and leave out what it does not find.
const snapshotFormat = 5

// snapshotMAC keeps anybody else from writing a snapshot that the box believes.
func snapshotMAC(signer, checkpoint string, body []byte) []byte {
	key := sha256.Sum256([]byte("signalbox snapshot\n" + signer))
	h := hmac.New(sha256.New, key[:])
	fmt.Fprintf(h, "%d\n%s", len(checkpoint), checkpoint)
	h.Write(body)
	return h.Sum(nil)
}

// snapshot returns the state as bytes, the same for the same state.
func (s *state) snapshot(signer string, checkpoint []byte) ([]byte, error) {
	snap := snapshot{Items: s.all(""), News: map[string][]api.Notice{}}
	s.mu.Lock()
	snap.Adds = s.adds.all()
	for _, r := range s.runs {
		snap.Runs = append(snap.Runs, *r)
		snap.News[r.Subject] = s.newsOf(r.Subject).notices
	}
	slices.SortFunc(snap.Runs, func(a, b delivery.Run) int { return cmp.Compare(a.Subject, b.Subject) })
	for _, c := range s.conversations {
		snap.Conversations = append(snap.Conversations, *c)
	}
	slices.SortFunc(snap.Conversations, func(a, b conversation.Conversation) int { return cmp.Compare(a.Subject, b.Subject) })
	s.mu.Unlock()
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

// loadSnapshot reads the snapshot, and returns the state and the checkpoint that
// it belongs to; nil if there is none that this box wrote.
func (d Dir) loadSnapshot(keys archive.Keys) (*state, ledger.Checkpoint) {
	data, err := os.ReadFile(d.path(snapshotFile))
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
	s.restore(&snap, uint64(at.Size))
	return s, at
}

// restore puts a snapshot in place of the empty state.
func (s *state) restore(snap *snapshot, size uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := slices.Clone(snap.Items)
	slices.SortFunc(items, func(a, b work.Item) int { return cmp.Compare(a.Seq, b.Seq) }) // as they became ready
	for i := range items {
		s.put(&work.Item{}, &items[i])
	}
	for _, a := range snap.Adds {
		s.adds.add(a.Key, a.Subject)
	}
	for i := range snap.Runs {
		r := &snap.Runs[i]
		r.Restored()
		s.runs[r.Subject] = r
		s.newsOf(r.Subject).notices = snap.News[r.Subject]
	}
	for i := range snap.Conversations {
		s.putConversation(&snap.Conversations[i])
	}
	s.folded = size
}
