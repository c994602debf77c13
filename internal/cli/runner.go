package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/remote"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) runnerCommand() *cobra.Command {
	var places int
	var once bool
	cmd := &cobra.Command{
		Use:   "runner",
		Short: "Run agents of a box on this machine; let runners in, see and end them",
		Long: `A runner carries out a box's orders on another machine: agents' sessions and checks. It dials the box, and listens
nowhere. The box has to listen where that machine can reach it (signalbox up --listen); invite prints a line there, and
join on the other machine takes it. Then runner, alone, is the runner, in the foreground.

What it goes by are the box's settings. Programs of agents have to be installed on its machine; a command that is given by a
relative path (./agent) is looked for in the runner's directory, and files that worktrees need (worktree.copy) in
repository in it.

On SIGTERM or Ctrl-C it takes nothing new and leaves when its sessions have ended; on SIGQUIT it leaves at once: agents go
on, and the next runner in the same directory takes them over.`,
		Example: `  signalbox runner invite --name gpu1 --label gpu
  signalbox runner join 'sbr1_…'
  signalbox runner --places 4
  signalbox runner list`,
		Args: none,
	}
	dir := a.runnerDir(cmd)
	cmd.Flags().IntVar(&places, "places", 0, "how many `SESSIONS` it takes at once; 0 for no limit")
	cmd.Flags().BoolVar(&once, "once", false, "leave after one session: for machines that are made for one task")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if places < 0 {
			return a.UsageError("--places is 0 or more")
		}
		at, err := dir()
		if err != nil {
			return err
		}
		return a.runRunner(cmd.Context(), at, places, once)
	}
	cmd.AddCommand(a.enrolmentCommands()...)
	return cmd
}

// keepBoxes keeps where the boxes are that share a ledger, if that has changed, and says so.
func (a *app) keepBoxes(dir string, e *enrolment.Enrolment, all []order.BoxAt, changed func()) {
	if reflect.DeepEqual(e.Boxes, all) {
		return
	}
	e.Boxes = all
	changed()
	if err := enrolment.Write(dir, *e); err != nil {
		a.logger().Warn("where the boxes of the cluster are can't be kept for the next start", "error", err)
	}
}

// runRunner is the runner in a directory, until it is told to leave.
func (a *app) runRunner(ctx context.Context, dir string, places int, once bool) (err error) {
	e, key, err := enrolment.Read(dir)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	carrier := e.Carrier(key)
	defer carrier.CloseIdleConnections()
	r, err := remote.Open(ctx, remote.Options{
		Dir: dir, Name: e.Name, Box: strings.Join(e.Box, ", "), Carrier: carrier, Program: program, Version: command.BuildVersion().Version, Places: places, Once: once, Sign: key.Sign, Now: time.Now, Logger: a.logger(),
		Boxes: func(all []order.BoxAt) { a.keepBoxes(dir, &e, all, func() { carrier.SetBoxes(key, e) }) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	a.Served = true
	fmt.Fprintf(a.Err, "the runner %s looks for its box; Ctrl-C has it leave when its sessions have ended\n", safetext.Escape(e.Name))
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	defer signal.Stop(quit)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(running) }()
	for asked := ctx.Done(); ; {
		select {
		case <-asked:
			asked = nil
			r.Leave()
			fmt.Fprintln(a.Err, "it leaves when its sessions have ended; once more, and it leaves at once and they go on")
		case <-quit:
			stop()
		case err := <-ended:
			return err
		}
	}
}
