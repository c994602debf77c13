// Package mcpserver offers the tools to agents over the Model Context Protocol: on standard
// input and output, and over HTTP on the own machine. How, is the shared package's of the same name;
// an error comes in the format that was asked for.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/mcpserver"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/listing"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// Tools are what the server offers. They are called concurrently.
type Tools interface {
	CheckExitSignals(ctx context.Context, p exitsignal.Params) reply.Reply
	SuggestTaxLossHarvest(ctx context.Context, p harvest.Params) reply.Reply
	ListPositions(ctx context.Context, p listing.Params) reply.Reply
	ListGains(ctx context.Context, p listing.Params) reply.Reply
}

// Options of a server. The zero value serves the own machine and logs nothing.
type Options struct {
	// Hosts are the names and addresses, without ports, by which other machines may reach the
	// server. There is no password: who reaches it reads the portfolio.
	Hosts []string
	// Files allows calls to ask for a file with the full result. Without it the server writes nothing, and
	// says so of its tools.
	Files bool
	// Logger must not write to standard output when that carries the protocol. At its level
	// Info there are lines for every connection.
	Logger *slog.Logger
}

// Server answers MCP clients. One server serves any number of them, on any transport.
type Server struct {
	*mcpserver.Server
	tools  Tools
	hosts  []string
	files  bool
	logger *slog.Logger
}

// maxCalls is how many calls are worked on at once; others wait. Each holds the whole history.
const maxCalls = 4

const instructions = "Positions, realised gains, exit signals and tax-loss harvesting from the user's own files, offline; nothing is traded. " +
	"Prefer format=agent for a verdict with flags, and full when every detail is needed."

// maxRequest is how long a message from a client may be.
const maxRequest = 1 << 20

// New makes a server of the tools. The version is what clients are told.
func New(t Tools, version string, o Options) *Server {
	s := &Server{tools: t, hosts: o.Hosts, files: o.Files, logger: o.Logger}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	s.Server = mcpserver.New(mcpserver.Options{
		Name: "portfolio", Title: "Portfolio", Version: version, Instructions: instructions,
		Tools: []mcpserver.Tool{
			s.tool(exitSignals, s.exitSignals), s.tool(taxLossHarvest, s.taxLossHarvest),
			s.tool(positions, s.positions), s.tool(gains, s.gains),
		},
		Again: "call the tool again with output=file", Calls: maxCalls, MaxRequest: maxRequest, Logger: s.logger,
	})
	return s
}

// tool is a tool whose calls are read by read.
func (s *Server) tool(t mcpserver.Tool, read func(*mcpserver.Arguments) call) mcpserver.Tool {
	t.Hints.ReadOnly = !s.files
	t.Read = func(a *mcpserver.Arguments) mcpserver.Call {
		c := read(a)
		if c.output == reply.OutputFile && !s.files {
			a.Say("output=file is off: this server writes no files; start it as `portfolio mcp --logs DIR` to allow it there, or ask for format=full")
		}
		return mcpserver.Call{
			Run:  func(ctx context.Context) (mcpserver.Result, error) { return s.answer(ctx, c) },
			Fail: func(err error) mcpserver.Result { return mcpserver.Result(c.fail(err)) },
		}
	}
	return t
}

// call is a tool with its arguments.
type call struct {
	format, output string
	run            func(ctx context.Context, format, output string) reply.Reply
	fail           func(error) reply.Reply
}

func (s *Server) exitSignals(a *mcpserver.Arguments) call {
	p := exitsignal.Params{
		Ticker: a.Text("ticker"), Shares: number(a, "shares"), AccountID: a.Text("account_id"),
		AsOf: date(a, "as_of"), Format: a.Choice("format"), Output: a.Choice("output"),
	}
	return call{
		format: p.Format, output: p.Output,
		run: func(ctx context.Context, format, output string) reply.Reply {
			p := p
			p.Format, p.Output = format, output
			return s.tools.CheckExitSignals(ctx, p)
		},
		fail: func(err error) reply.Reply {
			if strings.TrimSpace(p.Ticker) == "" {
				return exitsignal.SurveyReply(exitsignal.FailedSurvey(err), p, agentformat.File{})
			}
			return exitsignal.Reply(exitsignal.Failed(p.Ticker, err), p, agentformat.File{})
		},
	}
}

func (s *Server) taxLossHarvest(a *mcpserver.Arguments) call {
	p := harvest.Params{
		MinLoss: number(a, "min_loss"), Carryover: number(a, "carryover"), SortBy: a.Choice("sort_by"), AccountID: a.Text("account_id"),
		AsOf: date(a, "as_of"), Format: a.Choice("format"), Output: a.Choice("output"),
	}
	return call{
		format: p.Format, output: p.Output,
		run: func(ctx context.Context, format, output string) reply.Reply {
			p := p
			p.Format, p.Output = format, output
			return s.tools.SuggestTaxLossHarvest(ctx, p)
		},
		fail: func(err error) reply.Reply { return harvest.Reply(harvest.Failed(err), p, agentformat.File{}) },
	}
}

func (s *Server) positions(a *mcpserver.Arguments) call {
	return listCall(listed(a), s.tools.ListPositions, func(p listing.Params, err error) reply.Reply {
		return listing.PositionsReply(listing.FailedPositions(err), p, agentformat.File{})
	})
}

func (s *Server) gains(a *mcpserver.Arguments) call {
	p := listed(a)
	p.Year = int(a.Integer("year", 0))
	return listCall(p, s.tools.ListGains, func(p listing.Params, err error) reply.Reply {
		return listing.GainsReply(listing.FailedGains(err), p, agentformat.File{})
	})
}

// listed reads the arguments that both lists have.
func listed(a *mcpserver.Arguments) listing.Params {
	return listing.Params{
		AccountID: a.Text("account_id"), Symbol: a.Text("symbol"), AsOf: date(a, "as_of"), Format: a.Choice("format"), Output: a.Choice("output"),
	}
}

func listCall(p listing.Params, list func(context.Context, listing.Params) reply.Reply, fail func(listing.Params, error) reply.Reply) call {
	return call{
		format: p.Format, output: p.Output,
		run: func(ctx context.Context, format, output string) reply.Reply {
			p := p
			p.Format, p.Output = format, output
			return list(ctx, p)
		},
		fail: func(err error) reply.Reply { return fail(p, err) },
	}
}

// maxInline is how long a full result may be as an answer: about 10,000 tokens.
const maxInline = 40 << 10

// answer runs the call. Instead of a full result that would fill an agent's context it gives the
// summary, and says where the rest is to be had.
func (s *Server) answer(ctx context.Context, c call) (mcpserver.Result, error) {
	answered := c.run(ctx, c.format, c.output)
	body, err := mcpserver.Object(answered.Body)
	if err != nil {
		return mcpserver.Result{}, err
	}
	if c.format != reply.FormatFull || len(body) <= maxInline {
		return mcpserver.Result(answered), nil
	}
	summary := c.run(ctx, reply.FormatSummary, reply.OutputInline)
	note := fmt.Sprintf("The full result is %d KB, over the %d KB that are answered inline; this is the summary. ", len(body)>>10, maxInline>>10)
	switch {
	case answered.FilePath != "":
		note += "The rest is in the file."
	case c.output == reply.OutputFile:
		note += "The file with the rest could not be written."
	case s.files:
		note += "Call again with output=file for the rest."
	default:
		note += "Ask for one account for less; a server that is started with --logs DIR can write the rest to a file."
	}
	if summary.Body, err = noted(summary.Body, note, body); err != nil {
		return mcpserver.Result{}, err
	}
	summary.FilePath = answered.FilePath
	return mcpserver.Result(summary), nil
}

// noted is the summary with a note, and with what the full result says of its file.
func noted(summary any, note string, full []byte) (any, error) {
	data, err := mcpserver.Object(summary)
	if err != nil {
		return nil, err
	}
	var keys, fullKeys map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(data, &keys), json.Unmarshal(full, &fullKeys)); err != nil {
		return nil, err
	}
	for _, name := range []string{"file_path", "file_error"} {
		if value, ok := fullKeys[name]; ok {
			keys[name] = value
		}
	}
	keys["note"], err = json.Marshal(note)
	return keys, err
}
