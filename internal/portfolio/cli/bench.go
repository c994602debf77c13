package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
)

func (a *app) benchCommand() *cobra.Command {
	var n, rounds int
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure how long an answer takes on this machine",
		Long: `Bench makes up a portfolio of 500 positions, and measures how long it takes from the CSV of its
transactions to the reply that an agent gets: in memory, and through a database of its own, which
it removes. Beside it stands how long a plain loop takes over the same CSV. Then it measures the hardest
histories: thousands of fractional trades of one symbol in a year, and an account of 50,000 lots that
sells, oldest lot first and dearest lot first; with the memory that the program has at most while it
keeps their lots, and by which power of the number of trades the time grows. Each figure is the best
of some rounds.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n < 1000 || n > 10_000_000 || rounds < 1 || rounds > 100 {
				return a.UsageError("--transactions is 1000 to 10000000, --rounds 1 to 100")
			}
			m, err := measure(cmd.Context(), n, rounds)
			if err != nil {
				return err
			}
			if a.JSON {
				return command.WriteJSON(a.Out, m)
			}
			m.say(a.Out)
			return nil
		},
	}
	c.Flags().IntVar(&n, "transactions", 100_000, "how many (`N`)")
	c.Flags().IntVar(&rounds, "rounds", 3, "how often (`N`)")
	return c
}

// measured is what bench prints. Times are milliseconds.
type measured struct {
	Transactions int     `json:"transactions"`
	Positions    int     `json:"positions"`
	Lots         int     `json:"lots"`
	Bytes        int     `json:"csv_bytes"`
	Loop         float64 `json:"plain_csv_loop_ms"`
	Read         float64 `json:"read_csv_ms"`
	Build        float64 `json:"lots_ms"`
	Answer       float64 `json:"reply_ms"`
	Memory       float64 `json:"csv_to_reply_ms"`
	Import       float64 `json:"import_to_database_ms"`
	Load         float64 `json:"reply_from_database_ms"`
	Database     float64 `json:"csv_to_reply_through_database_ms"`
	ExitReply    int     `json:"exit_reply_bytes"`
	HarvestReply int     `json:"harvest_reply_bytes"`
	Full         int     `json:"harvest_full_bytes"`
	Hard         []hard  `json:"hard"`
}

func (m measured) say(w io.Writer) {
	fmt.Fprintf(w, "%d transactions (%d bytes of CSV), %d positions, %d open lots\n\n", m.Transactions, m.Bytes, m.Positions, m.Lots)
	t := command.NewTable("from CSV to the agent's reply", ">ms", ">of a plain loop")
	row := func(name string, ms float64) { t.Add(name, fmt.Sprintf("%.1f", ms), fmt.Sprintf("%.1fx", ms/m.Loop)) }
	row("a plain loop over the CSV (encoding/csv)", m.Loop)
	row("in memory", m.Memory)
	row("  read the CSV", m.Read)
	row("  lots, wash sales, gains", m.Build)
	row("  find losses and reply", m.Answer)
	row("through a database", m.Database)
	row("  read and import", m.Import)
	row("  reply from the database", m.Load)
	t.Write(w, 0)
	t = command.NewTable("lots of one symbol", ">method", ">ms", ">MB", ">open lots", ">rows of gains")
	for _, h := range m.Hard {
		t.Add(h.Name, string(h.Method), fmt.Sprintf("%.1f", h.Build), fmt.Sprintf("%.0f", h.Memory), fmt.Sprint(h.Lots), fmt.Sprint(h.Rows))
	}
	fmt.Fprintln(w)
	t.Write(w, 0)
	for i := 2; i < len(m.Hard); i++ {
		if few, many := m.Hard[i-2], m.Hard[i]; many.Method == few.Method && many.Trades > few.Trades && many.Sales == 0 {
			fmt.Fprintf(w, "%s: from %d to %d trades, the time grows by the power %.2f\n", many.Method, few.Trades, many.Trades, growth(few, many))
		}
	}
	fmt.Fprintf(w, "\nreplies in agent format: exit signals %d bytes, harvest %d bytes (full: %d bytes)\n", m.ExitReply, m.HarvestReply, m.Full)
}

func measure(ctx context.Context, n, rounds int) (best measured, err error) {
	made := makeUp(n)
	for round := range rounds {
		m, err := made.round(ctx)
		if err != nil {
			return m, err
		}
		if round == 0 {
			best = m
		}
		for _, ms := range []struct{ least, now *float64 }{
			{&best.Loop, &m.Loop}, {&best.Read, &m.Read}, {&best.Build, &m.Build}, {&best.Answer, &m.Answer}, {&best.Memory, &m.Memory},
			{&best.Import, &m.Import}, {&best.Load, &m.Load}, {&best.Database, &m.Database},
		} {
			*ms.least = min(*ms.least, *ms.now)
		}
	}
	best.Hard = measureHard(n, rounds)
	return best, nil
}

// hard is what bench measures of one of the hardest histories.
type hard struct {
	Name   string           `json:"name"`
	Method portfolio.Method `json:"method"`
	Trades int              `json:"trades"`
	Sales  int              `json:"sales_of_many_lots,omitzero"`
	Build  float64          `json:"lots_ms"`
	Memory float64          `json:"memory_mb"`
	Lots   int              `json:"lots"`
	Rows   int              `json:"rows"`
}

// growth is the power of the number of trades by which the time grows.
func growth(few, many hard) float64 {
	return math.Log(many.Build/few.Build) / math.Log(float64(many.Trades)/float64(few.Trades))
}

// measureHard keeps the hardest books. A bench of few transactions has small ones.
func measureHard(n, rounds int) (list []hard) {
	many := min(n/5, 20_000)
	for _, trades := range []int{many / 4, many} {
		for _, method := range []portfolio.Method{portfolio.FIFO, portfolio.HIFO} {
			h := hard{Name: fmt.Sprintf("%d fractional trades in a year", trades), Method: method, Trades: trades}
			list = append(list, h.measure(makeUpTrades(trades), rounds))
		}
	}
	lots, sales := many*5/2, many/20
	for _, method := range []portfolio.Method{portfolio.FIFO, portfolio.HIFO} {
		h := hard{Name: fmt.Sprintf("%d lots, %d sales", lots, sales), Method: method, Trades: lots + sales, Sales: sales}
		list = append(list, h.measure(makeUpManyLots(lots, sales), rounds))
	}
	return list
}

const hardAccount = "acct-0"

func (h hard) measure(history []portfolio.Transaction, rounds int) hard {
	rules := lots.Rules{Accounts: []portfolio.Account{{ID: hardAccount, Kind: portfolio.Taxable, Method: h.Method}}}
	for round := range rounds {
		stop := watchMemory()
		begin := time.Now()
		book := lots.Build(history, rules, history[len(history)-1].Date)
		ms := float64(time.Since(begin).Microseconds()) / 1000
		mb := stop()
		h.Lots, h.Rows = len(book.Lots), len(book.Disposals)
		if round == 0 || ms < h.Build {
			h.Build = ms
		}
		if round == 0 || mb < h.Memory {
			h.Memory = mb
		}
	}
	return h
}

// watchMemory looks at what the program has of the machine's memory until it is stopped, and returns
// the most in megabytes.
func watchMemory() (stop func() float64) {
	debug.FreeOSMemory()
	has := func() float64 {
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(sample)
		return float64(sample[0].Value.Uint64()-sample[1].Value.Uint64()) / 1e6
	}
	done, most := make(chan struct{}), make(chan float64)
	go func() {
		peak := has()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				peak = max(peak, has())
			case <-done:
				most <- max(peak, has())
				return
			}
		}
	}()
	return func() float64 {
		close(done)
		return <-most
	}
}

// makeUpTrades makes up trades of one symbol in fractions of a share, around a position of some
// hundred lots: each sale at a loss is washed by purchases that are sold at a loss in turn.
func makeUpTrades(n int) []portfolio.Transaction {
	random := rand.New(rand.NewPCG(1, 2))
	begin := portfolio.NewDate(2025, time.January, 2)
	history := make([]portfolio.Transaction, 0, n)
	held, cost := int64(0), 100.0
	const most, usual = 100_000, 10_000_000 // ten-thousandths of a share
	for i := range n {
		cost *= 1 + 0.01*(random.Float64()-0.5)
		action, quantity := portfolio.Buy, 1+random.Int64N(most)
		if held > 2*usual || held > usual && random.IntN(2) == 0 {
			action = portfolio.Sell
			held -= 2 * quantity
		}
		held += quantity
		history = append(history, portfolio.Transaction{
			Date: begin.Add(i * 365 / n), Account: hardAccount, Action: action, Symbol: "S000", Quantity: portfolio.NewDecimal(quantity, -4), Price: portfolio.NewDecimal(int64(cost*100), -2),
		})
	}
	return history
}

// makeUpManyLots makes up many purchases of one symbol, and then sales of several lots each.
func makeUpManyLots(lots, sales int) []portfolio.Transaction {
	random := rand.New(rand.NewPCG(1, 2))
	begin := portfolio.NewDate(2016, time.January, 4)
	history := make([]portfolio.Transaction, 0, lots+sales)
	for i := range lots + sales {
		t := portfolio.Transaction{
			Date: begin.Add(i * 3650 / (lots + sales)), Account: hardAccount, Action: portfolio.Buy, Symbol: "S000",
			Quantity: portfolio.NewDecimal(1+random.Int64N(100_000), -4), Price: portfolio.NewDecimal(5000+random.Int64N(10_000), -2),
		}
		if i >= lots {
			t.Action = portfolio.Sell
		}
		history = append(history, t)
	}
	return history
}

// A madeUp portfolio is the same for the same number of transactions.
type madeUp struct {
	csv    []byte
	quotes []price.Quote
	end    portfolio.Date
}

// Its shape: so many symbols, each with about ten open lots in the end.
const (
	madeUpSymbols = 500
	madeUpLots    = 10
)

func makeUp(n int) madeUp {
	random := rand.New(rand.NewPCG(1, 2))
	m := madeUp{end: portfolio.NewDate(2026, time.November, 13)}
	begin := portfolio.NewDate(2016, time.January, 4)
	days := m.end.Sub(begin)
	var b bytes.Buffer
	b.WriteString("date,account,action,symbol,quantity,price,fees,note\n")
	open := make([][]int, madeUpSymbols) // the lots of a symbol, oldest first
	cost := make([]float64, madeUpSymbols)
	for i := range cost {
		cost[i] = 20 + 200*random.Float64()
	}
	for i := range n {
		s := random.IntN(madeUpSymbols)
		cost[s] *= 1 + 0.05*(random.Float64()-0.5)
		day := begin.Add(i * days / n)
		action, quantity := "BUY", 1+random.IntN(50)
		switch {
		case len(open[s]) >= madeUpLots:
			action, quantity = "SELL", open[s][0]
			open[s] = open[s][1:]
		case random.IntN(5) == 0:
			action = "REINVEST"
			fallthrough
		default:
			open[s] = append(open[s], quantity)
		}
		fmt.Fprintf(&b, "%s,acct-%d,%s,S%03d,%d,%.2f,0.65,\n", day, s%3, action, s, quantity, cost[s])
	}
	m.csv = b.Bytes()
	for s := range madeUpSymbols {
		last := portfolio.NewDecimal(int64(cost[s]*95), -2)
		m.quotes = append(m.quotes, price.Quote{Symbol: fmt.Sprintf("S%03d", s), Bar: price.Bar{Date: m.end, Open: last, High: last, Low: last, Close: last, Adj: last}})
	}
	return m
}

func (made madeUp) round(ctx context.Context) (m measured, err error) {
	clock := time.Now()
	lap := func() float64 {
		now := time.Now()
		ms := float64(now.Sub(clock).Microseconds()) / 1000
		clock = now
		return ms
	}
	loop := csv.NewReader(bytes.NewReader(made.csv))
	for loop.ReuseRecord = true; ; {
		if _, err := loop.Read(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return m, err
		}
	}
	m.Loop = lap()
	file, err := broker.Read(bytes.NewReader(made.csv), broker.Options{})
	if err != nil {
		return m, err
	}
	m.Read = lap()
	book := lots.Build(file.Transactions, lots.Rules{}, made.end)
	m.Build = lap()
	closes := map[string]price.Bar{}
	for _, q := range made.quotes {
		closes[q.Symbol] = q.Bar
	}
	agent := harvest.Params{Format: reply.FormatAgent}
	state := answer.State{AsOf: made.end, History: file.Transactions, Book: book, Closes: closes}
	asked, err := json.Marshal(harvest.Reply(state.Harvest(agent), agent, agentformat.File{}).Body)
	if err != nil {
		return m, err
	}
	m.Answer = lap()
	m.Memory = m.Read + m.Build + m.Answer
	m.Transactions, m.Bytes, m.Positions, m.Lots, m.HarvestReply = len(file.Transactions), len(made.csv), len(book.Positions), len(book.Lots), len(asked)
	return m, made.throughDatabase(ctx, &m, lap)
}

// throughDatabase measures what a user does: import, then ask.
func (made madeUp) throughDatabase(ctx context.Context, m *measured, lap func() float64) (err error) {
	dir, err := os.MkdirTemp("", "portfolio-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := store.Open(ctx, filepath.Join(dir, "portfolio.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.ImportPrices(ctx, store.Import{Name: "prices", Hash: [32]byte{1}, At: time.Now()}, made.quotes); err != nil {
		return err
	}
	lap()
	file, err := broker.Read(bytes.NewReader(made.csv), broker.Options{})
	if err != nil {
		return err
	}
	if _, err := s.ImportTransactions(ctx, store.Import{Name: "made up", Hash: [32]byte{2}, At: time.Now()}, file.Transactions, nil); err != nil {
		return err
	}
	m.Import = lap()
	service := &answer.Service{Store: s, AsOf: made.end, Now: time.Now}
	if _, err := json.Marshal(service.SuggestTaxLossHarvest(ctx, harvest.Params{Format: reply.FormatAgent}).Body); err != nil {
		return err
	}
	m.Load = lap()
	m.Database = m.Import + m.Load
	exit, err := json.Marshal(service.CheckExitSignals(ctx, exitsignal.Params{Ticker: "S001", Format: reply.FormatAgent}).Body)
	if err != nil {
		return err
	}
	full, err := json.Marshal(service.SuggestTaxLossHarvest(ctx, harvest.Params{Format: reply.FormatFull}).Body)
	m.ExitReply, m.Full = len(exit), len(full)
	return err
}
