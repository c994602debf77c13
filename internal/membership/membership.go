// Package membership is what a box has of the cluster that it is in: who it is there, and where the others were when it last knew. It lies in the box's
// directory, for its owner alone: cluster.json, and the box's key beside it ([pin.File]).
//
// The ledger says who is a member. The file is for a start: to reach the others before any of the ledger is there, and to know under which id
// the box takes part. A log of a cluster's member without it, or with that of another member, is refused.
package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/ledger"
)

// File is where a membership lies in a box's directory.
const File = "cluster.json"

const maxFile = 64 << 10

// Membership is what a box has of its cluster.
type Membership struct {
	ID      uint64          `json:"id"`
	Name    string          `json:"name"`
	Members []access.Member `json:"members"` // all, with this one
}

// Why there is no membership.
var (
	ErrNone    = errors.New("this box is in no cluster: `signalbox cluster init` begins one here, `signalbox cluster join` takes it into another")
	errNoOther = errors.New("no other box of the cluster is known here that could take this one in again")
	errNoBox   = errors.New("what answers is no box of a cluster: it names members that no cluster has, and nothing was changed here")
	errDamaged = errors.New("it can't be read: put it back from a copy; or have the box's place given to a new one (`signalbox cluster replace NAME` at another box)")
)

// Read returns what a box has in its directory.
func Read(dir string) (m Membership, err error) {
	file := filepath.Join(dir, File)
	data, err := regular.Read(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	if err != nil {
		return m, err
	}
	if json.Unmarshal(data, &m) != nil || !m.whole() {
		return Membership{}, fmt.Errorf("%s: %w", file, errDamaged)
	}
	return m, nil
}

// whole says whether it can be what was kept. A name can be there twice: that of a box which is on its way out, and of the one in its place.
func (m Membership) whole() bool {
	self := false
	for i, o := range m.Members {
		twice := slices.ContainsFunc(m.Members[:i], func(p access.Member) bool { return p.ID == o.ID || p.Key == o.Key })
		if twice || o.ID == 0 || access.CheckName(o.Name) != nil || !pin.IsHash(o.Key) || access.CheckAddresses(o.Addresses) != nil {
			return false
		}
		self = self || o.ID == m.ID && o.Name == m.Name
	}
	return self
}

// Self returns the box itself.
func (m Membership) Self() access.Member {
	for _, o := range m.Members {
		if o.ID == m.ID {
			return o
		}
	}
	return access.Member{}
}

// Write keeps it in a directory.
func Write(dir string, m Membership) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, File), append(data, '\n'))
}

// Remove takes it away: the box stands alone from then on. It may be away already.
func Remove(dir string) error {
	if err := os.Remove(filepath.Join(dir, File)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Join redeems an invitation ([access.Invitation.ClusterString]) with the key in a directory, which is made if need be, and returns what the cluster
// says. Nothing else is written. Who is not told whether it has worked may do so again, with the same key.
func Join(ctx context.Context, dir, invitation string, addresses []string) (api.JoinedCluster, error) {
	i, err := access.ParseClusterInvitation(invitation)
	if err == nil {
		err = access.CheckAddresses(addresses)
	}
	if err != nil {
		return api.JoinedCluster{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return api.JoinedCluster{}, err
	}
	key, err := pin.OpenKey(dir)
	if err != nil {
		return api.JoinedCluster{}, err
	}
	carrier := enrolment.NewCarrier(i.Box, pin.Joining(key, i.Key))
	defer carrier.CloseIdleConnections()
	joined, err := taken(api.ClientOver(carrier, "").JoinCluster(ctx, api.JoinCluster{Secret: i.Secret, Addresses: addresses}))
	if _, answered := errors.AsType[*api.Problem](err); err != nil && !answered && !errors.Is(err, errNoBox) && ctx.Err() == nil {
		err = fmt.Errorf("%w %s: %w", enrolment.ErrNotReached, strings.Join(i.Box, ", "), api.Cause(err))
	}
	return joined, err
}

// leaderPatience is for how long a box that comes back waits for one that leads.
const leaderPatience = 15 * time.Second

// Rejoin has a member come back under a new id, with the new key that lies in a directory: old has the key that the others know it by. It asks them, one after the other,
// and for a while again if none of them leads.
func Rejoin(ctx context.Context, old *pin.Key, m Membership, dir string) (joined api.JoinedCluster, err error) {
	fresh, err := pin.OpenKey(dir)
	if err != nil {
		return joined, err
	}
	late := time.Now().Add(leaderPatience)
	return api.Insist(ctx, func() (api.JoinedCluster, bool, error) {
		joined, again, err := rejoin(ctx, old, fresh, m)
		return joined, !again || time.Now().After(late), err
	})
}

// rejoin asks each of the others once. If it fails, it says whether that is because no box leads, or none may yet.
func rejoin(ctx context.Context, old, fresh *pin.Key, m Membership) (joined api.JoinedCluster, again bool, err error) {
	var all []error
	for _, o := range m.Members {
		if o.ID == m.ID {
			continue
		}
		carrier := enrolment.NewCarrier(o.Addresses, pin.Member(old, o.Key))
		joined, err = taken(api.ClientOver(carrier, "").RejoinCluster(ctx, api.RejoinCluster{Key: fresh.Hash(), Addresses: m.Self().Addresses}))
		carrier.CloseIdleConnections()
		if err == nil {
			return joined, false, nil
		}
		if p, answered := errors.AsType[*api.Problem](err); answered {
			again = again || p.Code == api.CodeNoLeader || p.Code == api.CodeUnknown || p.Code == api.CodeStopping
			if p.Code == api.CodeUnauthorized { // in words for a runner
				err = fmt.Errorf("it does not know this box: %w", access.ErrMemberGone)
			}
		} else if errors.Is(err, api.ErrNoBox) {
			err = fmt.Errorf("%w %s: %w", enrolment.ErrNotReached, strings.Join(o.Addresses, ", "), api.Cause(err))
		}
		err = fmt.Errorf("%s: %w", o.Name, err)
		if !slices.ContainsFunc(all, func(said error) bool { return said.Error() == err.Error() }) { // it is there twice while it comes back
			all = append(all, err)
		}
	}
	if len(all) == 0 {
		return joined, false, errNoOther
	}
	return joined, again, errors.Join(all...)
}

// taken refuses what a cluster says if a start would: who answers may be anybody who has given an invitation.
func taken(j api.JoinedCluster, err error) (api.JoinedCluster, error) {
	if err == nil && !Of(j).whole() {
		return api.JoinedCluster{}, errNoBox
	}
	return j, err
}

// Introduce proves to a member, which is known, that the box whose key this is has joined.
func Introduce(ctx context.Context, key *pin.Key, to access.Member, proof ledger.Proof) error {
	carrier := enrolment.NewCarrier(to.Addresses, pin.Joining(key, to.Key))
	defer carrier.CloseIdleConnections()
	return api.ClientOver(carrier, "").Introduce(ctx, api.Introduction{Proof: proof})
}

// Of is what a box that has joined keeps.
func Of(j api.JoinedCluster) Membership {
	return Membership{ID: j.ID, Name: j.Name, Members: j.Members}
}
