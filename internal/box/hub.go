package box

import (
	"slices"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// hub keeps what the box has to say to the sessions of agents, and what it has
// heard of them. Nothing of it is recorded: what has to be said again after a
// restart follows from the state.
type hub struct {
	mu    sync.Mutex
	lines map[string]*line
}

// line is the box's side of a session.
type line struct {
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

func newHub() *hub { return &hub{lines: map[string]*line{}} }

// line returns the line of a session, which is made if need be. Who calls it sees to it that the
// line is forgotten if the session has ended meanwhile.
func (h *hub) line(session string) *line {
	l := h.lines[session]
	if l == nil {
		l = &line{sent: map[string]bool{}, answers: map[string]chan bool{}, lost: make(chan struct{})}
		h.lines[session] = l
	}
	return l
}

// forget drops a session that has ended.
func (h *hub) forget(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[session]; l != nil {
		for _, answer := range l.answers {
			close(answer)
		}
		l.hangUp()
	}
	delete(h.lines, session)
}

// send says something to a session, now or when it connects. Saying it twice is
// saying it once.
func (h *hub) send(session string, c api.SessionCommand, delivered func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line(session).add(c, delivered)
}

func (l *line) add(c api.SessionCommand, delivered func()) {
	if i := slices.IndexFunc(l.pending, func(p pending) bool { return p.ID == c.ID }); i < 0 {
		l.pending = append(l.pending, pending{c, delivered})
	} else if delivered != nil {
		l.pending[i].delivered = delivered
		delete(l.sent, c.ID) // it is said again, for whoever waits for it
	}
	l.stir()
}

func (l *line) stir() {
	if l.wake != nil {
		close(l.wake)
		l.wake = make(chan struct{})
	}
}

func (l *line) hangUp() {
	if l.wake != nil {
		l.wake = nil
		close(l.lost)
		l.lost = make(chan struct{})
	}
}

// answered forgets a command that the session has carried out.
func (h *hub) answered(session, id string, told bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[session]
	if l == nil {
		return
	}
	l.pending = slices.DeleteFunc(l.pending, func(p pending) bool { return p.ID == id })
	if answer := l.answers[id]; answer != nil {
		answer <- told
		delete(l.answers, id)
	}
}

// ask sends a tell to a session that is in touch and returns where its answer comes: whether the
// agent was told. The channel is closed if the session ends before, or is not in touch.
func (h *hub) ask(session string, c api.SessionCommand) <-chan bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	answer := make(chan bool, 1)
	l := h.lines[session]
	if l == nil || l.wake == nil {
		close(answer)
		return answer
	}
	l.answers[c.ID] = answer
	l.add(c, nil)
	return answer
}

// connect begins a connection, and returns a channel that is closed when it ends. The newest one
// counts: an older one ends.
func (h *hub) connect(session string) (lost <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.line(session)
	l.hangUp()
	l.wake, l.sent = make(chan struct{}), map[string]bool{}
	return l.lost
}

// next returns what is to be sent on the connection, and when to look again; nothing of a session
// that was forgotten.
func (h *hub) next(session string) (commands []api.SessionCommand, more, lost <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[session]
	if l == nil {
		return nil, nil, nil
	}
	for _, p := range l.pending {
		if !l.sent[p.ID] {
			commands = append(commands, p.SessionCommand)
		}
	}
	return commands, l.wake, l.lost
}

// wrote notes that a command has gone out.
func (h *hub) wrote(session, id string) {
	var delivered func()
	h.mu.Lock()
	if l := h.lines[session]; l != nil {
		l.sent[id] = true
		for _, p := range l.pending {
			if p.ID == id {
				delivered = p.delivered
			}
		}
	}
	h.mu.Unlock()
	if delivered != nil {
		delivered()
	}
}

// disconnect ends a connection, if it is still the one that counts.
func (h *hub) disconnect(session string, lost <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[session]; l != nil && (<-chan struct{})(l.lost) == lost {
		l.hangUp()
	}
}

// inTouch reports whether a session is connected.
func (h *hub) inTouch(session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[session]
	return l != nil && l.wake != nil
}

// connected reports whether a session is in touch, and returns a channel that is
// closed when that ends; nil if it never was.
func (h *hub) connected(session string) (bool, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[session]
	if l == nil {
		return false, nil
	}
	return l.wake != nil, l.lost
}

// heard keeps the last line that an agent printed.
func (h *hub) heard(session, says string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[session]; l != nil {
		l.says = says
	}
}

// seen returns the last line that an agent printed, and whether its session is out
// of touch.
func (h *hub) seen(session string) (says string, away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[session]
	if l == nil {
		return "", true
	}
	return l.says, l.wake == nil
}
