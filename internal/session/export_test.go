package session

import (
	"errors"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// Marker is for tests that look for processes.
func Marker(dir, name string) (string, error) { return marker(dir, name) }

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
