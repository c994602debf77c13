package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// tool is what clients are told of a tool. All of it goes into the context of every agent that is
// connected, so it is short.
type tool struct {
	name, title, description string
	input                    schema
}

// schema is the JSON schema of an object.
type schema struct {
	Type                 string              `json:"type"`
	Properties           map[string]property `json:"properties"`
	Required             []string            `json:"required,omitempty"`
	AdditionalProperties *bool               `json:"additionalProperties,omitempty"`
}

type property struct {
	Type             string   `json:"type"`
	Description      string   `json:"description,omitempty"`
	Format           string   `json:"format,omitempty"`
	Enum             []string `json:"enum,omitempty"`
	Default          string   `json:"default,omitempty"`
	Minimum          *int     `json:"minimum,omitempty"`
	ExclusiveMinimum *int     `json:"exclusiveMinimum,omitempty"`
}

var (
	accountID = property{Type: "string", Description: "default: all accounts"}
	asOf      = property{Type: "string", Format: "date", Description: "default: today"}
	output    = property{
		Type: "string", Enum: []string{reply.OutputInline, reply.OutputFile}, Default: reply.OutputInline,
		Description: "file: the full result is also written to a file",
	}
)

func formats(names ...string) property {
	return property{Type: "string", Enum: names, Default: reply.FormatSummary, Description: "agent: verdict, snapshot and flags, short"}
}

var exitSignals = tool{
	name:  "check_exit_signals",
	title: "Check exit signals",
	description: "Checks the exit rules for one held ticker: hold, monitor, exit or strong exit, and why. " +
		"On an exit it recommends a sale and a stop with their tax effect. Places no orders.",
	input: schema{
		Type: "object",
		Properties: map[string]property{
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
}

var taxLossHarvest = tool{
	name:  "suggest_tax_loss_harvest",
	title: "Suggest tax-loss harvest",
	description: "Open lots at a loss that could be sold for tax reasons, with wash-sale risk and the dates before which not to buy back. " +
		"Information, not advice.",
	input: schema{
		Type: "object",
		Properties: map[string]property{
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
}

// outputSchema is the schema of both tools: what all formats have in common.
var outputSchema = schema{
	Type: "object",
	Properties: map[string]property{
		"status": {Type: "string", Enum: []string{"success", "error"}},
		"format": {Type: "string"},
	},
	Required: []string{"status"},
}

// definition is the tool as clients see it. A call with output=file writes a file, and another
// one each time, so it is neither read-only nor idempotent; it never changes what is there.
func definition(t tool) *mcp.Tool {
	return &mcp.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  t.description,
		InputSchema:  t.input,
		OutputSchema: outputSchema,
		Annotations:  &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)},
	}
}
