package session

import (
	"time"

	"errors"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// Marker is for tests that look for processes.
func Marker(dir, name string) (string, error) { return marker(dir, name) }

// LessPatience lets a test not wait long for a session that was killed.
func LessPatience(t interface{ Cleanup(func()) }) {
	before := killPatience
	killPatience = 50 * time.Millisecond
	t.Cleanup(func() { killPatience = before })
}

// Pending returns the reports in a session's outbox, in order.
func Pending(dir string) (reports []api.SessionReport, err error) {
	numbers, err := outbox(dir)
	for _, seq := range numbers {
		var r api.SessionReport
		err = errors.Join(err, readJSON(reportFile(dir, seq), api.MaxReport, &r))
		reports = append(reports, r)
	}
	return reports, err
}
