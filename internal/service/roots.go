package service

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
)

// compareEvery is how often a box compares its checkpoint with those of the others, if it has signed one since.
const compareEvery = time.Second

// verdict is what follows when a box has compared its ledger with those of the others.
type verdict int

const (
	allAgree verdict = iota
	oneOther         // it differs from one, and no third one has answered
	twoOther         // it differs from two, which agree: it is the odd one
)

// judge says what follows from with how many others a box agrees, from how many it differs, and whether it was in doubt before. A third that agrees with this
// box means that the other one is odd, and stops by itself. A doubt does not end because the other one is silent now: somebody has to agree.
func judge(agree, differ int, doubts bool) verdict {
	switch {
	case differ >= 2:
		return twoOther
	case agree == 0 && (differ == 1 || doubts):
		return oneOther
	}
	return allAgree
}

// compare compares the roots of the boxes' checkpoints. Equal logs have equal roots: a box that differs is damaged in a way that nothing else has noticed.
func (c *cluster) compare(ctx context.Context) {
	tick := time.NewTicker(compareEvery)
	defer tick.Stop()
	b := c.box.Load()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-b.Done():
			return
		}
		own, err := b.Signed()
		if size := uint64(own.Size); err == nil && size != c.lastSealed || c.held() {
			c.lastSealed = size
			c.compareOnce(b, c.words(ctx))
		}
		c.raise(b)
	}
}

// held says whether this box signs nothing for now.
func (c *cluster) held() bool {
	why := c.problem.Load()
	return why != nil && *why != ""
}

func (c *cluster) compareOnce(b *box.Box, words map[uint64]api.MemberWord) {
	agree, differ, with := 0, 0, ""
	for _, w := range words {
		root, known, err := b.RootAt(int64(w.Size))
		switch {
		case err != nil || !known || w.Size == 0: // that one has more than this one
		case root.String() == w.Root:
			agree++
		default:
			differ++
			with = fmt.Sprintf("member %d says that the first %d events have the root %s, and here it is %s", w.ID, w.Size, w.Root, root)
		}
	}
	why := ""
	doubts := c.held() && len(c.peers()) > 0 // who is left alone has nobody to differ from
	switch judge(agree, differ, doubts) {
	case twoOther:
		b.Fail(fmt.Errorf("the ledger of this box differs from those of two others: %s. Its disk or its memory has changed something: `signalbox cluster rejoin` has it fetch the ledger anew, under a new id", with))
	case oneOther:
		if differ == 0 {
			return // it stays as it was
		}
		why = with + ": one of the two boxes is damaged, and no third one answers. `signalbox ledger verify` says whether it is this one"
	case allAgree:
	}
	c.problem.Store(&why)
	b.SignNothing(why)
}

// raise raises the ledger's level to what the programs of all who vote know.
func (c *cluster) raise(b *box.Box) {
	if _, _, leads := c.Leading(); !leads || b.Members().Level >= box.Level() {
		return
	}
	words := c.words(c.group.Context())
	level := box.Level()
	for _, o := range b.Members().All {
		if o.ID == c.known.Load().ID {
			continue
		}
		w, ok := words[o.ID]
		if !ok {
			return // nobody knows what it knows
		}
		level = min(level, w.Level)
	}
	if level <= b.Members().Level {
		return
	}
	if err := b.RaiseLevel(level); err != nil {
		c.logger.Warn("the ledger's level can't be raised yet", "to", level, "error", err)
		return
	}
	c.logger.Info("the ledger's level was raised: programs that do not know it do not start", "to", level)
}
