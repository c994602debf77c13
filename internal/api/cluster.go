package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/ledger"
)

// What a box says of an answer for ?stale=ok: how many events it is made from, and how many milliseconds ago the box heard last from the one that leads.
const (
	EventsHeader = "Signalbox-Events"
	AgeHeader    = "Signalbox-Age-Ms"
)

// NewMember invites a box to the cluster.
type NewMember struct {
	Name     string   `json:"name"`
	Replaces string   `json:"replaces,omitempty"` // the box in whose place it comes
	TTLMS    int64    `json:"ttl_ms,omitempty"`   // of the invitation; 15 minutes if it is 0
	Address  []string `json:"address,omitempty"`  // where it finds this box; where this one is known to the others, if there is none
}

// JoinCluster redeems an invitation.
type JoinCluster struct {
	Secret    string   `json:"secret"`
	Addresses []string `json:"addresses"` // at which the other boxes reach the one that joins
}

// RejoinCluster has a box come back under a new id, with a new key.
type RejoinCluster struct {
	Key       string   `json:"key"` // the hash of the new one
	Addresses []string `json:"addresses"`
}

// Introduction proves to a box whose ledger is behind that the one that sends it has joined since.
type Introduction struct {
	Proof ledger.Proof `json:"proof"` // of the event that says so
}

// JoinedCluster is what a box that joins needs of the others. Whoever has its secrets is the ledger's owner.
type JoinedCluster struct {
	ID      uint64          `json:"id"`
	Name    string          `json:"name"`
	Members []access.Member `json:"members"` // all, with the one that joins
	MemberSecrets
}

// MemberSecrets are what the boxes of a cluster have in common.
type MemberSecrets struct {
	Signer string `json:"signer_key"`
	Token  string `json:"api_token"`
	Gate   string `json:"gate_token"`
}

// ClusterStatus is how a cluster is, as the box knows it that was asked.
type ClusterStatus struct {
	Ledger    string         `json:"ledger"` // its origin
	Self      string         `json:"self"`   // the name of the box that was asked
	Term      uint64         `json:"term"`
	Leader    string         `json:"leader"`    // a name; "" if none is known
	Committed uint64         `json:"committed"` // events that are stored for ever, as far as the box that was asked knows
	Level     int            `json:"level"`     // of the ledger
	Members   []MemberStatus `json:"members"`
	Withdrawn bool           `json:"withdrawn,omitempty"` // in the answer to a leave: an invitation was withdrawn, and no box taken out
}

// InCluster is how the cluster of a box is, in short.
type InCluster struct {
	Self    string `json:"self"`              // the name of the box
	Leader  string `json:"leader"`            // of the one that leads; "" if none is known
	Boxes   int    `json:"boxes"`             // that there are
	Answer  int    `json:"answer"`            // of them, with this one
	Problem string `json:"problem,omitempty"` // of this one, or else of another
}

// noLeader is the problem of a cluster in which no box leads.
const noLeader = "too few of its boxes answer each other, and nothing is recorded until they do"

// Short says how the cluster is in short.
func (s ClusterStatus) Short() InCluster {
	short := InCluster{Self: s.Self, Leader: s.Leader}
	switch {
	case s.Leader == "":
		short.Problem = noLeader
	case s.LeaderLost():
		short.Leader, short.Problem = "", s.Leader+" led, and is not reached: another box leads soon, if enough of them answer each other"
	}
	for _, m := range s.Members {
		if m.Role == RoleInvited {
			continue
		}
		short.Boxes++
		if m.State != MemberNotReached {
			short.Answer++
		}
		switch {
		case m.Problem == "":
		case m.Name == s.Self:
			short.Problem = m.Problem
		case short.Problem == "":
			short.Problem = m.Name + ": " + m.Problem
		}
	}
	return short
}

// LeaderLost reports whether the box that is said to lead does not answer the one that was asked.
func (s ClusterStatus) LeaderLost() bool {
	return slices.ContainsFunc(s.Members, func(m MemberStatus) bool {
		return s.Leader != "" && m.Name == s.Leader && m.Role != RoleInvited && m.State == MemberNotReached
	})
}

// Words says it in a line, without the problem.
func (c InCluster) Words() string {
	leads := "no box leads"
	switch c.Leader {
	case "":
	case c.Self:
		leads = "it leads"
	default:
		leads = c.Leader + " leads"
	}
	return fmt.Sprintf("this is the box %s of a cluster: %s; %d of %d answer", c.Self, leads, c.Answer, c.Boxes)
}

// MemberStatus is how one box of a cluster is.
type MemberStatus struct {
	Name      string    `json:"name"`
	ID        uint64    `json:"id"`
	Role      string    `json:"role"`      // voter, learner, leaving, or invited
	Size      uint64    `json:"size"`      // of its last checkpoint
	Root      string    `json:"root"`      // of that
	Lag       uint64    `json:"lag"`       // events that are stored and that it does not have yet
	Level     int       `json:"level"`     // that its program knows
	State     string    `json:"state"`     // leads, follows, fetches, not reached, expires
	Addresses []string  `json:"addresses"` // at which the others reach it
	Version   string    `json:"version,omitempty"`
	Problem   string    `json:"problem,omitempty"`
	Expires   time.Time `json:"expires_at,omitzero"` // of one that is invited
}

// The roles and states of a box in a cluster.
const (
	RoleVoter   = "voter"   // it counts for what is stored
	RoleLearner = "learner" // it gets the log
	RoleLeaving = "leaving" // it was taken out, and counts until the others know that
	RoleInvited = "invited" // it has not joined

	MemberLeads      = "leads"
	MemberFollows    = "follows"
	MemberFetches    = "fetches"     // it does not have all yet
	MemberNotReached = "not reached" // by the box that was asked
	MemberExpires    = "expires"     // an invitation
)

// MemberWord is what one box of a cluster says of itself to another.
type MemberWord struct {
	ID      uint64 `json:"id"`
	Term    uint64 `json:"term"`
	Leads   bool   `json:"leads"`
	Applied uint64 `json:"applied"` // events that it has folded
	Size    uint64 `json:"size"`    // of its last checkpoint
	Root    string `json:"root"`
	Level   int    `json:"level"`
	Version string `json:"version"`
	// Settings is the digest of what all boxes have to say alike; empty if the box does not tell it.
	Settings string `json:"settings,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

// InviteMember invites a box to the cluster.
func (c *Client) InviteMember(ctx context.Context, q NewMember) (Invitation, error) {
	return post[Invitation](ctx, c, "/v1/cluster/members", NewKey(), q)
}

// JoinCluster joins a cluster, with the key that the client's connections have.
func (c *Client) JoinCluster(ctx context.Context, q JoinCluster) (JoinedCluster, error) {
	return post[JoinedCluster](ctx, c, "/v1/cluster/join", "", q)
}

// RejoinCluster has the box whose key the client's connections have come back under a new id.
func (c *Client) RejoinCluster(ctx context.Context, q RejoinCluster) (JoinedCluster, error) {
	return post[JoinedCluster](ctx, c, "/v1/member/rejoin", "", q)
}

// Introduce says to a box of the cluster that the one whose key the client's connections have has joined.
func (c *Client) Introduce(ctx context.Context, q Introduction) error {
	_, err := post[struct{}](ctx, c, "/v1/member/introduce", "", q)
	return err
}

// LeaveCluster takes a box out of the cluster, or withdraws its invitation.
func (c *Client) LeaveCluster(ctx context.Context, name string) (ClusterStatus, error) {
	return post[ClusterStatus](ctx, c, "/v1/cluster/members/"+escapePath(name)+"/leave", NewKey(), nil)
}

// Cluster says how the cluster is.
func (c *Client) Cluster(ctx context.Context) (ClusterStatus, error) {
	return get[ClusterStatus](ctx, c, "/v1/cluster")
}

// MemberWord asks a box of the cluster how it is, as another one.
func (c *Client) MemberWord(ctx context.Context) (MemberWord, error) {
	return get[MemberWord](ctx, c, "/v1/member/word")
}
