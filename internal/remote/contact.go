package remote

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// contact is what a runner says of its contact to the box: a line when there is none, now and then one for as long as that lasts, and one when
// there is contact again.
type contact struct {
	box    string
	now    func() time.Time
	logger *slog.Logger

	mu       sync.Mutex
	follows  bool      // there is a connection by which the box says what it wants
	heard    time.Time // when the box was there last; when it was first missed if it never was
	met      bool      // there was contact since the runner began
	away     bool      // there is none
	told     time.Time // when that was said last
	unspoken bool      // it was not said, as it was said a moment ago
}

func newContact(o Options) *contact {
	return &contact{box: o.Box, now: o.Now, logger: o.Logger}
}

// How often it is said that there is no contact: while it lasts, and if it comes and goes.
const (
	awayAgain = time.Minute
	awayAnew  = 2 * order.Heartbeat
)

// Why there is no contact.
var errNoAnswer = errors.New("nothing is heard of it")

// followed notes that the box says what it wants from now on.
func (c *contact) followed() {
	c.mu.Lock()
	c.follows = true
	c.mu.Unlock()
	c.answered()
}

// brokeOff notes that it does so no more, for a reason. If it did for a while, it is missed only when it can't be followed anew.
func (c *contact) brokeOff(afterWhile bool, why error) {
	c.mu.Lock()
	c.follows = false
	c.mu.Unlock()
	if !afterWhile {
		c.missed(why)
	}
}

// answered notes that the box was heard of. There is contact if it is followed too.
func (c *contact) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	was := c.heard
	c.heard = now
	if !c.follows || c.met && !c.away {
		return
	}
	switch {
	case !c.met:
		c.logger.Info("the runner is in contact with its box", "box", c.box)
	case !c.unspoken:
		c.logger.Info("the runner is in contact with its box again", "box", c.box, "after", now.Sub(was).Round(time.Second))
	}
	c.met, c.away, c.unspoken = true, false, false
}

// missed notes that the box is not there, or does not answer.
func (c *contact) missed(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, gap := c.now(), awayAgain
	if !c.away {
		c.away, c.unspoken, gap = true, true, awayAnew
	}
	if c.heard.IsZero() {
		c.heard = now
	}
	if !c.told.IsZero() && now.Sub(c.told) < gap {
		return
	}
	c.told, c.unspoken = now, false
	c.logger.Warn("the runner is out of contact with its box", "box", c.box, "since", c.heard.Truncate(time.Second), "error", api.Cause(why))
}
