package answer

import (
	"context"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/listing"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// ListPositions is the tool list_positions.
func (s *Service) ListPositions(ctx context.Context, p listing.Params) reply.Reply {
	result := listing.FailedPositions
	if err := p.Check(); err != nil {
		return listing.PositionsReply(result(err), p, agentformat.File{})
	}
	state, err := s.Load(ctx, p.AsOf)
	if err != nil {
		return listing.PositionsReply(result(err), p, s.save(p.Output, positionFiles, positionFiles, result(err)))
	}
	found := listing.ListPositions(state.Listing(p))
	return listing.PositionsReply(found, p, s.save(p.Output, positionFiles, found.FileName(), found))
}

// ListGains is the tool list_gains. Without a year it is that of the day.
func (s *Service) ListGains(ctx context.Context, p listing.Params) reply.Reply {
	result := listing.FailedGains
	if err := p.Check(); err != nil {
		return listing.GainsReply(result(err), p, agentformat.File{})
	}
	state, err := s.Load(ctx, p.AsOf)
	if err != nil {
		return listing.GainsReply(result(err), p, s.save(p.Output, gainFiles, gainFiles, result(err)))
	}
	if p.Year == 0 {
		p.Year = state.AsOf.Year()
	}
	found := listing.ListGains(state.Listing(p))
	return listing.GainsReply(found, p, s.save(p.Output, gainFiles, found.FileName(), found))
}

// Listing is the portfolio as both lists look at it.
func (state State) Listing(p listing.Params) listing.Input {
	in := listing.Input{
		AsOf: state.AsOf, AccountID: p.AccountID, Symbol: portfolio.Symbol(p.Symbol), Year: p.Year,
		Book: state.Book, Positions: state.Positions(), Unread: state.Unread,
	}
	for _, a := range state.Accounts() {
		in.Accounts = append(in.Accounts, a.Account)
	}
	return in
}
