package session

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// RunAlone carries out the session of a directory that has no box, as [Run] does: one turn, and the end. [Outcome] tells
// what came of it.
func RunAlone(ctx context.Context, dir string, logger *slog.Logger) error {
	return Run(ctx, dir, &nobody{over: make(chan struct{})}, logger)
}

// nobody stands in the place of a box: it takes every report, and ends the session when its turn is over.
type nobody struct {
	once sync.Once
	over chan struct{}
}

func (n *nobody) SendReport(_ context.Context, _ string, r api.SessionReport) error {
	if r.Kind == api.ReportTurn {
		n.once.Do(func() { close(n.over) })
	}
	return nil
}

func (n *nobody) Activity(context.Context, string, api.Activity) error { return nil }

func (n *nobody) Commands(ctx context.Context, _ string, connected func(), f func(api.SessionCommand) error) error {
	connected()
	select {
	case <-n.over:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := f(api.SessionCommand{ID: "end", Kind: api.CommandEnd}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// Outcome returns the last report of a session that has ended, and the last line of its transcript, escaped. It fails with
// os.ErrNotExist if the session did not come to its end.
func Outcome(dir string) (last api.SessionReport, said string, err error) {
	if err := readJSON(filepath.Join(dir, endedFile), api.MaxReport, &last); err != nil {
		return last, "", err
	}
	text, err := readTail(filepath.Join(dir, transcriptFile))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return last, text.line(), err
}

// readTail reads the end of a file, which an agent can get at.
func readTail(path string) (last tail, err error) {
	f, err := regular.OpenItself(path)
	if err != nil {
		return nil, err
	}
	_, _ = f.Seek(-maxTail, io.SeekEnd) // a shorter one is read from its start
	data, err := io.ReadAll(io.LimitReader(f, maxTail))
	last.write(data)
	return last, errors.Join(err, f.Close())
}
