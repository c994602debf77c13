package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/answer"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price/fetch"
)

func (a *app) pricesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "prices",
		Short: "List and import daily prices",
		Long: `Prices lists the last price of every symbol. Exit rules need daily prices of about a year
and of an index; the harvest needs the last one of each position.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, err := a.load(cmd.Context())
			if err != nil {
				return err
			}
			return a.sayPrices(state)
		},
	}
	c.AddCommand(a.pricesImportCommand(), a.pricesFetchCommand())
	return c
}

// A lastPrice is a symbol's last bar.
type lastPrice struct {
	Symbol   string         `json:"symbol"`
	Date     portfolio.Date `json:"date"`
	Close    string         `json:"close"`
	AdjClose string         `json:"adj_close"`
}

func (a *app) sayPrices(state answer.State) error {
	list := []lastPrice{}
	for _, symbol := range slices.Sorted(maps.Keys(state.Closes)) {
		bar := state.Closes[symbol]
		list = append(list, lastPrice{symbol, bar.Date, bar.Close.Money(), bar.Adj.Money()})
	}
	if a.JSON {
		return command.WriteJSON(a.Out, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "There are no prices yet (portfolio prices import --help).")
		return nil
	}
	t := command.NewTable("symbol", "date", ">close", ">adjusted")
	for _, p := range list {
		t.Add(p.Symbol, p.Date.String(), p.Close, p.AdjClose)
	}
	t.Write(a.Out, a.Columns())
	return nil
}

func (a *app) pricesImportCommand() *cobra.Command {
	var symbol string
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "Read daily prices from files",
		Long: `Import reads daily prices: a plain CSV with date, symbol, open, high, low, close, adj_close;
Yahoo's and Stooq's CSV, which name no symbol (the file's name does, or --symbol); and Yahoo's chart
JSON. A later import of the same day replaces the price, because adjusted prices change with every
dividend.`,
		Example: `  portfolio prices import prices.csv
  portfolio prices import --symbol SLV downloaded.csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.importing("price", func(ctx context.Context, s *answer.Service, path string, r io.Reader) (answer.Imported, error) {
			return s.ImportPrices(ctx, path, r, symbol)
		}),
	}
	c.Flags().StringVar(&symbol, "symbol", "", "the `SYMBOL` of files that name none")
	return c
}

// tiingo is where prices come from, if anyone asks for them.
const tiingo = "https://api.tiingo.com"

// fetchTimeout bounds one symbol's download.
const fetchTimeout = time.Minute

func (a *app) pricesFetchCommand() *cobra.Command {
	var from, url string
	c := &cobra.Command{
		Use:   "fetch SYMBOL...",
		Short: "Download daily prices with your own key",
		Long: `Fetch downloads daily prices from Tiingo. It is the only command that uses the network, and
only with a key of yours in the environment variable TIINGO_TOKEN.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, symbols []string) error {
			key := os.Getenv("TIINGO_TOKEN")
			if key == "" {
				return fmt.Errorf("there is no key: put yours into the environment variable TIINGO_TOKEN, or import files (portfolio prices import)")
			}
			begin, err := portfolio.ParseDate(from)
			if err != nil {
				return a.UsageError("--from: %w", err)
			}
			provider := fetch.Provider{URL: url, Key: key, Client: &http.Client{Timeout: fetchTimeout}}
			return a.with(cmd.Context(), func(s *answer.Service) error {
				return a.fetchPrices(cmd.Context(), s, provider, symbols, begin)
			})
		},
	}
	c.Flags().StringVar(&from, "from", "2020-01-01", "the first `DATE`")
	c.Flags().StringVar(&url, "url", tiingo, "the provider's `URL`")
	return c
}

func (a *app) fetchPrices(ctx context.Context, s *answer.Service, provider fetch.Provider, symbols []string, from portfolio.Date) error {
	all := make([]answer.Imported, 0, len(symbols))
	for _, symbol := range symbols {
		quotes, err := provider.Fetch(ctx, symbol, from, s.Day(portfolio.Date{}))
		var odd *fetch.SkippedError // some rows, beside which the others are good
		if err != nil && !errors.As(err, &odd) {
			return err
		}
		file := price.File{Quotes: quotes}
		if odd != nil {
			file.Skipped, file.More = odd.Rows, odd.More
		}
		result, err := s.ImportFetched(ctx, symbol, from, file)
		if err != nil {
			return err
		}
		all = append(all, result)
		if !a.JSON {
			a.sayImported(result, "price")
		}
	}
	if a.JSON {
		return command.WriteJSON(a.Out, all)
	}
	return nil
}
