package ledger

import "fmt"

// Chains follows the chain of every subject through a sequence of events.
// The zero value is ready to use.
type Chains struct {
	tips map[string]Tip
}

// Tip is the end of a subject's chain: the place of its last event, and the
// event's hash. The zero value is the tip of a subject without events.
type Tip struct {
	ItemSeq uint64
	Sum     Hash
}

// ChainError says where a subject's chain breaks.
type ChainError struct {
	Subject string
	ItemSeq uint64
	Problem string
}

func (e *ChainError) Error() string {
	return fmt.Sprintf("event %d of subject %q: %s", e.ItemSeq, e.Subject, e.Problem)
}

// Tip returns the end of a subject's chain.
func (c *Chains) Tip(subject string) Tip { return c.tips[subject] }

// Subjects returns how many subjects there are.
func (c *Chains) Subjects() int { return len(c.tips) }

// Add takes the next event, as stored. It refuses an event that does not
// continue its subject's chain.
func (c *Chains) Add(stored []byte) (Event, error) {
	e, err := Decode(stored)
	if err != nil {
		return Event{}, err
	}
	tip := c.tips[e.Subject]
	switch {
	case e.ItemSeq != tip.ItemSeq+1:
		return Event{}, &ChainError{e.Subject, e.ItemSeq, fmt.Sprintf("comes after event %d", tip.ItemSeq)}
	case e.Prev != tip.Sum:
		return Event{}, &ChainError{e.Subject, e.ItemSeq, fmt.Sprintf("names %s as the event before it, which is %s", e.Prev, tip.Sum)}
	}
	if c.tips == nil {
		c.tips = map[string]Tip{}
	}
	c.tips[e.Subject] = Tip{e.ItemSeq, Sum(stored)}
	return e, nil
}
