package main

import (
	"cmp"
	"slices"
	"time"
)

// An id is what matters of a run's ULID: when the run began, and chance.
type id struct {
	born   time.Duration
	random uint64
}

// A placement says on which shard a run is, from its id alone: nobody has to be asked, and there is no list of runs.
// It is a list of epochs that is only ever appended to. A run belongs to the epoch in which it began, whatever comes
// after it, so no run moves.
type placement []epoch

// An epoch has a share of the new runs for each shard. A shard with 0 gets none, and goes on with those it has.
type epoch struct {
	since  time.Duration // the first from the beginning on
	shares []uint64
}

// of returns the shard of a run.
func (p placement) of(run id) int {
	n, exact := slices.BinarySearchFunc(p, run.born, func(e epoch, t time.Duration) int { return cmp.Compare(e.since, t) })
	if !exact {
		n--
	}
	sum := uint64(0)
	for _, share := range p[n].shares {
		sum += share
	}
	at := run.random % sum
	for shard, share := range p[n].shares {
		if at < share {
			return shard
		}
		at -= share
	}
	panic("the shares add up to more")
}

// evenly gives as many shards the same share, from the first that has one.
func evenly(first, shards int) []uint64 {
	shares := make([]uint64, shards)
	for i := first; i < shards; i++ {
		shares[i] = 1
	}
	return shares
}
