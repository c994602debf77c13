package box

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/ledger"
)

// prove signs what is recorded, and proves an event of it.
func (b *Box) prove(seq uint64) (ledger.Proof, error) {
	if _, err := b.seal(); err != nil && (!errors.Is(err, errUnsigned) || seq > uint64(b.archive.Sealed())) {
		return ledger.Proof{}, err
	}
	return b.archive.Prove(int64(seq) - 1)
}

// Witnesses calls f with the messages of the commits that name a checkpoint of a ledger.
type Witnesses func(ctx context.Context, origin string, f func(message string)) error

// witnessPatience is for how long a start looks for checkpoints in commits.
const witnessPatience = 5 * time.Second

// witness holds the ledger against the checkpoints that are in the repository's
// commits, which others may have copies of. One that it does not continue refuses the
// start. Only what the box's own key signed counts: anybody can write a message, and
// agents' own branches are not looked at. It returns a note if it could not look at all.
//
// Another box of a cluster may have signed over more than this one has yet: it is held against that when it has as much.
func (b *Box) witness(ctx context.Context, witnesses Witnesses, member bool) (notes []string, err error) {
	if witnesses == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, witnessPatience, fmt.Errorf("after %v: it took too long", witnessPatience))
	defer cancel()
	origin := b.keys.Origin()
	latest := ledger.Checkpoint{Origin: origin, Size: b.archive.Size()}
	if member {
		latest.Size = b.archive.Sealed()
	}
	var broken error
	err = witnesses(ctx, origin, func(message string) {
		signed, ok := trailer.Signed(message, b.keys.Verifier)
		switch {
		case !ok || broken != nil:
		case member && signed.Size > latest.Size && signed.Origin == origin:
			b.ahead = append(b.ahead, signed)
		default:
			broken = trailer.Continues(latest, b.archive.Root, signed)
		}
	})
	if broken != nil {
		return nil, b.contradicted(broken)
	}
	if err != nil {
		notes = append(notes, fmt.Sprintf("not all commits were looked at for checkpoints of this ledger: %v", err))
	}
	return notes, nil
}

func (b *Box) contradicted(why error) error {
	return &archive.Damage{
		Where: "the ledger", What: "a commit in this repository shows that it is not what was signed", Err: why,
		Advice: "put the newer copy of the archive back; to go on without what is lost, move " + string(b.dir) + " away, and a new ledger begins",
	}
}

// aheadOfAll is the error for a checkpoint in a commit that covers more than is folded here, where all that was ever signed is: the others were put back as well.
func (b *Box) aheadOfAll() error {
	b.signing.Lock()
	defer b.signing.Unlock()
	latest := ledger.Checkpoint{Origin: b.keys.Origin(), Size: int64(b.state.upTo())}
	for _, signed := range b.ahead {
		if signed.Size > latest.Size {
			return b.contradicted(trailer.Continues(latest, b.archive.Root, signed))
		}
	}
	return nil
}

// caughtUp holds the ledger against the checkpoints in commits that were ahead of it, as far as it has been signed. The caller holds signing.
func (b *Box) caughtUp() error {
	latest := ledger.Checkpoint{Origin: b.keys.Origin(), Size: b.archive.Sealed()}
	for i := 0; i < len(b.ahead); {
		if b.ahead[i].Size > latest.Size {
			i++
			continue
		}
		if err := trailer.Continues(latest, b.archive.Root, b.ahead[i]); err != nil {
			return b.contradicted(err)
		}
		b.ahead = slices.Delete(b.ahead, i, i+1)
	}
	return nil
}
