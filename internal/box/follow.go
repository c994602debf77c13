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

// show tells those who watch a run that it looks different, though nothing was
// recorded.
func (s *state) show(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.news[subject]; n != nil {
		n.changed()
	}
}
