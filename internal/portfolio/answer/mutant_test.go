package answer

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of what is kept, dropped, is noticed.
func TestMutants(t *testing.T) {
	const limits = "../../../agentformat/limits.go"
	mutant.All(t, []mutant.Noticed{
		{By: "^TestSavedIsBounded$", Mutant: mutant.Mutant{Name: "any number of files is kept", File: limits, Old: "l.Files > 0 && len(files) >= l.Files ||", New: ""}},
		{By: "^TestSavedIsBounded$", Mutant: mutant.Mutant{Name: "who saves does not wait for others", File: "service.go", Old: "s.saving.Lock()\n\tdefer s.saving.Unlock()\n", New: ""}},
		{By: "^TestSavedIsBounded$", Mutant: mutant.Mutant{Name: "a file may have any size", File: limits, Old: "most > 0 && size > most", New: "most > 0 && size < 0"}},
		{By: "^TestImportTransactions$", Mutant: mutant.Mutant{Name: "a file is the same for another account", File: "import.go", Old: `fmt.Fprintf(hash, "\x00account %s", account)`, New: "_ = account"}},
		{By: "^TestImportPrices$", Mutant: mutant.Mutant{Name: "a file is the same for another symbol", File: "import.go", Old: `fmt.Fprintf(hash, "\x00symbol %s", symbol)`, New: ""}},
		{By: "^TestImportSkips$", Mutant: mutant.Mutant{Name: "a row without effect has to be looked at", File: "import.go", Old: "if !row.Known {", New: "if row.Line >= 0 {"}},
		{By: "^TestImportAccounts$", Mutant: mutant.Mutant{Name: "a file without accounts makes them forgotten", File: "import.go", Old: "n > 0 && len(file.Accounts) == 0", New: "n < 0"}},
		{By: "^TestImportComparesLots$", Mutant: mutant.Mutant{Name: "a broker's lots are not compared", File: "import.go", Old: "err == nil && len(file.Lots) > 0", New: "false"}},
		{By: "^TestUnreadUntilSettled$", Mutant: mutant.Mutant{Name: "a settled row stands in the way", File: "unread.go", Old: "if row.Settled.IsZero() {", New: "if row.ID > 0 {"}},
		{By: "^TestUnreadUntilSettled$", Mutant: mutant.Mutant{Name: "exit signals know of no unread row", File: "service.go", Old: "if state.Unread, err = s.Unread(ctx, state.AsOf); err != nil {\n\t\treturn nil", New: "if _, err = s.Unread(ctx, state.AsOf); err != nil {\n\t\treturn nil"}},
		{By: "^TestUnreadWithoutTicker$", Mutant: mutant.Mutant{Name: "a row counts again for a ticker that it may be of", File: "unread.go", Old: "row.Original = i + 1", New: "row.Original = 0 * i"}},
		{By: "^TestUnreadWithoutTicker$", Mutant: mutant.Mutant{Name: "a row counts again for what a ticker became", File: "unread.go", Old: "cmp.Or(row.Original, place+1)", New: "0 * place"}},
		{By: "^TestUnreadThatWasNotKept$", Mutant: mutant.Mutant{Name: "rows that were only counted are forgotten", File: "unread.go", Old: "if i.Unkept > 0 {", New: "if i.Unkept < 0 {"}},
		{By: "^TestImportKeepsUnreadRows$", Mutant: mutant.Mutant{Name: "an import keeps no row that it could not read", File: "import.go", Old: ", unreadRows(result.Skipped)...)", New: ")"}},
		{By: "^TestUnreadSpreads$", Mutant: mutant.Mutant{Name: "what became of a symbol is known", File: "unread.go", Old: "if len(became)+len(like) == 0 {", New: "if len(became) > 0 {"}},
		{By: "^TestUnreadSpreads$", Mutant: mutant.Mutant{Name: "what left a symbol before the row is not known", File: "unread.go", Old: "if !t.Date.Before(row.Date) {", New: "if t.Into != row.Symbol {"}},
		{By: "^TestUnreadOfTwins$", Mutant: mutant.Mutant{Name: "what was before a rename is known", File: "unread.go", Old: "if !row.Date.After(t.Date.Add(lots.WashDays)) {", New: "if !row.Date.After(t.Date.Add(-1)) {"}},
		{By: "^TestUnreadOfTwins$", Mutant: mutant.Mutant{Name: "a rename of long ago is one", File: "unread.go", Old: "if !row.Date.After(t.Date.Add(lots.WashDays)) {", New: "if t.Symbol != row.Symbol {"}},
		{By: "^TestUnreadOfTwins$", Mutant: mutant.Mutant{Name: "identical symbols are apart", File: "unread.go", Old: "for _, other := range like[symbol] {", New: "for _, other := range like[symbol][:0] {"}},
		{By: "^TestUnreadWithoutTicker$", Mutant: mutant.Mutant{Name: "a row without a ticker is of none", File: "unread.go", Old: "if len(unnamed) == 0 {", New: "if len(unnamed) > 0 {"}},
		{By: "^TestUnreadWithoutTicker$", Mutant: mutant.Mutant{Name: "exit signals take a row without a ticker for none of theirs", File: "service.go", Old: `return row.Symbol == "" }) {`, New: `return row.Line < 0 }) {`}},
		{By: "^TestUnreadWithoutTicker$", Mutant: mutant.Mutant{Name: "a row without a ticker is of what was bought later", File: "unread.go", Old: "!row.Date.Before(held.from) })", New: "true })"}},
		{By: "^TestUnreadWithoutTicker$", Mutant: mutant.Mutant{Name: "a row without a ticker is of what was sold long before", File: "unread.go", Old: "i >= 0 && !list[i].Date.After(held.until)", New: "i >= 0"}},
		{By: "^TestUnreadWithoutTicker$", Mutant: mutant.Mutant{Name: "a row without a ticker is not of shares whose cost nobody knows", File: "unread.go", Old: "if p.Quantity.Cmp(p.InLots) > 0 {", New: "if p.Quantity.Cmp(p.InLots) < 0 {"}},
		{By: "^TestUnreadWithoutTicker$", Mutant: mutant.Mutant{Name: "a row without a ticker is not of what was given away since", File: "unread.go", Old: "t.Action == portfolio.TransferOut {", New: "t.Action == portfolio.Split {"}},
		{By: "^TestActionsOfBrokers$", Mutant: mutant.Mutant{Name: "the parent of a spin-off has its old cost", File: "unread.go", Old: "if row.Symbol == \"\" && row.Account != \"\" && !row.Date.IsZero() {", New: "if row.Symbol == \"\" && row.Account == \"\" && !row.Date.IsZero() {"}},
		{By: "^TestActionsOfBrokers$", Mutant: mutant.Mutant{Name: "a list in full names no unread ticker", File: "../listing/listing.go", Old: "d.Unread = append(d.Unread, symbol)", New: "_ = symbol"}},
		{By: "^TestSkippedRow$", Mutant: mutant.Mutant{Name: "an unread row is of no account where the file names none", File: "unread.go", Old: "cmp.Or(row.Account, account)", New: "cmp.Or(row.Account, row.Account)"}},
		{By: "^TestSkippedRow$", Mutant: mutant.Mutant{Name: "a row without effect is kept as unread", File: "unread.go", Old: "if !row.Known {", New: "if row.Line >= 0 {"}},
	})
}
