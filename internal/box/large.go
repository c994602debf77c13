package box

import (
	"fmt"
	"net/http"
	"time"
)

// large bounds how many large outputs are in memory at once.
type large chan struct{}

// What an output may have without waiting for its turn, in bytes; and how many
// larger ones have theirs at once.
const (
	smallOutput  = 64 << 10
	largeOutputs = 4
)

// largePatience is for how long an output waits for its turn. One that is being taken ends sooner, if
// its client sends it.
const largePatience = 2 * time.Minute

var errManyOutputs = fmt.Errorf("%d large outputs are being taken, and none has ended for %v: try again later", largeOutputs, largePatience)

// take waits until there is room for the request's body. The room is kept until
// end is called.
func (l large) take(r *http.Request) (end func(), err error) {
	if 0 <= r.ContentLength && r.ContentLength <= smallOutput {
		return func() {}, nil
	}
	timer := time.NewTimer(largePatience)
	defer timer.Stop()
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-timer.C:
		return nil, errManyOutputs
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
