// Package mailbox holds the commands that sessions have not answered yet, which sessions are connected, and the last line that
// each has printed. A conductor owns the [Set], a runner puts commands in, and the HTTP server sends them. It starts nothing, so
// nothing has to be stopped, and nothing of it is durable: after a restart what has to be said again follows from the run's state, and
// an operator's message counts as told only when it is recorded.
package mailbox

import (
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// Set has the mailboxes of all sessions.
type Set struct {
	mu  sync.Mutex
	all map[string]*mailbox // by session
}

// mailbox is the box's side of a session.
type mailbox struct {
	pending []pending            // not answered yet; sent again when the session connects
	sent    map[string]bool      // on the connection that there is now
	wake    chan struct{}        // closed when there is more to send; nil while not connected
	lost    chan struct{}        // closed when the connection breaks
	answers map[string]chan bool // of tells: whether the agent was told
	says    string
	quiet   time.Time // since when nothing was heard of its agent; zero if it need not be
}

// pending is a command that the session has not answered.
type pending struct {
	api.SessionCommand
	delivered func() // called when it was written; may be nil
}

// New makes a set without mailboxes.
func New() *Set { return &Set{all: map[string]*mailbox{}} }

// of returns the mailbox of a session, which is made if need be. Who calls it sees to it that it
// is forgotten if the session has ended meanwhile.
func (s *Set) of(session string) *mailbox {
	m := s.all[session]
	if m == nil {
		m = &mailbox{sent: map[string]bool{}, answers: map[string]chan bool{}, lost: make(chan struct{})}
		s.all[session] = m
	}
	return m
}

// Forget drops a session that has ended.
func (s *Set) Forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.all[session]; m != nil {
		for _, answer := range m.answers {
			close(answer)
		}
		m.hangUp()
	}
	delete(s.all, session)
}

// Send says something to a session, now or when it connects. Saying it twice is
// saying it once.
func (s *Set) Send(session string, c api.SessionCommand, delivered func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(session).add(c, delivered)
}

func (m *mailbox) add(c api.SessionCommand, delivered func()) {
	if i := slices.IndexFunc(m.pending, func(p pending) bool { return p.ID == c.ID }); i < 0 {
		m.pending = append(m.pending, pending{c, delivered})
	} else if delivered != nil {
		m.pending[i].delivered = delivered
		delete(m.sent, c.ID) // it is said again, for whoever waits for it
	}
	m.stir()
}

func (m *mailbox) stir() {
	if m.wake != nil {
		close(m.wake)
		m.wake = make(chan struct{})
	}
}

func (m *mailbox) hangUp() {
	if m.wake != nil {
		m.wake = nil
		close(m.lost)
		m.lost = make(chan struct{})
	}
}

// Answered forgets a command that the session has carried out.
func (s *Set) Answered(session, id string, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.all[session]
	if m == nil {
		return
	}
	m.pending = slices.DeleteFunc(m.pending, func(p pending) bool { return p.ID == id })
	if answer := m.answers[id]; answer != nil {
		answer <- told
		delete(m.answers, id)
	}
}

// Ask sends a tell to a session that is in touch and returns where its answer comes: whether the
// agent was told. The channel is closed if the session ends before, or is not in touch.
func (s *Set) Ask(session string, c api.SessionCommand) <-chan bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := make(chan bool, 1)
	m := s.all[session]
	if m == nil || m.wake == nil {
		close(answer)
		return answer
	}
	m.answers[c.ID] = answer
	m.add(c, nil)
	return answer
}

// TakeBack takes a tell back that was not answered in time: if it has not gone out, it never will.
func (s *Set) TakeBack(session, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.all[session]; m != nil {
		m.pending = slices.DeleteFunc(m.pending, func(p pending) bool { return p.ID == id })
		delete(m.answers, id)
	}
}

// Connect begins a connection, and returns a channel that is closed when it ends. The newest one
// counts: an older one ends.
func (s *Set) Connect(session string, now time.Time) (lost <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.of(session)
	m.hangUp()
	m.wake, m.sent, m.quiet = make(chan struct{}), map[string]bool{}, now
	return m.lost
}

// Next returns what is to be sent on the connection, and when to look again; nothing of a session
// that was forgotten.
func (s *Set) Next(session string) (commands []api.SessionCommand, more, lost <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.all[session]
	if m == nil {
		return nil, nil, nil
	}
	for _, p := range m.pending {
		if !m.sent[p.ID] {
			commands = append(commands, p.SessionCommand)
		}
	}
	return commands, m.wake, m.lost
}

// Wrote notes that a command has gone out.
func (s *Set) Wrote(session, id string) {
	var delivered func()
	s.mu.Lock()
	if m := s.all[session]; m != nil {
		m.sent[id] = true
		for _, p := range m.pending {
			if p.ID == id {
				delivered = p.delivered
			}
		}
	}
	s.mu.Unlock()
	if delivered != nil {
		delivered()
	}
}

// Disconnect ends a connection, if it is still the one that counts.
func (s *Set) Disconnect(session string, lost <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.all[session]; m != nil && (<-chan struct{})(m.lost) == lost {
		m.hangUp()
	}
}

// InTouch reports whether a session is connected.
func (s *Set) InTouch(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.all[session]
	return m != nil && m.wake != nil
}

// Connected reports whether a session is in touch, and returns a channel that is
// closed when that ends; nil if it never was.
func (s *Set) Connected(session string) (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.all[session]
	if m == nil {
		return false, nil
	}
	return m.wake != nil, m.lost
}

// Heard keeps the last line that an agent printed, if it has printed one since, and since when it is quiet: zero if it waits
// for something that is not to be heard.
func (s *Set) Heard(session, says string, quiet time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.all[session]; m != nil {
		m.quiet = quiet
		if says != "" {
			m.says = says
		}
	}
}

// Seen returns the last line that an agent printed, since when nothing was heard of it, and whether its session is out of
// touch.
func (s *Set) Seen(session string) (says string, quiet time.Time, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.all[session]
	if m == nil {
		return "", time.Time{}, true
	}
	return m.says, m.quiet, m.wake == nil
}

// Len returns how many sessions have a mailbox.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}
