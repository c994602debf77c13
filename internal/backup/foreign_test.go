package backup

import "testing"

// Nobody goes down into directories that only agents and checks make.
func TestForeign(t *testing.T) {
	for dir, want := range map[string]bool{
		"sessions": false, "sessions/S-1": false, "sessions/S-1/outbox": false, "sessions/S-1/refused": false,
		"sessions/S-1/tmp": true, "sessions/S-1/outbox/x": true,
		"gates/log": false, "gates/log/x": true, "gates/log/outbox": true, "gates/log/refused": true, "gates/log/outbox/x": true,
	} {
		if foreign(dir) != want {
			t.Errorf("%s: foreign is %v", dir, !want)
		}
	}
}
