package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
)

// A client that follows the events or watches a run waits for its next piece. It holds one piece while it does
// not read, is disconnected if it does not for [httpserver.StreamPatience], and comes back for
// what it has missed, which is read from the archive.
const (
	maxFollowing = 128                   // so many at once
	maxReading   = 128                   // and so many who read the events that there are: what is held for each is the same
	followPause  = 50 * time.Millisecond // between two pieces, if there is nothing that it has missed: many changes are one
)

var (
	errManyFollow = fmt.Errorf("%d clients follow already: end one of them, or ask for pages (limit) from time to time", maxFollowing)
	errManyRead   = fmt.Errorf("%d clients read events already: try again in a moment", maxReading)
)

// crowd is as many clients as may do the same at once. The zero value has no limit.
type crowd struct {
	places chan struct{} // has something for each of them
	full   error
}

// join takes a place, until leave is called.
func (c crowd) join() (leave func(), err error) {
	if c.places == nil {
		return func() {}, nil
	}
	select {
	case c.places <- struct{}{}:
		return func() { <-c.places }, nil
	default:
		return nil, c.full
	}
}

// stream begins an answer of server-sent events to one of a crowd, until end is called. Who has not sent its whole
// request takes no place.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, in crowd) (out *httpserver.Stream, end func(), err error) {
	if out, err = httpserver.NewStream(w, r); err != nil {
		return nil, nil, unread(err)
	}
	leave, err := in.join()
	if err != nil {
		out.End()
		return nil, nil, err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	return out, func() {
		out.End()
		leave()
	}, nil
}

// message writes data as a server-sent event without a name.
func message(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "data: %s\n\n", data)
		return err
	}
}

// nothing writes nothing: that the answer has begun is sent.
func nothing(io.Writer) error { return nil }

// watchRun sends a run as it is, and again when it has changed, until it has ended.
func (s *Server) watchRun(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
	watch, err := s.box.WatchRun(r.PathValue("run"))
	if err != nil {
		return err
	}
	defer watch.End()
	out, end, err := s.stream(w, r, s.following)
	if err != nil {
		return err
	}
	defer end()
	for begun := false; ; begun = true {
		v, err := watch.Show()
		var data []byte
		if err == nil {
			data, err = json.Marshal(v)
		}
		if err != nil {
			return brokeOff(s.logger, begun, err)
		}
		if err := out.Send(message(data)); err != nil || v.State == api.RunFinished {
			return nil // the client has gone, or there is nothing more to see
		}
		select {
		case <-watch.Changed:
		case <-r.Context().Done():
			return nil
		}
		if pauseFollowing(r.Context()) != nil {
			return nil
		}
	}
}

// pauseFollowing waits for as long as whoever follows has to before the next piece.
func pauseFollowing(ctx context.Context) error {
	select {
	case <-time.After(followPause):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// commands sends a session what the box wants of it, for as long as both are there.
func (s *Server) commands(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
	session, err := s.conductor.LiveSession(r.PathValue("session"))
	if err != nil {
		return err
	}
	out, end, err := s.stream(w, r, crowd{})
	if err != nil {
		return err
	}
	defer end()
	if err := out.Send(nothing); err != nil {
		return nil // the session has gone
	}
	lost, hangUp, err := session.Connect()
	if err != nil {
		return err
	}
	defer hangUp()
	for {
		commands, more, now := session.Next()
		if now != lost {
			return nil // it has connected anew
		}
		for _, cmd := range commands {
			data, err := json.Marshal(cmd)
			if err != nil {
				return err
			}
			if err := out.Send(message(data)); err != nil {
				return nil
			}
			session.Wrote(cmd.ID)
		}
		select {
		case <-more:
		case <-lost:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}
