package api

import "testing"

// What is said of a cluster in short: invitations are no boxes, a problem of the box that is asked comes first, and that none leads before one of others.
func TestShort(t *testing.T) {
	member := func(name, state, problem string) MemberStatus {
		return MemberStatus{Name: name, Role: RoleVoter, State: state, Problem: problem}
	}
	for _, c := range []struct {
		is     ClusterStatus
		want   InCluster
		saying string
	}{
		{ClusterStatus{Self: "a", Leader: "a", Members: []MemberStatus{member("a", MemberLeads, ""), {Name: "b", Role: RoleInvited, State: MemberExpires}}},
			InCluster{Self: "a", Leader: "a", Boxes: 1, Answer: 1}, "this is the box a of a cluster: it leads; 1 of 1 answer"},
		{ClusterStatus{Self: "a", Leader: "b", Members: []MemberStatus{member("a", MemberFetches, ""), member("b", MemberLeads, "its disk is full"), member("c", MemberNotReached, "")}},
			InCluster{Self: "a", Leader: "b", Boxes: 3, Answer: 2, Problem: "b: its disk is full"}, "this is the box a of a cluster: b leads; 2 of 3 answer"},
		{ClusterStatus{Self: "a", Leader: "b", Members: []MemberStatus{member("b", MemberLeads, "x"), member("a", MemberFollows, "it differs")}},
			InCluster{Self: "a", Leader: "b", Boxes: 2, Answer: 2, Problem: "it differs"}, "this is the box a of a cluster: b leads; 2 of 2 answer"},
		{ClusterStatus{Self: "b", Leader: "a", Members: []MemberStatus{member("a", MemberNotReached, ""), member("b", MemberFollows, ""), member("c", MemberFollows, "")}},
			InCluster{Self: "b", Boxes: 3, Answer: 2, Problem: "a led, and is not reached: another box leads soon, if enough of them answer each other"}, "this is the box b of a cluster: no box leads; 2 of 3 answer"},
		{ClusterStatus{Self: "a", Members: []MemberStatus{member("a", MemberFollows, ""), member("b", MemberNotReached, "")}},
			InCluster{Self: "a", Boxes: 2, Answer: 1, Problem: noLeader}, "this is the box a of a cluster: no box leads; 1 of 2 answer"},
	} {
		got := c.is.Short()
		if got != c.want || got.Words() != c.saying {
			t.Errorf("%+v: %q\nwant %+v: %q", got, got.Words(), c.want, c.saying)
		}
	}
}
