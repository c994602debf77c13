package box

import "time"

// pace tells a burst of events from quiet. Memory that a burst took is given back when it is over, also if a few
// events come all the time: so it is not enough to wait until none comes.
type pace struct {
	events uint64    // at the last look
	many   time.Time // when many had last come
}

const (
	// manyEvents is how many events between two looks, a second or so, are a burst.
	manyEvents = 50
	// quietAfter is how long after the last of them a burst is over.
	quietAfter = 10 * time.Second
)

// beginPace begins with a burst: a box is mostly started because there is something to do.
func beginPace(events uint64, now time.Time) pace { return pace{events, now} }

// look takes how many events there are by now, and returns how long the burst lasts from here on if no
// other comes; 0 if there is none.
func (p *pace) look(events uint64, now time.Time) time.Duration {
	if events >= p.events+manyEvents {
		p.many = now
	}
	p.events = events
	return min(max(0, p.many.Add(quietAfter).Sub(now)), quietAfter) // the clock may be set back
}
