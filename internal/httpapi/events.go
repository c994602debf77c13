package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
)

var (
	errBadAfter    = errors.New("after (or the header Last-Event-ID) is the sequence of an event that there is, or 0")
	errBadFollow   = errors.New("follow is true or false")
	errBadTasks    = errors.New("tasks is true or false; true goes with a run in work, and without follow")
	errBadBefore   = errors.New("before is the sequence of an event, from 1 on; it goes with limit, and without after and follow")
	errBadEvent    = errors.New("an event is named by its sequence, which is a whole number from 1 on")
	errLimitFollow = errors.New("limit and follow exclude each other: a page ends, and what is followed does not")
)

// errStop ends a read that found what it looked for.
var errStop = errors.New("enough")

// wanted is which events a request asks for.
type wanted struct {
	after  uint64
	before uint64   // the last ones before it, the latest first, if it is not 0
	upto   uint64   // the last one that there was when it came
	of     []string // only of these subjects, if there are any
	limit  int      // so many at most, if it is not 0
	follow bool
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
	if w.of, err = s.subjects(q); err != nil {
		return w, err
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
	if q.Has("before") {
		w.before, err = strconv.ParseUint(q.Get("before"), 10, 64)
		if err != nil || w.before == 0 || w.limit == 0 || w.follow || q.Has("after") || r.Header.Get("Last-Event-ID") != "" {
			return w, errBadBefore
		}
	}
	switch {
	case w.follow && w.limit > 0:
		return w, errLimitFollow
	case w.follow && len(w.of) > 1:
		return w, errBadTasks // which tasks there are may change
	}
	return w, nil
}

// subjects returns those whose events a request asks for; none for all.
func (s *Server) subjects(q url.Values) ([]string, error) {
	id := q.Get("work")
	tasks, err := strconv.ParseBool(cmp.Or(q.Get("tasks"), "false"))
	switch {
	case err != nil || tasks && id == "":
		return nil, errBadTasks
	case tasks:
		return s.box.SubjectsOfRun(id)
	case id == "":
		return nil, nil
	}
	subject, err := s.box.SubjectNamed(id)
	return []string{subject}, err
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
	if want.before > 0 {
		return s.sendBefore(out, want)
	}
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
				if len(want.of) == 0 || !want.follow || slices.Contains(want.of, rec.Subject) {
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

// sendBefore sends the last events before a sequence.
func (s *Server) sendBefore(out *httpserver.Stream, want wanted) error {
	last, more, err := s.box.EventsBefore(want.of, want.before, want.limit)
	if err != nil {
		return err
	}
	_ = out.Send(func(w io.Writer) error { // a client that has gone misses it
		for _, rec := range last {
			if err := sendEvent(w, api.Event{Sequence: rec.Seq, Work: s.box.NameOf(rec.Subject), Event: rec.Data}); err != nil {
				return err
			}
		}
		if more {
			return sendNext(w, last[len(last)-1].Seq)
		}
		return nil
	})
	return nil
}

// prove answers with the proof of an event.
func (s *Server) prove(w http.ResponseWriter, r *http.Request, _ access.Principal) error {
	seq, err := strconv.ParseUint(r.PathValue("sequence"), 10, 64)
	if err != nil || seq == 0 {
		return errBadEvent
	}
	proof, err := s.box.Prove(seq)
	return reply(w, proof, err)
}

// read calls f with events among which those are that are wanted. Of some subjects, no others are read.
func (s *Server) read(ctx context.Context, want wanted, f func([]engine.Record) error) error {
	if len(want.of) > 0 && !want.follow {
		return s.box.EventsOf(want.of, want.after, want.upto, f)
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
