package box

import (
	"slices"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// mailboxes keep what the box has to say to the sessions of agents, and what it has
// heard of them. Nothing of it is recorded: what has to be said again after a
// restart follows from the state.
type mailboxes struct {
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
}

// pending is a command that the session has not answered.
type pending struct {
	api.SessionCommand
	delivered func() // called when it was written; may be nil
}

func newMailboxes() *mailboxes { return &mailboxes{all: map[string]*mailbox{}} }

// of returns the mailbox of a session, which is made if need be. Who calls it sees to it that it
// is forgotten if the session has ended meanwhile.
func (b *mailboxes) of(session string) *mailbox {
	m := b.all[session]
	if m == nil {
		m = &mailbox{sent: map[string]bool{}, answers: map[string]chan bool{}, lost: make(chan struct{})}
		b.all[session] = m
	}
	return m
}

// forget drops a session that has ended.
func (b *mailboxes) forget(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.all[session]; m != nil {
		for _, answer := range m.answers {
			close(answer)
		}
		m.hangUp()
	}
	delete(b.all, session)
}

// send says something to a session, now or when it connects. Saying it twice is
// saying it once.
func (b *mailboxes) send(session string, c api.SessionCommand, delivered func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(session).add(c, delivered)
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

// answered forgets a command that the session has carried out.
func (b *mailboxes) answered(session, id string, told bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.all[session]
	if m == nil {
		return
	}
	m.pending = slices.DeleteFunc(m.pending, func(p pending) bool { return p.ID == id })
	if answer := m.answers[id]; answer != nil {
		answer <- told
		delete(m.answers, id)
	}
}

// ask sends a tell to a session that is in touch and returns where its answer comes: whether the
// agent was told. The channel is closed if the session ends before, or is not in touch.
func (b *mailboxes) ask(session string, c api.SessionCommand) <-chan bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	answer := make(chan bool, 1)
	m := b.all[session]
	if m == nil || m.wake == nil {
		close(answer)
		return answer
	}
	m.answers[c.ID] = answer
	m.add(c, nil)
	return answer
}

// takeBack takes a tell back that was not answered in time: if it has not gone out, it never will.
func (b *mailboxes) takeBack(session, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.all[session]; m != nil {
		m.pending = slices.DeleteFunc(m.pending, func(p pending) bool { return p.ID == id })
		delete(m.answers, id)
	}
}

// connect begins a connection, and returns a channel that is closed when it ends. The newest one
// counts: an older one ends.
func (b *mailboxes) connect(session string) (lost <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.of(session)
	m.hangUp()
	m.wake, m.sent = make(chan struct{}), map[string]bool{}
	return m.lost
}

// next returns what is to be sent on the connection, and when to look again; nothing of a session
// that was forgotten.
func (b *mailboxes) next(session string) (commands []api.SessionCommand, more, lost <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.all[session]
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

// wrote notes that a command has gone out.
func (b *mailboxes) wrote(session, id string) {
	var delivered func()
	b.mu.Lock()
	if m := b.all[session]; m != nil {
		m.sent[id] = true
		for _, p := range m.pending {
			if p.ID == id {
				delivered = p.delivered
			}
		}
	}
	b.mu.Unlock()
	if delivered != nil {
		delivered()
	}
}

// disconnect ends a connection, if it is still the one that counts.
func (b *mailboxes) disconnect(session string, lost <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.all[session]; m != nil && (<-chan struct{})(m.lost) == lost {
		m.hangUp()
	}
}

// inTouch reports whether a session is connected.
func (b *mailboxes) inTouch(session string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.all[session]
	return m != nil && m.wake != nil
}

// connected reports whether a session is in touch, and returns a channel that is
// closed when that ends; nil if it never was.
func (b *mailboxes) connected(session string) (bool, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.all[session]
	if m == nil {
		return false, nil
	}
	return m.wake != nil, m.lost
}

// heard keeps the last line that an agent printed.
func (b *mailboxes) heard(session, says string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.all[session]; m != nil {
		m.says = says
	}
}

// seen returns the last line that an agent printed, and whether its session is out
// of touch.
func (b *mailboxes) seen(session string) (says string, away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.all[session]
	if m == nil {
		return "", true
	}
	return m.says, m.wake == nil
}
