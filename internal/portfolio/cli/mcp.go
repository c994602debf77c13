package cli

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/mcpserver"
)

func (a *app) mcpCommand() *cobra.Command {
	var http, logs string
	var hosts []string
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Answer agents over the Model Context Protocol",
		Long: `Mcp offers four tools to agents: check_exit_signals, suggest_tax_loss_harvest, list_positions and
list_gains. Without flags it speaks on standard input and output, which is how clients start it
themselves; with --http it listens on this machine until it is interrupted. It needs a database,
reads it, and writes nothing, and tells clients so. With --logs DIRECTORY calls may ask for a file
with the full result there (output=file): at most 1,000 files and 256 MB are kept.

There is no password: who reaches the address reads the portfolio. So only this machine does,
unless --host says by which other names it may be reached.`,
		Example: `  portfolio mcp
  portfolio mcp --http 127.0.0.1:8765`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			a.needsData, a.logs = true, logs
			a.JSON = false // standard output is the protocol's alone
			if a.InTTY && http == "" {
				fmt.Fprintln(a.Err, "portfolio: an MCP client speaks here, on standard input; Ctrl-C ends it")
			}
			logger := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			return a.with(ctx, func(s *answer.Service) error {
				server := mcpserver.New(s, command.BuildVersion().Version, mcpserver.Options{Hosts: hosts, Files: logs != "", Logger: logger})
				a.Served = true
				if http == "" {
					return server.ServeStdio(ctx, io.NopCloser(a.In), a.Out)
				}
				return server.ListenAndServe(ctx, http, func(url string) { fmt.Fprintf(a.Err, "portfolio: listening on %s\n", url) })
			})
		},
	}
	c.Flags().StringVar(&http, "http", "", "listen on this `ADDRESS` for streamable HTTP, as 127.0.0.1:8765")
	c.Flags().StringSliceVar(&hosts, "host", nil, "a `NAME` by which other machines may reach it")
	c.Flags().StringVar(&logs, "logs", "", "a `DIRECTORY` for full results: allows output=file")
	return c
}
