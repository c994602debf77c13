// Command probe is the program, with a word on itself: after SIGUSR1 it writes to the file that
// SIGNALBOX_PROBE names how many goroutines it has and what its heap holds.
package main

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/signalbox-dev/signalbox/internal/cli"
	"github.com/signalbox-dev/signalbox/internal/command"
)

func main() {
	if file := os.Getenv("SIGNALBOX_PROBE"); file != "" {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGUSR1)
		go func() {
			for range asked {
				tell(file)
			}
		}()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], command.Terminal())
	stop()
	os.Exit(code)
}

// tell writes the file as a whole: whoever waits for it finds all of it, or none.
func tell(file string) {
	goroutines := runtime.NumGoroutine()
	runtime.GC() // what is garbage is not held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	data, err := json.Marshal(map[string]uint64{"goroutines": uint64(goroutines), "heap": m.HeapAlloc, "idle": m.HeapIdle - m.HeapReleased})
	if err == nil {
		err = os.WriteFile(file+".new", data, 0o600)
	}
	if err == nil {
		_ = os.Rename(file+".new", file)
	}
}
