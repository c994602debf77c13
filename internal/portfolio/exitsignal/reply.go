package exitsignal

import (
	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// A Summary is the result in short: the verdict, what each rule says, the orders, and what
// they mean in tax.
type Summary struct {
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
	Tax                *Taxes              `json:"tax"`
	Flags              []agentformat.Flag  `json:"flags"`
	Notes              []string            `json:"notes"`
	UnreadRowCount     int                 `json:"unread_row_count"` // of the ticker: there are no orders then
	Disclaimer         string              `json:"disclaimer"`
	reply.FileKeys
}

type full struct {
	*Result
	Format string `json:"format"`
	reply.FileKeys
}

// Reply answers in the format that was asked for. The file is what became of the full result
// where it was asked for as one.
func Reply(result *Result, params Params, file agentformat.File) reply.Reply {
	if err := params.Check(); err != nil {
		result = Failed(result.Ticker, err)
	}
	return reply.New(params.Format, result.Status, result.Error, result.Snapshot(), file, func(told reply.FileKeys) any {
		if params.Format == reply.FormatFull {
			return full{result, reply.FormatFull, told}
		}
		summary := result.Summary()
		summary.FileKeys = told
		return summary
	})
}

// Summary is the result in short.
func (r *Result) Summary() Summary {
	snapshot := r.Snapshot()
	s := Summary{
		Status: r.Status, Format: reply.FormatSummary, Ticker: r.Ticker, AsOf: r.AsOf, Verdict: snapshot.Verdict,
		Assessment: r.Assessment, OverallAssessment: r.OverallAssessment, Signals: r.Signals,
		TradeEligible: r.TradeEligible, RecommendedActions: r.RecommendedActions,
		Shares: r.Position.Shares, LastPrice: r.LastPrice, LastPriceDate: r.LastPriceDate,
		Tax: snapshot.Tax, Flags: snapshot.flags(maxNames), Notes: r.Notes, UnreadRowCount: snapshot.UnreadRowCount, Disclaimer: r.Disclaimer,
	}
	if r.Sizing != nil {
		s.SellQuantity = r.Sizing.Sell
	}
	return s
}
