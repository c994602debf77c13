package exitsignal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// A Survey is what check_exit_signals finds without a ticker: every ticker that is held.
type Survey struct {
	Status           string         `json:"status"`
	Error            string         `json:"error,omitempty"`
	AccountID        string         `json:"account_id,omitempty"`
	AsOf             portfolio.Date `json:"as_of"`
	PositionsChecked int            `json:"positions_checked"` // tickers
	Counts
	Results    []*Result `json:"results"` // strong exits, exits, errors, then the others; the largest sale first
	Disclaimer string    `json:"disclaimer"`

	asked string // the account as it was asked for
}

// Counts are how many tickers have which assessment.
type Counts struct {
	StrongExits int `json:"strong_exit_count"`
	Exits       int `json:"exit_count"`
	Errors      int `json:"error_count"`
	Monitors    int `json:"monitor_count"`
	Holds       int `json:"hold_count"`
}

// SurveyName is what the file of a survey is called, before its time.
const SurveyName = "exit_signals_ALL"

// FailedSurvey is the result of a survey that failed.
func FailedSurvey(err error) *Survey {
	return &Survey{Status: agentformat.StatusError, Error: err.Error(), Results: []*Result{}, Disclaimer: disclaimer}
}

// CheckAll checks tickers that are held, by the prices that market gives for each. What the input has
// of a ticker is not looked at.
func CheckAll(in Input, tickers []string, market func(ticker string) (exitrule.Market, error)) *Survey {
	asked := in.AccountID
	in.AccountID = reply.WholeAccount(asked, in.accountIDs())
	if err := in.checkAll(); err != nil {
		return FailedSurvey(err)
	}
	s := &Survey{asked: asked, Status: agentformat.StatusSuccess, AccountID: in.AccountID, AsOf: in.AsOf, Results: []*Result{}, Disclaimer: disclaimer}
	families := newFamilies(in.Rules, in.History)
	histories := map[string][]portfolio.Transaction{}
	for _, t := range in.History {
		family := families.of(t.Symbol)
		histories[family] = append(histories[family], t)
	}
	for _, ticker := range tickers {
		one := in
		one.Ticker, one.History = ticker, histories[families.of(ticker)]
		var err error
		if one.Market, err = market(ticker); err != nil {
			return FailedSurvey(err)
		}
		r := Check(one)
		s.Results = append(s.Results, r)
		s.count(r)
	}
	s.PositionsChecked = len(s.Results)
	slices.SortStableFunc(s.Results, func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), b.saleValue().Cmp(a.saleValue()), strings.Compare(a.Ticker, b.Ticker))
	})
	return s
}

func (in Input) checkAll() error {
	switch {
	case in.Shares != nil:
		return errors.New("shares are of one ticker: name the ticker, too")
	case in.AsOf.IsZero():
		return errors.New("there is no as_of date")
	}
	if err := in.Config.Check(); err != nil {
		return fmt.Errorf("the settings of exit signals: %w", err)
	}
	return in.checkAccount()
}

// Leaving are the results of the positions to leave.
func (s *Survey) Leaving() []*Result { return s.Results[:s.StrongExits+s.Exits] }

func (s *Survey) count(r *Result) {
	switch r.rank() {
	case rankStrong:
		s.StrongExits++
	case rankExit:
		s.Exits++
	case rankError:
		s.Errors++
	case rankMonitor:
		s.Monitors++
	default:
		s.Holds++
	}
}

// How much a result matters.
const (
	rankStrong = iota
	rankExit
	rankError
	rankMonitor
	rankHold
)

// rank is a result's place. What this version does not know is an error, never a reason to hold.
func (r *Result) rank() int {
	switch {
	case r.Status != agentformat.StatusSuccess:
		return rankError
	case r.Assessment == exitrule.StrongExit:
		return rankStrong
	case r.Assessment == exitrule.Exit:
		return rankExit
	case r.Assessment == exitrule.Monitor:
		return rankMonitor
	case r.Assessment == exitrule.Hold:
		return rankHold
	}
	return rankError
}

func (r *Result) saleValue() portfolio.Decimal {
	if r.Sizing == nil {
		return portfolio.Decimal{}
	}
	return r.Sizing.Sell.Mul(r.LastPrice)
}

// why is what a result without a verdict says of it.
func (r *Result) why() string {
	for _, signal := range r.Signals {
		if r.Error == "" && signal.Status == exitrule.StatusError {
			return signal.Message
		}
	}
	return cmp.Or(r.Error, r.OverallAssessment)
}

// A SurveySummary is a survey in short: what matters, as the summary of each ticker.
type SurveySummary struct {
	Status           string         `json:"status"`
	Format           string         `json:"format"`
	AsOf             portfolio.Date `json:"as_of"`
	Verdict          string         `json:"verdict"`
	PositionsChecked int            `json:"positions_checked"`
	Counts
	Results        []Summary          `json:"results"`         // exits and errors
	ResultsOmitted int                `json:"results_omitted"` // exits and errors that are not listed
	Flags          []agentformat.Flag `json:"flags"`
	Disclaimer     string             `json:"disclaimer"`
	reply.FileKeys
}

const maxSummaries = 10

// Summary is the survey in short.
func (s *Survey) Summary() SurveySummary {
	snapshot := s.Snapshot()
	short := SurveySummary{
		Status: s.Status, Format: reply.FormatSummary, AsOf: s.AsOf, Verdict: snapshot.Verdict, PositionsChecked: s.PositionsChecked,
		Counts: s.Counts, Results: []Summary{}, Flags: snapshot.Flags(), Disclaimer: s.Disclaimer,
	}
	for _, r := range s.Results {
		switch {
		case r.rank() > rankError:
		case len(short.Results) == maxSummaries:
			short.ResultsOmitted++
		default:
			short.Results = append(short.Results, r.Summary())
		}
	}
	return short
}

type fullSurvey struct {
	*Survey
	Format string `json:"format"`
	reply.FileKeys
}

// SurveyReply answers with a survey in the format that was asked for, as Reply does with a result.
func SurveyReply(s *Survey, params Params, file agentformat.File) reply.Reply {
	if err := params.Check(); err != nil {
		s = FailedSurvey(err)
	}
	return reply.New(params.Format, s.Status, s.Error, s.Snapshot(), file, func(told reply.FileKeys) any {
		if params.Format == reply.FormatFull {
			return fullSurvey{s, reply.FormatFull, told}
		}
		summary := s.Summary()
		summary.FileKeys = told
		return summary
	})
}
