//go:build !unix

package session

func syncDir(string) error { return nil }
