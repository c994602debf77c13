package harvest

import (
	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// A Summary is the result in short: totals, the first candidates in the order that was
// asked for, and the flags.
type Summary struct {
	Status               string             `json:"status"`
	Format               string             `json:"format"`
	AsOf                 portfolio.Date     `json:"as_of"`
	Verdict              string             `json:"verdict"`
	TotalHarvestableLoss portfolio.Decimal  `json:"total_harvestable_loss"`
	ShortTermLoss        portfolio.Decimal  `json:"short_term_loss"`
	LongTermLoss         portfolio.Decimal  `json:"long_term_loss"`
	IfAllSold            Sale               `json:"if_all_sold"`
	Realized             Realized           `json:"realized_gains_this_year"`
	Carryover            *portfolio.Decimal `json:"carryover"`
	Netting              Netting            `json:"if_all_sold_net"`
	CandidateCount       int                `json:"candidate_count"`
	Candidates           []Lot              `json:"candidates"`
	CandidatesOmitted    int                `json:"candidates_omitted"`
	DataCoveragePct      float64            `json:"data_coverage_pct"`
	Metadata             Metadata           `json:"metadata"`
	Flags                []agentformat.Flag `json:"flags"`
	reply.Unread
	Disclaimer string `json:"disclaimer"`
	reply.FileKeys
}

// A Lot is a candidate in short.
type Lot struct {
	Ticker         string            `json:"ticker"`
	Account        string            `json:"account"`
	Acquired       portfolio.Date    `json:"acquired"`
	Quantity       portfolio.Decimal `json:"quantity"`
	UnrealizedLoss portfolio.Decimal `json:"unrealized_loss"`
	HoldingPeriod  string            `json:"holding_period"`
	WashSaleRisk   bool              `json:"wash_sale_risk"`
	Disallowed     portfolio.Decimal `json:"disallowed"`
	NoBuyUntil     portfolio.Date    `json:"no_buy_until"`
	WashFreeFrom   portfolio.Date    `json:"wash_free_from,omitzero"`
	FIFOReaches    bool              `json:"fifo_reaches"` // before any lot at a gain
	NameTheLot     bool              `json:"name_the_lot"` // or the account's method sells another one first
	StalePrice     bool              `json:"stale_price,omitempty"`
}

type full struct {
	*Result
	Format string `json:"format"`
	reply.FileKeys
}

type report struct {
	Status string `json:"status"`
	Format string `json:"format"`
	Report string `json:"report"` // Markdown
	reply.FileKeys
}

// Reply answers in the format that was asked for. The file is what became of the full
// result where it was asked for as one.
func Reply(result *Result, params Params, file agentformat.File) reply.Reply {
	if err := params.Check(); err != nil {
		result = Failed(err)
	}
	snapshot := result.Snapshot()
	snapshot.inline, snapshot.filed = file.Path == "" && file.Err == nil, file.Path != ""
	if params.Format == reply.FormatAgent {
		snapshot = snapshot.toAgent()
	}
	return reply.New(params.Format, result.Status, result.Error, snapshot, file, func(told reply.FileKeys) any {
		switch params.Format {
		case reply.FormatFull:
			return full{result, reply.FormatFull, told}
		case reply.FormatReport:
			return report{result.Status, reply.FormatReport, result.Markdown(), told}
		}
		summary := result.Summary()
		summary.FileKeys = told
		return summary
	})
}

// maxSummary is how many candidates a summary has.
const maxSummary = 10

// Summary is the result in short.
func (r *Result) Summary() Summary {
	snapshot := r.Snapshot()
	s := Summary{
		Status: r.Status, Format: reply.FormatSummary, AsOf: r.AsOf, Verdict: snapshot.Verdict,
		TotalHarvestableLoss: r.TotalHarvestableLoss, ShortTermLoss: r.ShortTermLoss, LongTermLoss: r.LongTermLoss, IfAllSold: r.IfAllSold,
		Realized: r.Realized, Carryover: r.Carryover, Netting: r.Netting,
		CandidateCount: r.CandidateCount, Candidates: []Lot{}, CandidatesOmitted: max(len(r.Candidates)-maxSummary, 0),
		DataCoveragePct: r.DataCoveragePct, Metadata: r.Metadata, Flags: snapshot.Flags(), Unread: shortUnread(r.Unread), Disclaimer: r.Disclaimer,
	}
	for _, c := range r.Candidates[:min(len(r.Candidates), maxSummary)] {
		s.Candidates = append(s.Candidates, Lot{c.Ticker, c.Account, c.Acquired, c.Quantity, c.UnrealizedLoss, c.HoldingPeriod, c.WashSaleRisk, c.Disallowed, c.NoBuyUntil, c.WashFreeFrom, c.FIFOReaches, c.SoldFirst != nil, c.StalePrice})
	}
	return s
}
