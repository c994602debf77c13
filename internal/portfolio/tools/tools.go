// Package tools has the two tools that agents call, check_exit_signals and
// suggest_tax_loss_harvest: their parameters, results, snapshots and flags. The command line and
// the MCP server call the same functions.
package tools

import (
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

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

// A Reply is what a tool answers, on success and on failure: a value that is one JSON object,
// in the format that was asked for.
type Reply struct {
	Body     any
	Failed   bool   // the body says why
	FilePath string // of the full result, where a file was asked for and written
}

// check says what of the parameters that every reply depends on is wrong.
func (p ExitParams) check() error {
	return checkReply(p.Format, p.Output, FormatSummary, FormatFull, FormatAgent)
}

func (p HarvestParams) check() error {
	return checkReply(p.Format, p.Output, FormatFull, FormatSummary, FormatReport, FormatAgent)
}

func checkReply(format, output string, formats ...string) error {
	outputs := []string{OutputInline, OutputFile}
	switch {
	case format != "" && !slices.Contains(formats, format):
		return fmt.Errorf("format is %s, not %.40q", alternatives(formats), format)
	case output != "" && !slices.Contains(outputs, output):
		return fmt.Errorf("output is %s, not %.40q", alternatives(outputs), output)
	}
	return nil
}
