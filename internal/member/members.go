package member

import (
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"
)

// Members are those who take part: ids in order, each once in a list.
type Members struct {
	Voters   []uint64
	Outgoing []uint64 // the voters before, while a change goes on: then both majorities are needed
	Learners []uint64 // they get the log, and are not counted
}

func contains(ids []uint64, id uint64) bool {
	_, found := slices.BinarySearch(ids, id)
	return found
}

// with returns a list with an id.
func with(ids []uint64, id uint64) []uint64 {
	at, found := slices.BinarySearch(ids, id)
	if found {
		return ids
	}
	return slices.Insert(slices.Clone(ids), at, id)
}

// all returns everyone who takes part.
func (m Members) all() []uint64 {
	all := slices.Concat(m.Voters, m.Outgoing, m.Learners)
	slices.Sort(all)
	return slices.Compact(all)
}

// voters returns everyone who has a vote now.
func (m Members) voters() []uint64 { return Members{Voters: m.Voters, Outgoing: m.Outgoing}.all() }

// majority says whether those who count are a majority of the voters, and, during a change, of the voters before.
func (m Members) majority(counts func(id uint64) bool) bool {
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

// membersOf returns the members as the library says who takes part.
func membersOf(c *pb.ConfState) Members {
	m := Members{Voters: slices.Clone(c.GetVoters()), Outgoing: slices.Clone(c.GetVotersOutgoing()), Learners: slices.Clone(c.GetLearners())}
	for _, list := range []*[]uint64{&m.Voters, &m.Outgoing, &m.Learners} {
		slices.Sort(*list)
	}
	return m
}

func (m Members) configuration() *pb.ConfState {
	return &pb.ConfState{Voters: m.Voters, VotersOutgoing: m.Outgoing, Learners: m.Learners, AutoLeave: new(false)}
}

// inOrder says whether the lists are as they have to be.
func (m Members) inOrder() bool {
	for _, list := range [][]uint64{m.Voters, m.Outgoing, m.Learners} {
		if len(list) > most || contains(list, 0) {
			return false
		}
		for i := range list {
			if i > 0 && list[i-1] >= list[i] {
				return false
			}
		}
	}
	for _, id := range m.Learners {
		if contains(m.Voters, id) || contains(m.Outgoing, id) {
			return false
		}
	}
	return len(m.Voters) > 0 || len(m.all()) == 0
}

// sameMembers says whether the same take part in the same way.
func sameMembers(a, b Members) bool {
	return slices.Equal(a.Voters, b.Voters) && slices.Equal(a.Outgoing, b.Outgoing) && slices.Equal(a.Learners, b.Learners)
}
