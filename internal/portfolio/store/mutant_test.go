package store

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of what is known again, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^Test(UnreadRows|SettleUnread|RemoveImport.*|MigrateFromFirstSchema|KeyOfTransactions)$", []mutant.Mutant{
		{Name: "a row with a time is another than without", File: "lines.go", Old: "if strings.Count(line, \"\\t\") < transactionFields {", New: "if line != \"\" {"},
		{Name: "two companies spun off on a day are one row", File: "lines.go", Old: "symbol := into(line); symbol != \"\"", New: "symbol := into(line); symbol == \"?\""},
		{Name: "an unread row is kept for each file that has it", File: "unread.go", Old: "if len(stored[k]) == 0 {", New: "if len(stored[k]) >= 0 {"},
		{Name: "two unread rows that say the same are one", File: "unread.go", Old: "stored[k] = stored[k][1:]", New: ""},
		{Name: "a removed import leaves its unread rows", File: "imports.go", Old: "if err := removeUnread(ctx, tx, id); err != nil {", New: "if err := ctx.Err(); err != nil {"},
		{Name: "a removed import takes the rows of others", File: "unread.go", Old: "DELETE FROM unread_rows WHERE id NOT IN (SELECT unread FROM unread_sources)", New: "DELETE FROM unread_rows"},
		{Name: "an id is given again", File: "schema.go", Old: "INTEGER PRIMARY KEY AUTOINCREMENT", New: "INTEGER PRIMARY KEY"},
		{Name: "rows that were only counted are not told", File: "imports.go", Old: "max(0, unread - (", New: "min(0, unread - ("},
	}))
}
