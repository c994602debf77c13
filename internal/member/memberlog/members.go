package memberlog

import "slices"

// Members are those who take part: ids in order, each once in a list.
type Members struct {
	Voters   []uint64
	Outgoing []uint64 // the voters before, while a change goes on: then both majorities are needed
	Learners []uint64 // they get the log, and are not counted
}

// All returns everyone who takes part.
func (m Members) All() []uint64 {
	all := slices.Concat(m.Voters, m.Outgoing, m.Learners)
	slices.Sort(all)
	return slices.Compact(all)
}

// Voting returns everyone who has a vote now.
func (m Members) Voting() []uint64 { return Members{Voters: m.Voters, Outgoing: m.Outgoing}.All() }

// Majority says whether those who count are a majority of the voters, and, during a change, of the voters before.
func (m Members) Majority(counts func(id uint64) bool) bool {
	most := func(of []uint64) bool {
		n := 0
		for _, id := range of {
			if counts(id) {
				n++
			}
		}
		return n > len(of)/2
	}
	return most(m.Voters) && (len(m.Outgoing) == 0 || most(m.Outgoing))
}

// InOrder says whether the lists are as they have to be.
func (m Members) InOrder() bool {
	for _, list := range [][]uint64{m.Voters, m.Outgoing, m.Learners} {
		if len(list) > Most || slices.Contains(list, 0) {
			return false
		}
		for i := range list {
			if i > 0 && list[i-1] >= list[i] {
				return false
			}
		}
	}
	for _, id := range m.Learners {
		if slices.Contains(m.Voters, id) || slices.Contains(m.Outgoing, id) {
			return false
		}
	}
	return len(m.Voters) > 0 || len(m.All()) == 0
}

// Equal says whether the same take part in the same way.
func (m Members) Equal(b Members) bool {
	return slices.Equal(m.Voters, b.Voters) && slices.Equal(m.Outgoing, b.Outgoing) && slices.Equal(m.Learners, b.Learners)
}
