package tools

import (
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
	fileKeys
}

type exitFull struct {
	*ExitResult
	Format string `json:"format"`
	fileKeys
}

// ExitReply answers in the format that was asked for. The file is what became of the full result
// where it was asked for as one.
func ExitReply(result *ExitResult, params ExitParams, file agentformat.File) Reply {
	if err := params.Check(); err != nil {
		result = ExitError(result.Ticker, err)
	}
	return answer(params.Format, result.Status, result.Error, result.Snapshot(), file, func(told fileKeys) any {
		if params.Format == FormatFull {
			return exitFull{result, FormatFull, told}
		}
		summary := result.Summary()
		summary.fileKeys = told
		return summary
	})
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
