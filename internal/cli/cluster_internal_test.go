package cli

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// Who takes a box out is told what happened: an invitation goes first, and the box that it was to replace stays.
func TestOutWords(t *testing.T) {
	stays := api.ClusterStatus{Withdrawn: true, Members: []api.MemberStatus{{Name: "a", Role: api.RoleVoter}, {Name: "b", Role: api.RoleInvited}}}
	for _, c := range []struct {
		name string
		s    api.ClusterStatus
		want string
	}{
		{"a", api.ClusterStatus{}, "a is out of the cluster"},
		{"a", stays, "the invitation for a is withdrawn; the box a is still in the cluster: call it again to take that out"},
		{"b", stays, "the invitation for b is withdrawn"},
		{"\x1bc", stays, `the invitation for \x1bc is withdrawn`},
	} {
		if got := outWords(c.name, c.s); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
