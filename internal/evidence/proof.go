package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Proof is what is proven of a card.
type Proof struct {
	Checkpoint string         `json:"checkpoint"` // as it was signed
	Origin     string         `json:"origin"`
	Size       int64          `json:"size"`
	Events     []Proven       `json:"events"`          // that the card rests on
	Merge      map[string]any `json:"merge,omitempty"` // what verify says of the merge, if there is one
	wrongMerge bool           // the merge commit says something else than the ledger
}

// Proven says whether an event is in the tree that was signed.
type Proven struct {
	Sequence uint64 `json:"sequence"`
	Index    int64  `json:"index"`
	Holds    bool   `json:"holds"`
	Pending  bool   `json:"pending,omitempty"` // it was recorded after the checkpoint was signed
	Problem  string `json:"problem,omitempty"`
}

// Wrong reports whether something of it is wrong. What is not signed yet, or could not be checked, is not.
func (p Proof) Wrong() bool {
	return p.wrongMerge || slices.ContainsFunc(p.Events, func(e Proven) bool { return !e.Holds && !e.Pending })
}

// again is how often the ledger's files are looked at. A box may seal meanwhile, and remove what only the older checkpoint needs.
const again = 5

// open opens the files of the ledger in a directory.
func open(dir, key string) (*ledger.Files, error) {
	f, err := ledger.OpenFiles(archive.Readable(archive.Dir(dir)), key)
	if err != nil {
		err = fmt.Errorf("the ledger in %s: %w", safetext.Escape(dir), err)
	}
	return f, err
}

// Prove holds the events that a card rests on against the files of the ledger in a directory.
func Prove(events []Happened, dir, key string) (p Proof, err error) {
	for range again {
		f, err := open(dir, key)
		if err != nil {
			return Proof{}, err
		}
		var gone error
		if p, gone = proofOf(events, f, key); !errors.Is(gone, fs.ErrNotExist) {
			break
		}
	}
	return p, nil
}

// proofOf proves each event. If a file was not there, that is the error too.
func proofOf(events []Happened, f *ledger.Files, key string) (Proof, error) {
	p := Proof{Checkpoint: string(f.Signed()), Origin: f.Checkpoint.Origin, Size: f.Checkpoint.Size, Events: []Proven{}}
	var gone error
	for _, e := range events {
		shown := Proven{Sequence: e.Sequence, Index: int64(e.Sequence) - 1}
		if shown.Pending = shown.Index >= f.Checkpoint.Size; !shown.Pending {
			err := holds(e, f, key)
			if shown.Holds = err == nil; err != nil {
				shown.Problem = err.Error()
			}
			if errors.Is(err, fs.ErrNotExist) {
				gone = err
			}
		}
		p.Events = append(p.Events, shown)
	}
	return p, gone
}

// holds says what is wrong with the proof of an event: that it is in the ledger, as it was shown.
func holds(e Happened, f *ledger.Files, key string) error {
	proof, err := f.Prove(int64(e.Sequence) - 1)
	if err != nil {
		return err
	}
	if _, _, err := proof.Verify(key); err != nil {
		return err
	}
	if shown, err := e.Encode(); err != nil || !bytes.Equal(shown, proof.Event) {
		return errors.Join(errors.New("the ledger's files have another event there"), err)
	}
	return nil
}

// MergeFails notes why the merge commit proves nothing.
func (p *Proof) MergeFails(err error) {
	kind, isFault := trailer.IsFault(err)
	p.Merge = map[string]any{"ok": false, "fault": kind, "error": err.Error()}
	p.wrongMerge = isFault && kind != trailer.None // somebody else may have made the merge
}

// Against holds what a merge commit proves against the files of the ledger in a directory.
func Against(p trailer.Proven, dir, key string) (r trailer.Recorded, err error) {
	for range again {
		f, failed := open(dir, key)
		if failed != nil {
			return r, failed
		}
		if r, err = p.Against(f); !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return r, fmt.Errorf("the ledger in %s: %w", safetext.Escape(dir), err)
}

// CheckMerge holds a merge commit, as git has it, against its own trailers, the key, and the ledger in a directory.
func CheckMerge(name string, object []byte, dir, key string) error {
	c, err := trailer.ParseCommit(name, object)
	if err != nil {
		return err
	}
	p, err := trailer.Check(c, key)
	if err == nil {
		_, err = Against(p, dir, key)
	}
	return err
}
