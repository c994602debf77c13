//go:build !unix

package durable

// SyncDir does nothing: directories can't be synced here.
func SyncDir(string) error { return nil }
