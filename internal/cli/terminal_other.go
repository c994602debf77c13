//go:build !unix

package cli

import "os"

func notifyTerminal(chan<- os.Signal) (stop func()) { return func() {} }

func stopUntilContinued() {}
