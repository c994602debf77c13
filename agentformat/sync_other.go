//go:build !unix

package agentformat

// syncDir does nothing: directories can't be synced here.
func syncDir(string) error { return nil }
