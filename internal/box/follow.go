package box

import "github.com/signalbox-dev/signalbox/internal/api"

// RunWatch is a run as it changes.
type RunWatch struct {
	Changed <-chan struct{} // gets something when it looks different

	box     *Box
	subject string
}

// WatchRun watches a run, until End is called.
func (b *Box) WatchRun(id string) (*RunWatch, error) {
	subject, err := b.state.runNamed(id)
	if err != nil {
		return nil, err
	}
	return &RunWatch{b.state.watch(subject), b, subject}, nil
}

// Show returns the run as it is now.
func (w *RunWatch) Show() (api.Run, error) { return w.box.showRun(w.subject) }

// End ends the watch.
func (w *RunWatch) End() { w.box.state.unwatch(w.subject, w.Changed) }

// watch returns a channel that gets something when a run has changed.
func (s *state) watch(subject string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := make(chan struct{}, 1)
	n := s.newsOf(subject)
	n.watch = append(n.watch, w)
	return w
}

func (s *state) unwatch(subject string, w <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.news[subject]
	if n == nil {
		return
	}
	for i, other := range n.watch {
		if other == w {
			n.watch = append(n.watch[:i:i], n.watch[i+1:]...)
			return
		}
	}
}

// Activity takes a sign of life of a session.
func (b *Box) Activity(name, line string) error {
	c, err := b.conductorOf(name)
	if err != nil {
		return err
	}
	b.mail.Heard(name, b.redact.Text(line))
	b.state.show(c.subject)
	return nil
}

// show tells those who watch a run that it looks different, though nothing was
// recorded.
func (s *state) show(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.news[subject]; n != nil {
		n.changed()
	}
}

// LiveSession is the box's side of a session that has not ended.
type LiveSession struct {
	box       *Box
	conductor *conductor
	name      string
}

// LiveSession returns a session of a run that this box brings on.
func (b *Box) LiveSession(name string) (*LiveSession, error) {
	c, err := b.conductorOf(name)
	if err != nil {
		return nil, err
	}
	if !c.knows(name) {
		return nil, errSessionGone
	}
	return &LiveSession{b, c, name}, nil
}

// Connect says that the session is in touch, until hangUp is called; what it was told and has not answered is said again. The
// newest connection counts: lost is closed when there is another one, or the session is forgotten.
func (s *LiveSession) Connect() (lost <-chan struct{}, hangUp func(), err error) {
	b, c := s.box, s.conductor
	if err := c.again(s.name); err != nil {
		return nil, nil, err
	}
	lost = b.mail.Connect(s.name)
	b.state.show(c.subject)
	c.stir()
	return lost, func() {
		b.mail.Disconnect(s.name, lost)
		b.state.show(c.subject)
		c.forgetEnded(s.name) // it may have ended before it was connected
	}, nil
}

// Next returns what is to be sent to the session, when to look again, and the connection's lost of now.
func (s *LiveSession) Next() (commands []api.SessionCommand, more, lost <-chan struct{}) {
	return s.box.mail.Next(s.name)
}

// Wrote notes that a command has gone out.
func (s *LiveSession) Wrote(id string) { s.box.mail.Wrote(s.name, id) }
