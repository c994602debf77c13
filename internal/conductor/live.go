package conductor

import (
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// Activity takes a sign of life of a session.
func (c *Conductor) Activity(name string, a api.Activity) error {
	d, err := c.deciderOf(name)
	if err != nil {
		return err
	}
	quiet := c.now()
	if a.Busy {
		quiet = time.Time{}
	}
	c.mail.Heard(name, c.ledger.Redact(a.Line), quiet)
	c.ledger.Changed(d.subject)
	return nil
}

// LiveSession is the conductor's side of a session that has not ended.
type LiveSession struct {
	of   *decider
	name string
}

// LiveSession returns a session of a run that is brought on here.
func (c *Conductor) LiveSession(name string) (*LiveSession, error) {
	d, err := c.deciderOf(name)
	if err != nil {
		return nil, err
	}
	if !d.knows(name) {
		return nil, errSessionGone
	}
	return &LiveSession{d, name}, nil
}

// Connect says that the session is in touch, until hangUp is called; what it was told and has not answered is said again. The
// newest connection counts: lost is closed when there is another one, or the session is forgotten.
func (s *LiveSession) Connect() (lost <-chan struct{}, hangUp func(), err error) {
	d, mail := s.of, s.of.all.mail
	if err := d.again(s.name); err != nil {
		return nil, nil, err
	}
	lost = mail.Connect(s.name, d.all.now())
	d.all.ledger.Changed(d.subject)
	d.stir()
	return lost, func() {
		mail.Disconnect(s.name, lost)
		d.all.ledger.Changed(d.subject)
		d.forgetEnded(s.name) // it may have ended before it was connected
	}, nil
}

// Next returns what is to be sent to the session, when to look again, and the connection's lost of now.
func (s *LiveSession) Next() (commands []api.SessionCommand, more, lost <-chan struct{}) {
	return s.of.all.mail.Next(s.name)
}

// Wrote notes that a command has gone out.
func (s *LiveSession) Wrote(id string) { s.of.all.mail.Wrote(s.name, id) }
