// Package answer answers questions about a portfolio from its store: what it is on a day, the two
// tools, and the report. It also imports files into the store, and says what became of each. It
// does the reading and writing around functions that do none.
package answer

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/internal/portfolio/settings"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
)

// A Service answers the tools from a store, and imports into it. It can be called concurrently.
type Service struct {
	Store *store.Store
	Logs  string           // the directory below which full results are written, as logs/exit_signals
	AsOf  portfolio.Date   // taken where a call names no day; no day is today
	Now   func() time.Time // the clock: today, and the names of files

	saving sync.Mutex // one file at a time, so that the limits hold
}

// The directories and names of full results.
const (
	exitFiles     = "exit_signals"
	harvestFiles  = "tax_harvest"
	positionFiles = "positions"
	gainFiles     = "gains"
)

// saved is what is kept of full results in each directory, so that all of a server's are bounded:
// whoever reaches it can ask for any number of them.
var saved = agentformat.Limits{Files: 1000 / directories, Bytes: 256 << 20 / directories, File: 32 << 20}

const directories = 4

// CheckExitSignals is the tool check_exit_signals. Without a ticker it looks at all positions.
func (s *Service) CheckExitSignals(ctx context.Context, p exitsignal.Params) reply.Reply {
	if strings.TrimSpace(p.Ticker) == "" {
		survey, file := s.Survey(ctx, p)
		return exitsignal.SurveyReply(survey, p, file)
	}
	result, file := s.Exit(ctx, p)
	return exitsignal.Reply(result, p, file)
}

// SuggestTaxLossHarvest is the tool suggest_tax_loss_harvest.
func (s *Service) SuggestTaxLossHarvest(ctx context.Context, p harvest.Params) reply.Reply {
	result, file := s.Harvest(ctx, p)
	return harvest.Reply(result, p, file)
}

// Exit checks the exit rules, and writes the result to a file if that is asked for.
func (s *Service) Exit(ctx context.Context, p exitsignal.Params) (*exitsignal.Result, agentformat.File) {
	if err := p.Check(); err != nil {
		return exitsignal.Failed(p.Ticker, err), agentformat.File{}
	}
	p.Ticker = portfolio.Symbol(p.Ticker) // as people spell it, and files have it
	result, err := s.exit(ctx, p)
	if err != nil {
		result = exitsignal.Failed(p.Ticker, err)
	}
	return result, s.save(p.Output, exitFiles, result.FileName(), result)
}

// Harvest looks for losses, and writes the result to a file if that is asked for.
func (s *Service) Harvest(ctx context.Context, p harvest.Params) (*harvest.Result, agentformat.File) {
	if err := p.Check(); err != nil {
		return harvest.Failed(err), agentformat.File{}
	}
	result, err := s.harvest(ctx, p)
	if err != nil {
		result = harvest.Failed(err)
	}
	return result, s.save(p.Output, harvestFiles, harvestFiles, result)
}

// save writes the full result where a file was asked for.
func (s *Service) save(output, dir, name string, result any) agentformat.File {
	if output != reply.OutputFile {
		return agentformat.File{}
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	return saved.Save(filepath.Join(s.Logs, dir), name, s.Now(), result)
}

// Day is the day that a call is about.
func (s *Service) Day(asOf portfolio.Date) portfolio.Date {
	switch {
	case !asOf.IsZero():
		return asOf
	case !s.AsOf.IsZero():
		return s.AsOf
	}
	return portfolio.DateOf(s.Now())
}

// Settings are what was saved, or the defaults.
func (s *Service) Settings(ctx context.Context) (settings.Settings, error) {
	document, err := s.Store.Settings(ctx)
	if err != nil {
		return settings.Settings{}, err
	}
	set, err := settings.Parse(document)
	if err != nil {
		return set, fmt.Errorf("the saved settings: %w; import them again", err)
	}
	return set, nil
}

// A State is a portfolio on a day.
type State struct {
	AsOf     portfolio.Date
	Settings settings.Settings
	History  []portfolio.Transaction // up to AsOf
	Book     *lots.Book
	Closes   map[string]price.Bar // each symbol's last bar up to AsOf
	Holdings []broker.Holding
	Unread   []portfolio.Unread // rows up to AsOf, or of no day, that nobody could read
}

// Load reads the portfolio as it was on a day.
func (s *Service) Load(ctx context.Context, asOf portfolio.Date) (state State, err error) {
	state.AsOf = s.Day(asOf)
	if state.Settings, err = s.Settings(ctx); err != nil {
		return state, err
	}
	if state.History, err = s.Store.Transactions(ctx, state.AsOf); err != nil {
		return state, err
	}
	if state.Closes, err = s.Store.Closes(ctx, state.AsOf); err != nil {
		return state, err
	}
	if state.Holdings, err = s.Store.Holdings(ctx, state.AsOf); err != nil {
		return state, err
	}
	if state.Unread, err = s.Unread(ctx, state.AsOf); err != nil {
		return state, err
	}
	state.Book = lots.Build(state.History, state.Settings.Rules(), state.AsOf)
	state.Unread = spread(mayConcern(state.Unread, state.Book, state.History), state.History, state.Settings.Identical)
	return state, nil
}

// Harvest looks for losses in a portfolio.
func (state State) Harvest(p harvest.Params) *harvest.Result {
	return harvest.Suggest(harvest.Input{
		AsOf: state.AsOf, MinLoss: p.MinLoss, Carryover: p.Carryover, SortBy: p.SortBy, AccountID: p.AccountID,
		Book: state.Book, Closes: state.Closes, History: state.History, Holdings: state.Holdings, Unread: state.Unread,
		Rules: state.Settings.Rules(), Filing: state.Settings.Filing,
	})
}

// ExitSignals checks a ticker of a portfolio, given its prices.
func (state State) ExitSignals(p exitsignal.Params, market exitrule.Market) *exitsignal.Result {
	return exitsignal.Check(exitsignal.Input{
		Ticker: p.Ticker, Shares: p.Shares, AccountID: p.AccountID, AsOf: state.AsOf,
		Config: state.Settings.Exit, Market: market, History: state.History, Unread: state.Unread, Rules: state.Settings.Rules(),
	})
}

// others reads the prices of the symbols that the exit rules look at besides a ticker.
func (s *Service) others(ctx context.Context, state State) (bars map[string][]price.Bar, err error) {
	bars = map[string][]price.Bar{}
	for _, symbol := range state.Settings.Exit.Symbols() {
		if bars[symbol], err = s.Store.Bars(ctx, symbol, state.AsOf); err != nil {
			return nil, err
		}
	}
	return bars, nil
}

func (s *Service) harvest(ctx context.Context, p harvest.Params) (*harvest.Result, error) {
	state, err := s.Load(ctx, p.AsOf)
	if err != nil {
		return nil, err
	}
	return state.Harvest(p), nil
}

func (s *Service) exit(ctx context.Context, p exitsignal.Params) (*exitsignal.Result, error) {
	state := State{AsOf: s.Day(p.AsOf)}
	var err error
	if state.Settings, err = s.Settings(ctx); err != nil {
		return nil, err
	}
	if state.History, err = s.Store.Transactions(ctx, state.AsOf); err != nil {
		return nil, err
	}
	if state.Unread, err = s.Unread(ctx, state.AsOf); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(state.Unread, func(row portfolio.Unread) bool { return row.Symbol == "" }) {
		book := lots.Build(state.History, state.Settings.Rules(), state.AsOf)
		state.Unread = mayConcern(state.Unread, book, state.History)
	}
	state.Unread = spread(state.Unread, state.History, state.Settings.Identical)
	var market exitrule.Market
	if market.Bars, err = s.Store.Bars(ctx, p.Ticker, state.AsOf); err != nil {
		return nil, err
	}
	if market.Others, err = s.others(ctx, state); err != nil {
		return nil, err
	}
	return state.ExitSignals(p, market), nil
}

// An Account is one as it is shown.
type Account struct {
	portfolio.Account
	Listed       bool `json:"listed"` // somebody described it
	Transactions int  `json:"transactions"`
}

// Accounts are the accounts that are described, and those that only have transactions.
func (state State) Accounts() []Account {
	list := make([]Account, 0, len(state.Settings.Accounts))
	at := map[string]int{}
	for _, a := range state.Settings.Accounts {
		at[a.ID] = len(list)
		list = append(list, Account{Account: a, Listed: true})
	}
	for i := range state.History {
		id := state.History[i].Account
		if _, known := at[id]; !known {
			at[id] = len(list)
			list = append(list, Account{Account: portfolio.Unlisted(id)})
		}
		list[at[id]].Transactions++
	}
	return list
}
