//go:build !unix

package durable

import "os"

// SyncDir does nothing: directories can't be synced here.
func SyncDir(string) error { return nil }

// SyncIn does nothing.
func SyncIn(*os.Root) error { return nil }
