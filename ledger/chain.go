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
	ItemSeq uint64 `json:"item_seq"`
	Sum     Hash   `json:"sum"`
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

// Next returns the tip after an event that was decoded from stored. It refuses an
// event that does not continue the chain.
func (t Tip) Next(e Event, stored []byte) (Tip, error) {
	switch {
	case e.ItemSeq != t.ItemSeq+1:
		return t, &ChainError{e.Subject, e.ItemSeq, fmt.Sprintf("comes after event %d", t.ItemSeq)}
	case e.Prev != t.Sum:
		return t, &ChainError{e.Subject, e.ItemSeq, fmt.Sprintf("names %s as the event before it, which is %s", e.Prev, t.Sum)}
	}
	return Tip{e.ItemSeq, Sum(stored)}, nil
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
	tip, err := c.tips[e.Subject].Next(e, stored)
	if err != nil {
		return Event{}, err
	}
	if c.tips == nil {
		c.tips = map[string]Tip{}
	}
	c.tips[e.Subject] = tip
	return e, nil
}
