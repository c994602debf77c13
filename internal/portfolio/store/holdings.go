package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
)

// A snapshot is what one account has on one day.
type snapshot struct{ account, asOf string }

// snapshots are the quantities by symbol. A symbol that is there twice, as with cash and margin,
// is added up. Where the file says no day, it is the day of the import.
func snapshots(file Import, holdings []broker.Holding) (map[snapshot]map[string]portfolio.Decimal, error) {
	quantities := map[snapshot]map[string]portfolio.Decimal{}
	for i, h := range holdings {
		if !storable(h.Account) || !storable(h.Symbol) {
			return nil, unfit("holding", i, file, errors.New("it has no account or symbol that can be printed"))
		}
		if h.AsOf.IsZero() {
			h.AsOf = portfolio.DateOf(file.At)
		}
		key := snapshot{h.Account, h.AsOf.String()}
		if _, err := portfolio.ParseDate(key.asOf); err != nil {
			return nil, unfit("holding", i, file, err)
		}
		if quantities[key] == nil {
			quantities[key] = map[string]portfolio.Decimal{}
		}
		sum := quantities[key][h.Symbol].Add(h.Quantity)
		if _, err := portfolio.ParseDecimal(sum.String()); err != nil {
			return nil, unfit("holding", i, file, err)
		}
		quantities[key][h.Symbol] = sum
	}
	return quantities, nil
}

func saveHoldings(ctx context.Context, tx *sql.Tx, quantities map[snapshot]map[string]portfolio.Decimal) error {
	for key, symbols := range quantities {
		if _, err := tx.ExecContext(ctx, "DELETE FROM holdings WHERE account = ? AND as_of = ?", key.account, key.asOf); err != nil {
			return err
		}
		for symbol, quantity := range symbols {
			_, err := tx.ExecContext(ctx, "INSERT INTO holdings (account, as_of, symbol, quantity) VALUES (?, ?, ?, ?)",
				key.account, key.asOf, symbol, quantity.String())
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Holdings are what each account has in its newest snapshot up to and on a day, by account and
// symbol.
func (s *Store) Holdings(ctx context.Context, upTo portfolio.Date) ([]broker.Holding, error) {
	var holdings []broker.Holding
	err := s.read(ctx, func(rows *sql.Rows) error {
		var h broker.Holding
		var quantity, asOf string
		if err := rows.Scan(&h.Account, &h.Symbol, &quantity, &asOf); err != nil {
			return err
		}
		if err := errors.Join(h.Quantity.UnmarshalText([]byte(quantity)), h.AsOf.UnmarshalText([]byte(asOf))); err != nil {
			return s.damaged(err)
		}
		holdings = append(holdings, h)
		return nil
	}, `SELECT account, symbol, quantity, as_of FROM holdings AS h WHERE as_of =
		(SELECT max(as_of) FROM holdings WHERE account = h.account AND as_of <= ?) ORDER BY account, symbol`, upTo.String())
	return holdings, err
}
