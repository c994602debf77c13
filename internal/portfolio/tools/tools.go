// Package tools has the two tools that agents call, check_exit_signals and
// suggest_tax_loss_harvest: their parameters, results, snapshots and flags. The command line and
// the MCP server call the same functions.
package tools

import "github.com/signalbox-dev/signalbox/internal/portfolio"

// The formats of a reply.
const (
	FormatSummary = "summary"
	FormatFull    = "full"
	FormatReport  = "report" // of the harvest alone: Markdown
	FormatAgent   = "agent"
)

// Where the full result goes.
const (
	OutputInline = "inline"
	OutputFile   = "file" // a file beside the reply
)

// ExitParams are the parameters of check_exit_signals. Empty ones have their defaults: all
// shares, all accounts, today, summary, inline.
type ExitParams struct {
	Ticker    string
	Shares    *portfolio.Decimal
	AccountID string
	AsOf      portfolio.Date
	Format    string
	Output    string
}

// HarvestParams are the parameters of suggest_tax_loss_harvest. Empty ones have their defaults:
// any loss, largest loss first, all accounts, today, summary, inline.
type HarvestParams struct {
	MinLoss   *portfolio.Decimal
	SortBy    string
	AccountID string
	AsOf      portfolio.Date
	Format    string
	Output    string
}
