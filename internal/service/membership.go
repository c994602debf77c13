package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/memberlink"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/pin"
)

// How a box gets into a cluster and out of it while it does not run. Each can be called again if it was cut off: it goes on where it was.

// InitCluster makes a box that stands alone the first one of a cluster.
func InitCluster(ctx context.Context, o box.Options, name string, addresses []string) (m membership.Membership, err error) {
	dir, err := filepath.Abs(string(o.Dir))
	if err != nil {
		return m, err
	}
	if had, err := membership.Read(dir); err == nil {
		if member, err := box.HasMembersLog(ctx, o); member || err != nil {
			return had, errors.Join(err, access.ErrInCluster)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return m, err
	}
	key, err := pin.OpenKey(dir)
	if err != nil {
		return m, err
	}
	_, err = box.InitCluster(ctx, o, access.FoundCluster{Name: name, Key: key.Hash(), Addresses: addresses}, func(one access.Member) error {
		m = membership.Membership{ID: one.ID, Name: one.Name, Members: []access.Member{one}}
		return membership.Write(dir, m)
	})
	return m, err
}

// JoinCluster makes a directory without a ledger that of a box which has joined a cluster, by an invitation.
func JoinCluster(ctx context.Context, o box.Options, invitation string, addresses []string) (m membership.Membership, err error) {
	dir, err := filepath.Abs(string(o.Dir))
	if err != nil {
		return m, err
	}
	if err := box.CheckEmpty(o); err != nil {
		if _, none := membership.Read(dir); none != nil {
			return m, err
		}
		if member, err := box.HasMembersLog(ctx, o); member || err != nil { // of this cluster or of another: what it has of that must stay
			return m, cmp.Or(err, access.ErrInCluster)
		}
		if box.HasLedger(o) {
			return m, err
		}
	}
	joined, err := membership.Join(ctx, dir, invitation, addresses)
	if err != nil {
		return m, err
	}
	m = membership.Of(joined)
	if err := membership.Write(dir, m); err != nil {
		return m, err
	}
	return m, box.JoinCluster(ctx, o, m.ID, joined.MemberSecrets)
}

// readKey reads the key by which its cluster knows the box in a directory, and makes none in its place.
func readKey(dir string, m membership.Membership) (*pin.Key, error) {
	key, err := pin.ReadKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = errOtherKey(dir, m)
	}
	return key, err
}

// errOtherKey refuses a key, or its absence.
func errOtherKey(dir string, m membership.Membership) error {
	return fmt.Errorf("the key by which the cluster knows the box %s is not in %s (%s): put it back from a copy, or have the box's place given to a new one (`signalbox cluster replace %s` at another box)", m.Name, dir, pin.File, m.Name)
}

// rejoining is where the new key of a box lies until the cluster knows it.
const rejoining = "rejoining"

// RejoinCluster has a box come back under a new id: its ledger is set aside, and fetched anew from the others. It returns where the old one is.
func RejoinCluster(ctx context.Context, o box.Options) (m membership.Membership, aside []string, err error) {
	dir, err := filepath.Abs(string(o.Dir))
	if err != nil {
		return m, nil, err
	}
	before, err := membership.Read(dir)
	if err != nil {
		return m, nil, err
	}
	old, err := readKey(dir, before)
	if err != nil {
		return m, nil, err
	}
	next := filepath.Join(dir, rejoining)
	if err := os.MkdirAll(next, 0o700); err != nil {
		return m, nil, err
	}
	fresh, err := pin.OpenKey(next)
	if err != nil {
		return m, nil, err
	}
	if known := before.Self().Key; old.Hash() != known && fresh.Hash() != known {
		return m, nil, errOtherKey(dir, before)
	}
	// With the others' answer the box has a new id: what can fail here has to fail before.
	if err := box.CheckAside(ctx, o, before.ID); err != nil {
		return m, nil, err
	}
	joined, err := membership.Rejoin(ctx, old, before, next)
	if err != nil { // it may be that the others know the new key already
		again, againErr := membership.Rejoin(ctx, fresh, before, next)
		if againErr != nil {
			return m, nil, fmt.Errorf("no other box of the cluster has taken this one in again: %w", err)
		}
		joined = again
	}
	m = membership.Of(joined)
	if aside, err = box.SetAside(ctx, o, before.ID, joined.Signer); err != nil {
		return m, aside, err
	}
	if err := membership.Write(dir, m); err != nil {
		return m, aside, err
	}
	if err := os.Rename(filepath.Join(next, pin.File), filepath.Join(dir, pin.File)); err != nil {
		return m, aside, err
	}
	if err := os.Remove(next); err != nil {
		return m, aside, err
	}
	return m, aside, box.JoinCluster(ctx, o, m.ID, joined.MemberSecrets)
}

// errNotLeft is why a box that has no member's log does not leave: the others may go on, and have its key.
var errNotLeft = errors.New("the log here is no member's, and does not say that this box was the last one: it was lost, or made anew by a repair, and there are other boxes. `signalbox cluster rejoin` has this one fetch all from them, under a new id")

// LeaveCluster makes the last box of a cluster one that stands alone.
func LeaveCluster(ctx context.Context, o box.Options) error {
	dir, err := filepath.Abs(string(o.Dir))
	if err != nil {
		return err
	}
	m, err := membership.Read(dir)
	if err != nil {
		return err
	}
	member, err := box.HasMembersLog(ctx, o)
	if err != nil {
		return err
	}
	if !member && len(m.Members) > 1 {
		if left, err := box.HasLeft(ctx, o); !left || err != nil {
			return cmp.Or(err, errNotLeft)
		}
	}
	if member {
		key, err := pin.OpenKey(dir)
		if err != nil {
			return err
		}
		links := memberlink.New(memberlink.Options{Key: key, Peers: func() []memberlink.Peer { return nil }, Leader: func() uint64 { return 0 }, Logger: o.Logger})
		defer links.Stop()
		o.Cluster = &box.Cluster{ID: m.ID, Transport: links, Changed: func() {}, Tick: box.ClusterTick, Elect: box.ClusterElect}
		if err := box.LeaveAlone(ctx, o); err != nil {
			return err
		}
	}
	return membership.Remove(dir)
}
