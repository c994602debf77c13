package member

import (
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"
)

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

// membersOf returns the members as the library says who takes part.
func membersOf(c *pb.ConfState) Members {
	m := Members{Voters: slices.Clone(c.GetVoters()), Outgoing: slices.Clone(c.GetVotersOutgoing()), Learners: slices.Clone(c.GetLearners())}
	for _, list := range []*[]uint64{&m.Voters, &m.Outgoing, &m.Learners} {
		slices.Sort(*list)
	}
	return m
}

// configuration is the inverse of membersOf.
func configuration(m Members) *pb.ConfState {
	return &pb.ConfState{Voters: m.Voters, VotersOutgoing: m.Outgoing, Learners: m.Learners, AutoLeave: new(false)}
}
