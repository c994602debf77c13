package service

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A service that serves is stopped by its context, whatever goes on in it: a run, a client that waits for work, one that
// watches. After Close nothing of it runs, the directory is free, and the next one goes on with the run.
func TestStartAndStop(t *testing.T) {
	repo := gittest.New(t)
	run := ""
	for range 2 {
		s := open(t, repo)
		listener, err := httpapi.Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, listener) }()
		token, _ := s.Box.Tokens()
		client := api.NewClient(listener.Addr().String(), token)
		r, err := client.Deliver(t.Context(), api.StartRun{Plan: onePlan})
		if err != nil || run != "" && r.ID != run {
			t.Fatalf("%s, %v; want the run %s to go on", r.ID, err, run)
		}
		run = r.ID
		waits := make(chan error, 2)
		asking, giveUp := context.WithCancel(t.Context())
		go func() {
			_, err := client.Claim(asking, api.Claim{Actor: "somebody", Role: agentsig.RoleAuditor, Wait: true})
			waits <- err
		}()
		watching := make(chan struct{})
		go func() {
			first := true
			waits <- client.FollowRun(asking, run, func(api.Run) error {
				if first {
					close(watching)
				}
				first = false
				return nil
			})
		}()
		<-watching
		stop()
		if err := errors.Join(<-served, s.Close()); err != nil {
			t.Errorf("stopped with %v", err)
		}
		giveUp() // they would ask the next one
		for range cap(waits) {
			if err := <-waits; err == nil {
				t.Error("a client was answered that waited when the service was stopped")
			}
		}
		client.Close()
	}
}
