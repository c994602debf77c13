package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/engine"
)

var (
	errBadAfter    = errors.New("after (or the header Last-Event-ID) is the sequence of an event that there is, or 0")
	errBadFollow   = errors.New("follow is true or false")
	errLimitFollow = errors.New("limit and follow exclude each other: a page ends, and what is followed does not")
)

// errStop ends a read that found what it looked for.
var errStop = errors.New("enough")

// wanted is which events a request asks for.
type wanted struct {
	after   uint64
	upto    uint64 // the last one that there was when it came
	subject string // only of this one, if it is not empty
	limit   int    // so many at most, if it is not 0
	follow  bool
}

func (s *Server) wanted(r *http.Request) (w wanted, err error) {
	q, err := queryOf(r)
	if err != nil {
		return w, err
	}
	if last := cmp.Or(r.Header.Get("Last-Event-ID"), q.Get("after")); last != "" {
		if w.after, err = strconv.ParseUint(last, 10, 64); err != nil {
			return w, errBadAfter
		}
	}
	if id := q.Get("work"); id != "" {
		if w.subject, err = s.box.SubjectNamed(id); err != nil {
			return w, err
		}
	}
	if w.upto = s.box.UpTo(); w.after > w.upto {
		return w, errBadAfter
	}
	if w.limit, err = limitOf(q); err != nil {
		return w, err
	}
	if w.follow, err = strconv.ParseBool(cmp.Or(q.Get("follow"), "false")); err != nil {
		return w, errBadFollow
	}
	if w.follow && w.limit > 0 {
		return w, errLimitFollow
	}
	return w, nil
}

// events sends the events after a sequence as server-sent events; the id of each
// is its sequence, so a client that comes back goes on where it was.
func (s *Server) events(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
	want, err := s.wanted(r)
	if err != nil {
		return err
	}
	in := s.reading
	if want.follow {
		in = s.following
	}
	out, end, err := s.stream(w, r, in)
	if err != nil {
		return err
	}
	defer end()
	if want.after >= want.upto && !want.follow {
		return nil
	}
	if err := out.Send(nothing); err != nil {
		return nil // the client has gone
	}
	sent, last := 0, uint64(0)
	send := func(records []engine.Record) error {
		return out.Send(func(w io.Writer) error {
			for _, rec := range records {
				if want.subject == "" || want.subject == rec.Subject {
					if want.limit > 0 && sent == want.limit {
						return errors.Join(sendNext(w, last), errStop)
					}
					e := api.Event{Sequence: rec.Seq, Work: s.box.NameOf(rec.Subject), Event: rec.Data}
					if err := sendEvent(w, e); err != nil {
						return err
					}
					sent, last = sent+1, rec.Seq
				}
				if !want.follow && rec.Seq >= want.upto {
					return errStop
				}
			}
			return nil
		})
	}
	err = s.read(r.Context(), want, send)
	if err == nil || errors.Is(err, errStop) {
		return nil
	}
	if r.Context().Err() == nil {
		s.logger.Warn("an events request broke off", "error", err)
	}
	panic(http.ErrAbortHandler) // what was sent must not look whole
}

// read calls f with events among which those are that are wanted. Of one subject, no others are read.
func (s *Server) read(ctx context.Context, want wanted, f func([]engine.Record) error) error {
	if want.subject != "" && !want.follow {
		return s.box.EventsOf(want.subject, want.after, want.upto, f)
	}
	return s.box.Watch(ctx, want.after+1, func(records []engine.Record) error {
		if err := f(records); err != nil || records[len(records)-1].Seq < s.box.UpTo() {
			return err
		}
		return pauseFollowing(ctx)
	})
}

// sendNext says that there are more events, and what to go on after.
func sendNext(w io.Writer, last uint64) error {
	data, err := json.Marshal(api.NextEvents{Next: last})
	if err == nil {
		_, err = fmt.Fprintf(w, "event: next\ndata: %s\n\n", data)
	}
	return err
}

// sendEvent writes an event with its bytes as they are stored.
func sendEvent(w io.Writer, e api.Event) error {
	if _, err := fmt.Fprintf(w, "id: %d\ndata: ", e.Sequence); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
