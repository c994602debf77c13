package session

import (
	"os"
	"path/filepath"
)

// Ran reports whether a session was ever carried out: its process may have ended, but
// it can't be started anew.
func Ran(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, transcriptFile))
	return err == nil
}

// Read returns what a session is to do.
func Read(dir string) (Spec, error) { return readSpec(dir) }
