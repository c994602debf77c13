// Package enrolment is what a runner has of its box: where it is, by which key each knows the other, and how to speak to it. It lies in
// the runner's directory, for its owner alone: runner.json, and the runner's key beside it ([pin.File]).
package enrolment

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// DirName is the name of a runner's directory in its user's home, if no other is given.
const DirName = ".signalbox-runner"

// File is where an enrolment lies in a runner's directory.
const File = "runner.json"

const maxFile = 64 << 10

// Enrolment is what a runner has of its box.
type Enrolment struct {
	Name   string   `json:"name"`    // of the runner
	Box    []string `json:"box"`     // addresses
	BoxKey string   `json:"box_key"` // the hash of the box's
	Labels []string `json:"labels,omitempty"`

	Boxes []order.BoxAt `json:"boxes,omitempty"` // all boxes that share the ledger, as one has said last; none if the box stands alone
}

// Why there is no enrolment in a directory, or none is made there.
var (
	ErrNotJoined  = errors.New("no runner has joined a box from here: `signalbox runner join` does, with what `signalbox runner invite` printed at the box")
	ErrOtherBox   = errors.New("the runner in this directory belongs to another box: take another directory (--dir), or remove this one")
	ErrNotReached = errors.New("no box is reached at")
	errDamaged    = errors.New("it can't be read: invite the runner again, and join again")
)

// Read returns what a runner has in its directory, and its key.
func Read(dir string) (Enrolment, *pin.Key, error) {
	e, err := Look(dir)
	if err != nil {
		return Enrolment{}, nil, err
	}
	key, err := pin.OpenKey(dir)
	return e, key, err
}

// Look returns what a runner has in its directory, and leaves that as it is.
func Look(dir string) (e Enrolment, err error) {
	data, err := regular.Read(filepath.Join(dir, File), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return e, fmt.Errorf("%s: %w", dir, ErrNotJoined)
	}
	if err != nil {
		return e, err
	}
	if json.Unmarshal(data, &e) != nil || access.CheckName(e.Name) != nil || len(e.Box) == 0 || !pin.IsHash(e.BoxKey) {
		return Enrolment{}, fmt.Errorf("%s: %w", filepath.Join(dir, File), errDamaged)
	}
	return e, nil
}

// Write keeps it in a directory.
func Write(dir string, e Enrolment) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, File), append(data, '\n'))
}

// Join redeems an invitation ([access.Invitation]): it makes the directory, and the key unless there is one, holds the box's key against
// the invitation's, and keeps what the runner needs from then on. Who is not told whether it has worked may do so again, with the same key; if it
// can't have worked nothing stays.
func Join(ctx context.Context, dir, invitation string) (Enrolment, error) {
	i, err := access.ParseInvitation(invitation)
	if err != nil {
		return Enrolment{}, err
	}
	if had, err := Look(dir); err == nil && !pin.Same(had.BoxKey, i.Key) {
		return Enrolment{}, fmt.Errorf("%s: %w", dir, ErrOtherBox)
	}
	undo := undoing(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Enrolment{}, err
	}
	key, err := pin.OpenKey(dir)
	if err != nil {
		return Enrolment{}, err
	}
	carrier := NewCarrier(i.Box, pin.Joining(key, i.Key))
	defer carrier.CloseIdleConnections()
	joined, err := api.ClientOver(carrier, "").JoinRunner(ctx, api.JoinRunner{Secret: i.Secret})
	if err == nil {
		e := Enrolment{Name: joined.Name, Box: i.Box, BoxKey: i.Key, Labels: joined.Labels}
		return e, Write(dir, e)
	}
	_, answered := errors.AsType[*api.Problem](err)
	if answered || !carrier.met.Load() {
		err = errors.Join(err, undo())
	}
	if !answered && ctx.Err() == nil {
		err = fmt.Errorf("%w %s: %w", ErrNotReached, strings.Join(i.Box, ", "), api.Cause(err))
	}
	return Enrolment{}, err
}

// undoing returns what takes away what is made in a directory from now on for a runner that joins.
func undoing(dir string) func() error {
	key := filepath.Join(dir, pin.File)
	had := func(path string) bool {
		_, err := os.Lstat(path)
		return !errors.Is(err, fs.ErrNotExist)
	}
	hadDir, hadKey := had(dir), had(key)
	return func() (err error) {
		if !hadKey {
			err = os.Remove(key)
		}
		if !hadDir {
			err = errors.Join(err, os.Remove(dir))
		}
		return err
	}
}

// Carrier carries requests to a box, whatever host they name: over TLS, to the first of its addresses that answers. Of boxes that share a ledger
// each is as good.
type Carrier struct {
	http.Transport
	met atomic.Bool // one has answered

	mu    sync.Mutex
	doors []door
	last  int // the one that answered last
}

// door is an address of a box.
type door struct {
	address string
	config  *tls.Config
	refused time.Time // when the box there did not know the runner
}

// refusedFor is how long it counts that one of several boxes did not know the runner: it may not have heard yet that the runner has joined.
const refusedFor = 30 * time.Second

const (
	dialPatience = 10 * time.Second // for a box to take a connection and show its key, at one address
	idlePatience = time.Minute

	otherPatience = 2 * time.Second // the same, if there is another box to ask
	maxIdle       = 256             // connections that nobody uses are kept: a session has one, now and then
)

// Carrier returns what carries a runner's requests to its box, or to any of those that share a ledger with it.
func (e Enrolment) Carrier(key *pin.Key) *Carrier {
	c := newCarrier()
	c.SetBoxes(key, e)
	return c
}

// SetBoxes has the carrier go to the boxes of an enrolment from now on. Connections that there are go on.
func (c *Carrier) SetBoxes(key *pin.Key, e Enrolment) {
	all := doors(e.Box, pin.Client(key, e.BoxKey))
	for _, b := range e.Boxes {
		for _, one := range doors(b.Addresses, pin.Client(key, b.Key)) {
			if !slices.ContainsFunc(all, func(d door) bool { return d.address == one.address }) || b.Key != e.BoxKey {
				all = append(all, one)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := 0
	if c.last < len(c.doors) {
		at = max(0, slices.IndexFunc(all, func(d door) bool { return d.address == c.doors[c.last].address }))
	}
	c.doors, c.last = all, at
}

func doors(addresses []string, config *tls.Config) []door {
	var all []door
	for _, a := range addresses {
		all = append(all, door{address: a, config: config})
	}
	return all
}

// NewCarrier returns what carries requests to a box that has these addresses.
func NewCarrier(addresses []string, config *tls.Config) *Carrier {
	c := newCarrier()
	c.doors = doors(addresses, config)
	return c
}

func newCarrier() *Carrier {
	c := &Carrier{}
	c.Transport = http.Transport{
		DialTLSContext:      func(ctx context.Context, network, _ string) (net.Conn, error) { return c.dial(ctx, network) },
		MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idlePatience,
	}
	return c
}

// RoundTrip implements [http.RoundTripper]. If no box knows the runner's key it fails with an [api.Problem], as if it had answered so.
func (c *Carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "https", "box"
	answer, err := c.Transport.RoundTrip(r)
	var before *unproven
	if pin.Refused(err) && !errors.As(err, &before) && c.refused(time.Now()) {
		return nil, &api.Problem{Code: api.CodeUnauthorized, Message: "the box does not know this runner: it was removed there. Have it invited again, and join here (signalbox runner join LINE)"}
	}
	return answer, err
}

// refused notes that the box which was asked last does not know the runner, has another one be asked next, and reports whether none does.
func (c *Carrier) refused(now time.Time) (all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.doors[c.last].config
	all = true
	for i := range c.doors {
		if c.doors[i].config == key { // the same box
			c.doors[i].refused = now
		}
		all = all && now.Sub(c.doors[i].refused) < refusedFor
	}
	c.last = (c.last + 1) % len(c.doors)
	return all
}

// unproven is why there is no connection: whoever is at the other end has not proven to be the box, so its word counts for nothing.
type unproven struct{ error }

func (u *unproven) Unwrap() error { return u.error }

// dial connects to the address where the box was last, or to the next one where it is: an address of one network can be another machine's in
// another.
func (c *Carrier) dial(ctx context.Context, network string) (net.Conn, error) {
	var all []error
	c.mu.Lock()
	doors, first := c.doors, c.last
	c.mu.Unlock()
	patience := dialPatience
	if doors[0].config != doors[len(doors)-1].config {
		patience = otherPatience
	}
	for n := range doors {
		at := (first + n) % len(doors)
		one, cancel := context.WithTimeout(ctx, patience)
		conn, err := (&tls.Dialer{Config: doors[at].config}).DialContext(one, network, doors[at].address)
		cancel()
		if err == nil {
			c.mu.Lock()
			if at < len(c.doors) && c.doors[at].address == doors[at].address {
				c.last = at
			}
			c.mu.Unlock()
			c.met.Store(true)
			return conn, nil
		}
		all = append(all, &unproven{err})
	}
	if len(all) == 1 {
		return nil, all[0]
	}
	return nil, errors.Join(all...)
}
