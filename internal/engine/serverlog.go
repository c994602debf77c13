package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// serverLog passes on what the server warns of, escaped, and drops the rest.
type serverLog struct {
	to    *slog.Logger
	fatal chan<- error
}

func newServerLog(to *slog.Logger, fatal chan<- error) server.Logger {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return &serverLog{to, fatal}
}

func (l *serverLog) Warnf(format string, v ...any) { l.to.Warn("engine: " + text(format, v)) }

func (l *serverLog) Errorf(format string, v ...any) { l.to.Error("engine: " + text(format, v)) }

// Fatalf keeps the first reason why the server can't run: [Open] returns it.
func (l *serverLog) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- errors.New(text(format, v)):
	default:
	}
}

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

func text(format string, v []any) string {
	return agentsig.Escape(strings.TrimSpace(fmt.Sprintf(format, v...)))
}
