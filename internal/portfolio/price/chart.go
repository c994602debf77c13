package price

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// chart is the part of Yahoo's chart JSON that has prices.
type chart struct {
	Chart *struct {
		Result []json.RawMessage // each read by itself: empty ones would take much memory at once
		Error  *struct{ Code, Description string }
	}
}

type chartResult struct {
	Meta struct {
		Symbol          string
		GMTOffset       int32
		DataGranularity string
	}
	Timestamp  []*int64
	Indicators struct {
		Quote    [1]struct{ Open, High, Low, Close []*float64 }
		AdjClose [1]struct{ AdjClose []*float64 }
	}
}

// readChart reads chart JSON.
func readChart(in *lines, symbol string) (File, error) {
	text, err := io.ReadAll(io.LimitReader(in.r, maxChart+1))
	switch {
	case err != nil:
		return File{}, err
	case len(text) > maxChart:
		return File{}, fmt.Errorf("%w: JSON of more than %d bytes", ErrTooLarge, maxChart)
	}
	var c chart
	if err := parseJSON(text, &c); err != nil {
		return File{}, err
	}
	switch {
	case c.Chart == nil:
		return File{}, fmt.Errorf("%w: it is JSON without Yahoo's chart; it begins with %.200q", ErrUnknownFormat, text)
	case c.Chart.Error != nil:
		return File{}, fmt.Errorf("the file is no chart but Yahoo's answer that there is none: %.200q", c.Chart.Error.Description)
	}
	rows := newCollector("entry")
	for _, text := range c.Chart.Result {
		var result chartResult
		if err := parseJSON(text, &result); err != nil {
			return File{}, err
		}
		if err := result.read(rows, symbol); err != nil {
			return File{}, err
		}
	}
	return rows.file("yahoo-chart"), nil
}

func parseJSON(text []byte, to any) error {
	err := json.Unmarshal(text, to)
	var misfit *json.UnmarshalTypeError
	switch {
	case errors.As(err, &misfit):
		return fmt.Errorf("%w: in the chart JSON %.60q can't be a JSON %.20s", ErrUnknownFormat, strings.ToLower(misfit.Field), misfit.Value)
	case err != nil:
		return fmt.Errorf("%w: the JSON is broken or not whole; download it again (%w)", ErrUnknownFormat, err)
	}
	return nil
}

// read gives the entries of a result to rows.
func (r chartResult) read(rows *collector, symbol string) error {
	if r.Meta.Symbol != "" {
		symbol = r.Meta.Symbol
	}
	symbol, err := ParseSymbol(symbol)
	if err != nil {
		return err
	}
	if g := r.Meta.DataGranularity; g != "" && g != "1d" {
		return fmt.Errorf("the chart has one price for each %.20q; only daily prices (1d) are read", g)
	}
	for i := range r.Timestamp {
		day, err := r.day(i)
		quote := Quote{Symbol: symbol}
		if err == nil {
			quote.Bar, err = r.bar(i, day)
		}
		if err != nil {
			rows.skip(i+1, symbol+" "+day.String(), err)
		} else if err := rows.add(i+1, quote); err != nil {
			return err
		}
	}
	return nil
}

// day is the day of an entry where its market is.
func (r chartResult) day(i int) (portfolio.Date, error) {
	if r.Timestamp[i] == nil {
		return portfolio.Date{}, errors.New("there is no time")
	}
	at, offset := time.Unix(*r.Timestamp[i], 0).UTC(), time.Duration(r.Meta.GMTOffset)*time.Second
	if at.Year() < 1800 || at.Year() > 9998 || offset.Abs() > 24*time.Hour {
		return portfolio.Date{}, fmt.Errorf("%d seconds from 1970 at %d from Greenwich is no time of a market", *r.Timestamp[i], r.Meta.GMTOffset)
	}
	return portfolio.DateOf(at.Add(offset)), nil
}

func (r chartResult) bar(i int, day portfolio.Date) (b Bar, err error) {
	quote := r.Indicators.Quote[0]
	b.Date = day
	for _, p := range []struct {
		name string
		to   *portfolio.Decimal
		from []*float64
	}{{"open", &b.Open, quote.Open}, {"high", &b.High, quote.High}, {"low", &b.Low, quote.Low}, {"close", &b.Close, quote.Close}} {
		if i >= len(p.from) || p.from[i] == nil {
			return b, fmt.Errorf("there is no %s", p.name)
		}
		if *p.to, err = decimal(*p.from[i]); err != nil {
			return b, fmt.Errorf("the %s %w", p.name, err)
		}
	}
	b.Adj = b.Close
	if adj := r.Indicators.AdjClose[0].AdjClose; adj != nil {
		if i >= len(adj) || adj[i] == nil {
			return b, errors.New("there is no adjusted close")
		}
		if b.Adj, err = decimal(*adj[i]); err != nil {
			return b, fmt.Errorf("the adjusted close %w", err)
		}
	}
	return b, b.check()
}

// decimal is the shortest number that a chart can have meant: it writes prices that were kept
// in 32 bits with the digits of 64, 23.450000762939453 for 23.45.
func decimal(f float64) (portfolio.Decimal, error) {
	bits := 64
	if float64(float32(f)) == f {
		bits = 32
	}
	return portfolio.ParseDecimal(strconv.FormatFloat(f, 'f', -1, bits))
}
