//go:build race

package store

// someHistories is fewer here: the detector makes SQLite ten times slower, and has little to find in
// a test that does one thing after the other.
const someHistories = 300
