package faults_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/ledger"
)

// TestStrangers lets connections without a token take all that the real program leaves them of few
// descriptors: some that say nothing, some whose requests never come to an end. Whoever has the token is
// answered all the while, what is recorded is sealed, and the box goes on.
func TestStrangers(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no shell to set a limit with")
	}
	program := filepath.Join(t.TempDir(), "limited")
	script := fmt.Sprintf("#!/bin/sh\nulimit -n 128 && exec %s \"$@\"\n", build(t))
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "box")
	p, err := launch(t, program, dir)
	if err == nil {
		err = p.listens()
	}
	if err != nil {
		t.Fatal(err)
	}
	strangers := make([]net.Conn, 300)
	for i := range strangers {
		if strangers[i], err = (&net.Dialer{}).DialContext(t.Context(), "tcp", p.found.Address); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			_, err = io.WriteString(strangers[i], "POST /v1/work HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	token, err := box.Dir(dir).APIToken()
	if err != nil {
		t.Fatal(err)
	}
	client := api.NewClient(p.found.Address, token)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a client that is not answered would wait for ever
	defer cancel()
	items := int64(300)
	if testing.Short() {
		items = 50
	}
	for range items {
		if _, err := client.Add(ctx, api.AddWork{Title: "among strangers"}); err != nil {
			t.Fatal(err)
		}
	}
	sealed(t, box.Dir(dir), items)
	client.Close()
	if err := p.stop(); err != nil {
		t.Errorf("%v: %s", err, p.said.Bytes())
	}
	for _, c := range strangers {
		_ = c.Close() // it is closed on the other side
	}
}

// sealed waits until a checkpoint covers so many events.
func sealed(t *testing.T, dir box.Dir, events int64) {
	t.Helper()
	key, err := dir.Verifier()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		note, err := os.ReadFile(filepath.Join(dir.Archive(""), ledger.CheckpointPath))
		if err != nil {
			t.Fatal(err)
		}
		c, err := ledger.OpenCheckpoint(note, key)
		switch {
		case err != nil:
			t.Fatal(err)
		case c.Size >= events:
			return
		case time.Now().After(deadline):
			t.Fatalf("%d of %d events are sealed", c.Size, events)
		}
	}
}
