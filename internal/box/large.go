package box

import "net/http"

// large bounds how many large outputs are in memory at once.
type large chan struct{}

// What an output may have without waiting for its turn, in bytes; and how many
// larger ones have theirs at once.
const (
	smallOutput  = 64 << 10
	largeOutputs = 4
)

// take waits until there is room for the request's body. The room is kept until
// end is called.
func (l large) take(r *http.Request) (end func(), err error) {
	if 0 <= r.ContentLength && r.ContentLength <= smallOutput {
		return func() {}, nil
	}
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
