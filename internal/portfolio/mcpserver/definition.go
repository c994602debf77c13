package mcpserver

import (
	"github.com/signalbox-dev/signalbox/internal/mcpserver"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

var (
	accountID = mcpserver.Property{Type: "string", Description: "default: all accounts"}
	asOf      = mcpserver.Property{Type: "string", Format: "date", Description: "default: today"}
	output    = mcpserver.Property{
		Type: "string", Enum: []string{reply.OutputInline, reply.OutputFile}, Default: reply.OutputInline,
		Description: "file: the full result is also written to a file",
	}
)

func formats(names ...string) mcpserver.Property {
	return mcpserver.Property{Type: "string", Enum: names, Default: reply.FormatSummary, Description: "agent: verdict, snapshot and flags, short"}
}

var exitSignals = mcpserver.Tool{
	Name:  "check_exit_signals",
	Title: "Check exit signals",
	Description: "Checks the exit rules for one held ticker: hold, monitor, exit or strong exit, and why. " +
		"On an exit it recommends a sale and a stop with their tax effect. Places no orders.",
	Input: mcpserver.Schema{
		Type: "object",
		Properties: map[string]mcpserver.Property{
			"ticker":     {Type: "string"},
			"shares":     {Type: "number", ExclusiveMinimum: new(0), Description: "default: all held"},
			"account_id": accountID,
			"as_of":      asOf,
			"format":     formats(reply.FormatSummary, reply.FormatFull, reply.FormatAgent),
			"output":     output,
		},
		Required:             []string{"ticker"},
		AdditionalProperties: new(false),
	},
	Output: &outputSchema, Hints: hints,
}

var taxLossHarvest = mcpserver.Tool{
	Name:  "suggest_tax_loss_harvest",
	Title: "Suggest tax-loss harvest",
	Description: "Open lots at a loss that could be sold for tax reasons, with wash-sale risk and the dates before which not to buy back. " +
		"Information, not advice.",
	Input: mcpserver.Schema{
		Type: "object",
		Properties: map[string]mcpserver.Property{
			"min_loss": {Type: "number", Minimum: new(0), Description: "leaves out smaller losses, in dollars"},
			"sort_by": {
				Type: "string", Enum: []string{harvest.SortLoss, harvest.SortTicker, harvest.SortDate, harvest.SortTerm}, Default: harvest.SortLoss,
			},
			"account_id": accountID,
			"as_of":      asOf,
			"format":     formats(reply.FormatFull, reply.FormatSummary, reply.FormatReport, reply.FormatAgent),
			"output":     output,
		},
		AdditionalProperties: new(false),
	},
	Output: &outputSchema, Hints: hints,
}

// outputSchema is the schema of both tools: what all formats have in common.
var outputSchema = mcpserver.Schema{
	Type: "object",
	Properties: map[string]mcpserver.Property{
		"status": {Type: "string", Enum: []string{"success", "error"}},
		"format": {Type: "string"},
	},
	Required: []string{"status"},
}

// hints: a call with output=file writes a file, and another one each time, so it is neither read-only nor idempotent; it
// never changes what is there.
var hints = mcpserver.Hints{Destructive: new(false), OpenWorld: new(false)}
