package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
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

// read reads an output, in its turn if it is large. The turn lasts until end is called. It begins when
// more has come than a small output has: who sends nothing takes nobody's turn.
func (l large) read(w http.ResponseWriter, r *http.Request) (output []byte, end func(), err error) {
	body := http.MaxBytesReader(w, r.Body, api.MaxOutput)
	output, err = io.ReadAll(io.LimitReader(body, smallOutput+1))
	switch {
	case err != nil:
		return nil, nil, unread(err)
	case len(output) <= smallOutput:
		return output, func() {}, nil
	}
	if end, err = l.take(r.Context()); err != nil {
		return nil, nil, err
	}
	httpserver.BodyBegins(w, r)
	if output, err = io.ReadAll(io.MultiReader(bytes.NewReader(output), body)); err != nil {
		end()
		return nil, nil, unread(err)
	}
	return output, end, nil
}

// take waits until there is room for a large output. The room is kept until end is called.
func (l large) take(ctx context.Context) (end func(), err error) {
	timer := time.NewTimer(largePatience)
	defer timer.Stop()
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-timer.C:
		return nil, errManyOutputs
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
