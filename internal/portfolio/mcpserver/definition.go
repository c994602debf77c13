package mcpserver

import (
	"github.com/signalbox-dev/signalbox/internal/mcpserver"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

var (
	symbol    = mcpserver.Property{Type: "string", Description: "default: all"}
	accountID = mcpserver.Property{Type: "string", Description: "default: all accounts"}
	asOf      = mcpserver.Property{Type: "string", Format: "date", Description: "default: today"}
	output    = mcpserver.Property{
		Type: "string", Enum: []string{reply.OutputInline, reply.OutputFile}, Default: reply.OutputInline,
		Description: "file: the full result is also written to a file, if the server may",
	}
)

func formats(names ...string) mcpserver.Property {
	return mcpserver.Property{Type: "string", Enum: names, Default: reply.FormatSummary, Description: "agent: verdict, snapshot and flags, short"}
}

// input is the schema of a tool's arguments: its own, and those that all have.
func input(format mcpserver.Property, own map[string]mcpserver.Property) mcpserver.Schema {
	own["account_id"], own["as_of"], own["format"], own["output"] = accountID, asOf, format, output
	return mcpserver.Schema{Type: "object", Properties: own, AdditionalProperties: new(false)}
}

var exitSignals = mcpserver.Tool{
	Name:  "check_exit_signals",
	Title: "Check exit signals",
	Description: "Checks the exit rules for a held ticker, or for all without one: hold, monitor, exit or strong exit, and why. " +
		"On an exit it recommends sales and stops by account with their tax effect. Places no orders.",
	Input: input(formats(reply.FormatSummary, reply.FormatFull, reply.FormatAgent), map[string]mcpserver.Property{
		"ticker": {Type: "string", Description: "default: all held"},
		"shares": {Type: "number", ExclusiveMinimum: new(0), Description: "default: all held"},
	}),
	Output: &outputSchema, Hints: hints,
}

var taxLossHarvest = mcpserver.Tool{
	Name:  "suggest_tax_loss_harvest",
	Title: "Suggest tax-loss harvest",
	Description: "Open lots at a loss that could be sold for tax reasons, with account and wash-sale risk; no_buy_until is the first day on which buying back is free. " +
		"Information, not advice.",
	Input: input(formats(reply.FormatFull, reply.FormatSummary, reply.FormatReport, reply.FormatAgent), map[string]mcpserver.Property{
		"min_loss":  {Type: "number", Minimum: new(0), Description: "leaves out smaller losses, in dollars"},
		"carryover": {Type: "number", Minimum: new(0), Description: "losses of earlier years, short- and long-term together"},
		"sort_by": {
			Type: "string", Enum: []string{harvest.SortLoss, harvest.SortTicker, harvest.SortDate, harvest.SortTerm}, Default: harvest.SortLoss,
		},
	}),
	Output: &outputSchema, Hints: hints,
}

var positions = mcpserver.Tool{
	Name:        "list_positions",
	Title:       "List positions",
	Description: "What is held in which account: shares, basis, value, unrealised gain; format=full adds the lots.",
	Input:       input(formats(reply.FormatSummary, reply.FormatFull, reply.FormatAgent), map[string]mcpserver.Property{"symbol": symbol}),
	Output:      &outputSchema, Hints: hints,
}

var gains = mcpserver.Tool{
	Name:        "list_gains",
	Title:       "List gains",
	Description: "Realised gains of taxable accounts as rows of Form 8949: term, what wash sales disallow; window_open_until is the last day on which a purchase still washes a loss.",
	Input: input(formats(reply.FormatSummary, reply.FormatFull, reply.FormatAgent), map[string]mcpserver.Property{
		"symbol": symbol, "year": {Type: "integer", Minimum: new(1900), Maximum: new(9999), Description: "default: that of as_of"},
	}),
	Output: &outputSchema, Hints: hints,
}

// outputSchema is the schema of all tools: what all formats have in common.
var outputSchema = mcpserver.Schema{
	Type: "object",
	Properties: map[string]mcpserver.Property{
		"status": {Type: "string", Enum: []string{"success", "error"}},
		"format": {Type: "string"},
	},
	Required: []string{"status"},
}

// hints of tools that only read. Where a call can ask for a file, it writes another one each time, so it is neither
// read-only nor idempotent then; it never changes what is there.
var hints = mcpserver.Hints{ReadOnly: true, Destructive: new(false), OpenWorld: new(false)}
