package answer

import (
	"context"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
)

// Survey checks the exit rules of all positions, and writes the result to a file if that is asked for.
func (s *Service) Survey(ctx context.Context, p exitsignal.Params) (*exitsignal.Survey, agentformat.File) {
	if err := p.Check(); err != nil {
		return exitsignal.FailedSurvey(err), agentformat.File{}
	}
	survey, err := s.survey(ctx, p)
	if err != nil {
		survey = exitsignal.FailedSurvey(err)
	}
	return survey, s.save(p.Output, exitFiles, exitsignal.SurveyName, survey)
}

func (s *Service) survey(ctx context.Context, p exitsignal.Params) (*exitsignal.Survey, error) {
	state, err := s.Load(ctx, p.AsOf)
	if err != nil {
		return nil, err
	}
	others, err := s.others(ctx, state)
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, position := range state.Book.Positions {
		if p.AccountID == "" || p.AccountID == position.Account {
			held[position.Symbol] = true
		}
	}
	input := exitsignal.Input{
		Shares: p.Shares, AccountID: p.AccountID, AsOf: state.AsOf,
		Config: state.Settings.Exit, History: state.History, Unread: state.Unread, Rules: state.Settings.Rules(),
	}
	return exitsignal.CheckAll(input, slices.Sorted(maps.Keys(held)), func(ticker string) (exitrule.Market, error) {
		if err := ctx.Err(); err != nil {
			return exitrule.Market{}, err
		}
		bars, err := s.Store.Bars(ctx, ticker, state.AsOf)
		return exitrule.Market{Bars: bars, Others: others}, err
	}), nil
}
