package tools

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

// An ExitSummary is the result in short: the verdict, what each rule says, the orders, and what
// they mean in tax.
type ExitSummary struct {
	Status             string              `json:"status"`
	Format             string              `json:"format"`
	Ticker             string              `json:"ticker"`
	AsOf               portfolio.Date      `json:"as_of"`
	Verdict            string              `json:"verdict"`
	Assessment         exitrule.Assessment `json:"assessment"`
	OverallAssessment  string              `json:"overall_assessment"`
	Signals            []exitrule.Signal   `json:"signals"`
	TradeEligible      bool                `json:"trade_eligible"`
	RecommendedActions []exitrule.Order    `json:"recommended_actions"`
	Shares             portfolio.Decimal   `json:"shares"`
	SellQuantity       portfolio.Decimal   `json:"sell_quantity"`
	LastPrice          portfolio.Decimal   `json:"last_price,omitzero"`
	LastPriceDate      portfolio.Date      `json:"last_price_date,omitzero"`
	Tax                *ExitTaxes          `json:"tax"`
	Flags              []agentformat.Flag  `json:"flags"`
	Notes              []string            `json:"notes"`
	Disclaimer         string              `json:"disclaimer"`
	harvestFile
}

type exitFull struct {
	*ExitResult
	Format string `json:"format"`
	harvestFile
}

// maxFileError is how much of the reason an agent is told why there is no file.
const maxFileError = 160

// ExitReply answers in the format that was asked for. The file is what became of the full result
// where it was asked for as one.
func ExitReply(result *ExitResult, params ExitParams, file agentformat.File) Reply {
	formats, outputs := []string{FormatSummary, FormatFull, FormatAgent}, []string{OutputInline, OutputFile}
	format := cmp.Or(params.Format, FormatSummary)
	switch {
	case !slices.Contains(formats, format):
		result = ExitError(result.Ticker, fmt.Errorf("format is %s, not %.40q", alternatives(formats), format))
	case !slices.Contains(outputs, cmp.Or(params.Output, OutputInline)):
		result = ExitError(result.Ticker, fmt.Errorf("output is %s, not %.40q", alternatives(outputs), params.Output))
	}
	reply := Reply{Failed: result.Status != agentformat.StatusSuccess}
	if file.Err == nil {
		reply.FilePath = file.Path
	}
	told := newHarvestFile(file)
	switch {
	case format == FormatAgent:
		if file.Err != nil {
			file.Err = errors.New(shorten(file.Err.Error(), maxFileError))
		}
		reply.Body = agentformat.Respond(result.Status, result.Snapshot(), file)
	case reply.Failed:
		reply.Body = harvestFailure{agentformat.StatusError, cmp.Or(result.Error, "unknown error"), told}
	case format == FormatFull:
		reply.Body = exitFull{result, FormatFull, told}
	default:
		summary := result.Summary()
		summary.harvestFile = told
		reply.Body = summary
	}
	return reply
}

// Summary is the result in short.
func (r *ExitResult) Summary() ExitSummary {
	snapshot := r.Snapshot()
	s := ExitSummary{
		Status: r.Status, Format: FormatSummary, Ticker: r.Ticker, AsOf: r.AsOf, Verdict: snapshot.Verdict,
		Assessment: r.Assessment, OverallAssessment: r.OverallAssessment, Signals: r.Signals,
		TradeEligible: r.TradeEligible, RecommendedActions: r.RecommendedActions,
		Shares: r.Position.Shares, LastPrice: r.LastPrice, LastPriceDate: r.LastPriceDate,
		Tax: snapshot.Tax, Flags: snapshot.Flags(), Notes: r.Notes, Disclaimer: r.Disclaimer,
	}
	if r.Sizing != nil {
		s.SellQuantity = r.Sizing.Sell
	}
	return s
}
