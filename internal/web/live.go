package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
)

// How many browsers may have the stream open, how many topics one may name, and how long is waited between two pieces: many changes
// are one.
const (
	maxReaders = 256
	maxTopics  = 8
	pause      = 150 * time.Millisecond
	lookPause  = time.Second // if nothing was recorded: agents print much
)

// Topics of what concerns more than one run or task. All others are the names of runs and tasks.
const (
	topicInbox   = "inbox"
	topicRuns    = "runs"
	topicRunners = "runners" // which no event says of that they are there
)

// lookAtRunners is how often a browser that shows runners looks at them again.
const lookAtRunners = 5 * time.Second

// hub tells who has the stream open what has changed. It follows the box while somebody has, and is at rest otherwise.
type hub struct {
	follow  func(ctx context.Context, after uint64, f func(uint64, []string) error) error
	upTo    func() uint64
	waiting func() []api.Question // for a person

	mu      sync.Mutex
	readers map[*reader]bool
	source  *source // nil while nobody reads
}

// source is the hub's following of the box, from when the first reader came until the last one left.
type source struct {
	cancel context.CancelFunc
	ended  chan struct{}
	more   chan struct{} // gets something when an event has come

	// What the readers have not been told of yet, and what they know of the inbox.
	about  map[string]bool // the names of what events were about, and of their runs
	runs   bool            // a run is among them
	upTo   uint64
	inbox  map[string]bool // what waits for a person, and the names of what that is about
	joined bool            // a reader has come since, and may know more of the inbox
}

// reader is a browser that has the stream open. What it has not been told yet is a part of its topics, so it never grows.
type reader struct {
	topics  []string
	more    chan struct{} // gets something when there is something to tell
	over    chan struct{} // closed when nothing more will come
	changed map[string]bool
	upTo    uint64
}

var errManyReaders = fmt.Errorf("%d browsers have the page open already: close one of them", maxReaders)

// join begins to tell a reader what changes after a sequence. If something has changed since, it may be any of its topics.
func (h *hub) join(topics []string, since uint64) (*reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.readers) >= maxReaders {
		return nil, errManyReaders
	}
	r := &reader{topics: topics, more: make(chan struct{}, 1), over: make(chan struct{}), changed: map[string]bool{}}
	if h.readers == nil {
		h.readers = map[*reader]bool{}
	}
	h.readers[r] = true
	r.upTo = h.upTo()
	if h.source == nil {
		ctx, cancel := context.WithCancel(context.Background())
		h.source = &source{cancel: cancel, ended: make(chan struct{}), more: make(chan struct{}, 1), about: map[string]bool{}}
		go h.run(ctx, h.source, r.upTo)
	}
	h.source.joined = true
	if since < r.upTo {
		r.note(topics)
	}
	return r, nil
}

// leave ends that. The last one to leave ends the following, and waits for that.
func (h *hub) leave(r *reader) {
	h.mu.Lock()
	delete(h.readers, r)
	var last *source
	if len(h.readers) == 0 {
		last, h.source = h.source, nil
	}
	h.mu.Unlock()
	if last != nil {
		last.cancel()
		<-last.ended
	}
}

// run follows the box for a source. If that ends by itself, the box stops: then all who read are told so.
func (h *hub) run(ctx context.Context, s *source, after uint64) {
	defer close(s.ended)
	var telling sync.WaitGroup
	defer telling.Wait()
	defer s.cancel()
	telling.Go(func() { h.tell(ctx, s) })
	_ = h.follow(ctx, after, func(upTo uint64, names []string) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		s.upTo = upTo
		for _, name := range names {
			run, _, _ := strings.Cut(name, ".")
			s.about[name], s.about[run] = true, true
			s.runs = s.runs || isRun(run)
		}
		select {
		case s.more <- struct{}{}:
		default:
		}
		return nil
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.source != s {
		return // all have left
	}
	for r := range h.readers {
		close(r.over)
	}
	h.readers, h.source = nil, nil
}

// tell has the readers told what events concern, at once and then at most once in a pause, until ctx ends: however many events
// there are, what is looked up for them is looked up a few times a second, once for all readers.
func (h *hub) tell(ctx context.Context, s *source) {
	for {
		select {
		case <-s.more:
		case <-ctx.Done():
			return
		}
		h.mu.Lock()
		upTo := s.upTo // what comes from here on may be in what waits, or not: it is told the next time
		h.mu.Unlock()
		now := h.inboxNow()
		h.mu.Lock()
		if h.source == s {
			inbox := s.concernsInbox(now)
			for r := range h.readers {
				r.upTo = upTo
				r.note(s.concerned(r.topics, inbox))
			}
			clear(s.about)
			s.runs, s.inbox, s.joined = false, now, false
		}
		h.mu.Unlock()
		if rest(ctx, pause) != nil {
			return
		}
	}
}

// inboxNow returns what waits for a person, and the names of what that is about.
func (h *hub) inboxNow() map[string]bool {
	all := map[string]bool{}
	for _, q := range h.waiting() {
		all["waits "+q.ID] = true // no name has a space
		all[q.Work] = q.Work != ""
	}
	return all
}

// concernsInbox reports whether the inbox may be different from what the readers know: something waits, or does not any more, or
// something happened to what waits.
func (s *source) concernsInbox(now map[string]bool) bool {
	if s.joined || !maps.Equal(s.inbox, now) {
		return true
	}
	for name := range s.about {
		if now[name] {
			return true
		}
	}
	return false
}

// concerned returns the topics that the events concern.
func (s *source) concerned(topics []string, inbox bool) (all []string) {
	for _, t := range topics {
		if t == topicInbox && inbox || t == topicRuns && s.runs || t != topicInbox && t != topicRuns && s.about[t] {
			all = append(all, t)
		}
	}
	return all
}

// isRun reports whether a name may be a run's.
func isRun(name string) bool {
	number, is := strings.CutPrefix(name, "R")
	return is && number != "" && strings.Trim(number, "0123456789") == ""
}

// note keeps what a reader is to be told. The caller holds the lock.
func (r *reader) note(topics []string) {
	if len(topics) == 0 {
		return
	}
	for _, t := range topics {
		r.changed[t] = true
	}
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// hint has a reader told of a topic.
func (h *hub) hint(r *reader, topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.note([]string{topic})
}

// mark keeps that a reader is to be told of a topic.
func (h *hub) mark(r *reader, topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.changed[topic] = true
}

// next returns what a reader is to be told, and the last event that it has been told of then.
func (h *hub) next(r *reader) (topics []string, upTo uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range r.topics {
		if r.changed[t] {
			topics = append(topics, t)
		}
	}
	clear(r.changed)
	return topics, r.upTo
}

// stream tells a browser which of its topics have changed. It comes back with the last event that it was told of.
func (p *Page) stream(w http.ResponseWriter, a asked) {
	q := a.URL.Query()
	topics := slices.Compact(slices.Sorted(slices.Values(q["on"])))
	since, err := strconv.ParseUint(q.Get("since"), 10, 64)
	if last := a.Header.Get("Last-Event-ID"); last != "" {
		since, err = strconv.ParseUint(last, 10, 64)
	}
	if err != nil || len(topics) == 0 || len(topics) > maxTopics {
		http.Error(w, "the stream has 1 to 8 topics (on), and the sequence of an event (since)", http.StatusBadRequest)
		return
	}
	out, err := httpserver.NewStream(w, a.Request)
	if err != nil {
		http.Error(w, "the request did not come to its end", http.StatusBadRequest)
		return
	}
	defer out.End()
	r, err := p.hub.join(topics, since)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer p.hub.leave(r)
	w.Header().Set("Content-Type", "text/event-stream")
	if out.Send(begin) != nil {
		return // the browser has gone
	}
	run, different, end := p.looks(topics)
	if run != "" {
		p.hub.hint(r, run) // it may have looked different since the page was made, and no event says so
	}
	defer end()
	var runners <-chan time.Time
	if slices.Contains(topics, topicRunners) {
		again := time.NewTicker(lookAtRunners)
		defer again.Stop()
		runners = again.C
	}
	for {
		wait := pause
		select {
		case <-r.more:
		case <-runners:
			p.hub.mark(r, topicRunners)
		case <-different:
			p.hub.mark(r, run)
			wait = lookPause
		case <-r.over:
			return
		case <-a.Context().Done():
			return
		}
		if _, _, err := p.session(a.Request); err != nil {
			_ = out.Send(func(w io.Writer) error { _, err := io.WriteString(w, "event: over\ndata: \n\n"); return err }) // it is over either way
			return
		}
		changed, upTo := p.hub.next(r)
		data, err := json.Marshal(changed)
		if err != nil {
			return
		}
		if out.Send(func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "id: %d\nevent: changed\ndata: %s\n\n", upTo, data)
			return err
		}) != nil {
			return // it has gone, or does not read: it comes back with the last id
		}
		if rest(a.Context(), wait) != nil {
			return
		}
	}
}

// looks watches the run that is among the topics, if there is one.
func (p *Page) looks(topics []string) (run string, different <-chan struct{}, end func()) {
	for _, t := range topics {
		if t == topicInbox || t == topicRuns {
			continue
		}
		if different, end, err := p.o.Box.Looks(t); err == nil {
			return t, different, end
		}
	}
	return "", nil, func() {}
}

// begin says how long a browser waits before it comes back, in milliseconds.
func begin(w io.Writer) error {
	_, err := io.WriteString(w, "retry: 1000\n\n")
	return err
}

// rest waits, no longer than ctx.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return errors.New("it has gone")
	}
}
