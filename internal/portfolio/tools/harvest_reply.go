package tools

import (
	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A HarvestSummary is the result in short: totals, the first candidates in the order that was
// asked for, and the flags.
type HarvestSummary struct {
	Status               string             `json:"status"`
	Format               string             `json:"format"`
	AsOf                 portfolio.Date     `json:"as_of"`
	Verdict              string             `json:"verdict"`
	TotalHarvestableLoss portfolio.Decimal  `json:"total_harvestable_loss"`
	ShortTermLoss        portfolio.Decimal  `json:"short_term_loss"`
	LongTermLoss         portfolio.Decimal  `json:"long_term_loss"`
	IfAllSold            HarvestSale        `json:"if_all_sold"`
	CandidateCount       int                `json:"candidate_count"`
	Candidates           []HarvestLot       `json:"candidates"`
	CandidatesOmitted    int                `json:"candidates_omitted"`
	DataCoveragePct      float64            `json:"data_coverage_pct"`
	Metadata             HarvestMetadata    `json:"metadata"`
	Flags                []agentformat.Flag `json:"flags"`
	Disclaimer           string             `json:"disclaimer"`
	fileKeys
}

// A HarvestLot is a candidate in short.
type HarvestLot struct {
	Ticker         string            `json:"ticker"`
	Account        string            `json:"account"`
	Acquired       portfolio.Date    `json:"acquired"`
	Quantity       portfolio.Decimal `json:"quantity"`
	UnrealizedLoss portfolio.Decimal `json:"unrealized_loss"`
	HoldingPeriod  string            `json:"holding_period"`
	WashSaleRisk   bool              `json:"wash_sale_risk"`
	Disallowed     portfolio.Decimal `json:"disallowed"`
	WashFreeFrom   portfolio.Date    `json:"wash_free_from,omitzero"`
}

type harvestFull struct {
	*HarvestResult
	Format string `json:"format"`
	fileKeys
}

type harvestReport struct {
	Status string `json:"status"`
	Format string `json:"format"`
	Report string `json:"report"` // Markdown
	fileKeys
}

// HarvestReply answers in the format that was asked for. The file is what became of the full
// result where it was asked for as one.
func HarvestReply(result *HarvestResult, params HarvestParams, file agentformat.File) Reply {
	if err := params.Check(); err != nil {
		result = HarvestError(err)
	}
	return answer(params.Format, result.Status, result.Error, result.Snapshot(), file, func(told fileKeys) any {
		switch params.Format {
		case FormatFull:
			return harvestFull{result, FormatFull, told}
		case FormatReport:
			return harvestReport{result.Status, FormatReport, result.Markdown(), told}
		}
		summary := result.Summary()
		summary.fileKeys = told
		return summary
	})
}

// maxSummary is how many candidates a summary has.
const maxSummary = 10

// Summary is the result in short.
func (r *HarvestResult) Summary() HarvestSummary {
	snapshot := r.Snapshot()
	s := HarvestSummary{
		Status: r.Status, Format: FormatSummary, AsOf: r.AsOf, Verdict: snapshot.Verdict,
		TotalHarvestableLoss: r.TotalHarvestableLoss, ShortTermLoss: r.ShortTermLoss, LongTermLoss: r.LongTermLoss, IfAllSold: r.IfAllSold,
		CandidateCount: r.CandidateCount, Candidates: []HarvestLot{}, CandidatesOmitted: max(len(r.Candidates)-maxSummary, 0),
		DataCoveragePct: r.DataCoveragePct, Metadata: r.Metadata, Flags: snapshot.Flags(), Disclaimer: r.Disclaimer,
	}
	for _, c := range r.Candidates[:min(len(r.Candidates), maxSummary)] {
		s.Candidates = append(s.Candidates, HarvestLot{c.Ticker, c.Account, c.Acquired, c.Quantity, c.UnrealizedLoss, c.HoldingPeriod, c.WashSaleRisk, c.Disallowed, c.WashFreeFrom})
	}
	return s
}
