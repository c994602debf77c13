//go:build !unix

package box

func syncDir(string) error { return nil }
