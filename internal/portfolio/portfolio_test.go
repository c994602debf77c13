package portfolio_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

func bought(t testing.TB) portfolio.Transaction {
	return portfolio.Transaction{
		Date: date(t, "2024-03-01"), Account: "main", Action: portfolio.Buy, Symbol: "BRK/B",
		Quantity: decimal(t, "10"), Price: decimal(t, "12.345"), Fees: decimal(t, "1.05"), Note: "ümlauts are fine",
	}
}

// Each fault of a transaction is said, and what is right passes.
func TestTransactionCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*portfolio.Transaction)
		want   string // of the error; empty is none
	}{
		"right":                {func(*portfolio.Transaction) {}, ""},
		"no date":              {func(x *portfolio.Transaction) { x.Date = portfolio.Date{} }, "no date"},
		"no action":            {func(x *portfolio.Transaction) { x.Action = "" }, "action"},
		"action in small":      {func(x *portfolio.Transaction) { x.Action = "buy" }, `"buy" is unknown`},
		"a long action":        {func(x *portfolio.Transaction) { x.Action = portfolio.Action(strings.Repeat("x", 1000)) }, "is unknown"},
		"no account":           {func(x *portfolio.Transaction) { x.Account = "" }, "no account"},
		"account of 64":        {func(x *portfolio.Transaction) { x.Account = strings.Repeat("a", 64) }, ""},
		"account of 65":        {func(x *portfolio.Transaction) { x.Account = strings.Repeat("a", 65) }, "64 bytes"},
		"account with escape":  {func(x *portfolio.Transaction) { x.Account = "a\x1b[2J" }, "can't be printed"},
		"account not UTF-8":    {func(x *portfolio.Transaction) { x.Account = "a\xff" }, "can't be printed"},
		"account with blanks":  {func(x *portfolio.Transaction) { x.Account = "my IRA" }, ""},
		"no symbol":            {func(x *portfolio.Transaction) { x.Symbol = "" }, "no symbol"},
		"symbol with blank":    {func(x *portfolio.Transaction) { x.Symbol = "A B" }, "is no symbol"},
		"symbol as markup":     {func(x *portfolio.Transaction) { x.Symbol = "<b>" }, "is no symbol"},
		"symbol not ASCII":     {func(x *portfolio.Transaction) { x.Symbol = "Ä" }, "is no symbol"},
		"symbol of 32":         {func(x *portfolio.Transaction) { x.Symbol = strings.Repeat("A", 32) }, ""},
		"symbol of 33":         {func(x *portfolio.Transaction) { x.Symbol = strings.Repeat("A", 33) }, "is no symbol"},
		"symbol with dot":      {func(x *portfolio.Transaction) { x.Symbol = "BRK.B" }, ""},
		"an index":             {func(x *portfolio.Transaction) { x.Symbol = "^GSPC" }, ""},
		"note of 512":          {func(x *portfolio.Transaction) { x.Note = strings.Repeat("n", 512) }, ""},
		"note of 513":          {func(x *portfolio.Transaction) { x.Note = strings.Repeat("n", 513) }, "512 bytes"},
		"note of two lines":    {func(x *portfolio.Transaction) { x.Note = "a\nb" }, "can't be printed"},
		"note that turns":      {func(x *portfolio.Transaction) { x.Note = "a\u202eb" }, "can't be printed"},
		"note that isolates":   {func(x *portfolio.Transaction) { x.Note = "a\u2066b" }, "can't be printed"},
		"note with C1 control": {func(x *portfolio.Transaction) { x.Note = "a\u009bb" }, "can't be printed"},
		"note with delete":     {func(x *portfolio.Transaction) { x.Note = "a\x7f" }, "can't be printed"},
		"no quantity":          {func(x *portfolio.Transaction) { x.Quantity = portfolio.Decimal{} }, "quantity of a BUY"},
		"quantity below zero":  {func(x *portfolio.Transaction) { x.Quantity = x.Quantity.Neg() }, "not -10"},
		"split to nothing":     {func(x *portfolio.Transaction) { x.Action, x.Quantity = portfolio.Split, portfolio.Decimal{} }, "quantity of a SPLIT"},
		"dividend in cash":     {func(x *portfolio.Transaction) { x.Action, x.Quantity = portfolio.Dividend, portfolio.Decimal{} }, ""},
		"dividend below zero":  {func(x *portfolio.Transaction) { x.Action, x.Quantity = portfolio.Dividend, x.Quantity.Neg() }, "quantity of a DIVIDEND"},
		"price of nothing":     {func(x *portfolio.Transaction) { x.Price = portfolio.Decimal{} }, ""},
		"price below zero":     {func(x *portfolio.Transaction) { x.Price = x.Price.Neg() }, "price -12.345"},
		"amount below zero":    {func(x *portfolio.Transaction) { x.Amount = x.Price.Neg() }, "amount -12.345"},
		"a rebate, not a fee":  {func(x *portfolio.Transaction) { x.Fees = x.Fees.Neg() }, ""},
		"shares without a cost": {func(x *portfolio.Transaction) {
			x.Action, x.Price, x.Fees = portfolio.TransferIn, portfolio.Decimal{}, portfolio.Decimal{}
		}, ""},
	} {
		x := bought(t)
		c.change(&x)
		err := x.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	for _, action := range portfolio.Actions() {
		if err := decided(t, action).Check(); err != nil {
			t.Error(err)
		}
	}
}

// decided is a transaction that has what its action asks for.
func decided(t *testing.T, action portfolio.Action) portfolio.Transaction {
	t.Helper()
	x := bought(t)
	x.Action = action
	switch action {
	case portfolio.Spinoff:
		x.Into, x.Ratio, x.BasisShare = "NEW", decimal(t, "0.5"), decimal(t, "0.12")
	case portfolio.Rename:
		x.Into = "NEW"
	}
	return x
}

// What a company decides leads somewhere, and says all that the cost depends on.
func TestCheckInto(t *testing.T) {
	for name, c := range map[string]struct {
		action portfolio.Action
		change func(*portfolio.Transaction)
		want   string
	}{
		"a sale leads nowhere":         {portfolio.Sell, func(x *portfolio.Transaction) { x.Into = "NEW" }, "leads to no other symbol"},
		"nor has it a ratio":           {portfolio.Buy, func(x *portfolio.Transaction) { x.Ratio = x.Quantity }, "leads to no other symbol"},
		"a rename leads somewhere":     {portfolio.Rename, func(x *portfolio.Transaction) { x.Into = "" }, `not ""`},
		"to another":                   {portfolio.Rename, func(x *portfolio.Transaction) { x.Into = x.Symbol }, "to itself"},
		"share for share":              {portfolio.Rename, func(x *portfolio.Transaction) { x.Ratio = decimal(t, "2") }, "write a SPLIT of 2"},
		"a spin-off has a ratio":       {portfolio.Spinoff, func(x *portfolio.Transaction) { x.Ratio = portfolio.Decimal{} }, "ratio is how many"},
		"and a part of the cost":       {portfolio.Spinoff, func(x *portfolio.Transaction) { x.BasisShare = portfolio.Decimal{} }, "Form 8937"},
		"that is not all of it":        {portfolio.Spinoff, func(x *portfolio.Transaction) { x.BasisShare = decimal(t, "1") }, "Form 8937"},
		"a rename takes all":           {portfolio.Rename, func(x *portfolio.Transaction) { x.BasisShare = decimal(t, "0.1") }, "takes the whole cost along"},
		"a merger for cash":            {portfolio.Merger, func(*portfolio.Transaction) {}, ""},
		"a merger for shares and cash": {portfolio.Merger, func(x *portfolio.Transaction) { x.Into, x.Ratio = "NEW", decimal(t, "2") }, "into_price says what"},
		"what a new share was worth":   {portfolio.Merger, func(x *portfolio.Transaction) { x.Into, x.Ratio, x.IntoPrice = "NEW", decimal(t, "2"), decimal(t, "7") }, ""},
	} {
		x := decided(t, c.action)
		c.change(&x)
		if err := x.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// On one day shares are there before they leave, and a split comes before everything.
func TestActions(t *testing.T) {
	place := func(a portfolio.Action) int { return slices.Index(portfolio.Actions(), a) }
	for _, pair := range [][2]portfolio.Action{
		{portfolio.Split, portfolio.Buy}, {portfolio.Buy, portfolio.Sell}, {portfolio.Reinvest, portfolio.Sell},
		{portfolio.Buy, portfolio.TransferOut}, {portfolio.TransferOut, portfolio.TransferIn}, {portfolio.TransferIn, portfolio.Sell},
	} {
		if place(pair[0]) < 0 || place(pair[0]) >= place(pair[1]) {
			t.Errorf("%s is not before %s", pair[0], pair[1])
		}
	}
	portfolio.Actions()[0] = "changed"
	if portfolio.Actions()[0] != portfolio.Split {
		t.Error("the order can be changed from outside")
	}
}

// What a broker says was paid is right; quantity times price is the next best.
func TestCostAndProceeds(t *testing.T) {
	x := bought(t)
	if cost, proceeds := x.Cost().String(), x.Proceeds().String(); cost != "124.5" || proceeds != "122.4" {
		t.Errorf("%s, %s", cost, proceeds)
	}
	x.Amount = decimal(t, "124.49")
	if cost, proceeds := x.Cost().String(), x.Proceeds().String(); cost != "124.49" || proceeds != "124.49" {
		t.Errorf("%s, %s", cost, proceeds)
	}
}

func TestNamedLot(t *testing.T) {
	for note, want := range map[string]string{
		"lot:2024-03-01":                "2024-03-01",
		"sold early; lot:2024-03-01":    "2024-03-01",
		"(lot:2024-03-01), by phone.":   "2024-03-01",
		"fees;lot:2024-02-29.":          "2024-02-29",
		"lot:2024-03-01 lot:2024-04-01": "2024-03-01",
		"lot:unknown, lot:2024-03-01":   "2024-03-01",
		"":                              "",
		"lot:":                          "",
		"lot:2024-3-1":                  "",
		"lot:2024-03-011":               "",
		"lot:2023-02-29":                "",
		"lot: 2024-03-01":               "",
		"pilot:2024-03-01":              "",
		"lot:2024-03-0":                 "",
		"LOT:2024-03-01":                "",
		"2024-03-01":                    "",
		strings.Repeat("lot:", 100):     "",
		strings.Repeat("é", 100) + " lot:2024-01": "",
	} {
		got, ok := portfolio.Transaction{Note: note}.NamedLot()
		if got.String() != want || ok != (want != "") {
			t.Errorf("%.60q names %q, %t, want %q", note, got, ok, want)
		}
	}
}

func TestAccountCheck(t *testing.T) {
	if err := portfolio.Unlisted("main").Check(); err != nil {
		t.Error(err)
	}
	for _, kind := range []portfolio.Kind{portfolio.Taxable, portfolio.IRA, portfolio.Roth, portfolio.K401} {
		for _, method := range []portfolio.Method{portfolio.FIFO, portfolio.HIFO} {
			if err := (portfolio.Account{ID: "a", Kind: kind, Owner: "Ada", Method: method}).Check(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, c := range []struct {
		account portfolio.Account
		want    string
	}{
		{portfolio.Account{}, "an account's id"},
		{portfolio.Account{ID: strings.Repeat("a", 65)}, "an account's id"},
		{portfolio.Account{ID: "a\x1b"}, "an account's id"},
		{portfolio.Account{ID: "a", Kind: "hsa", Method: portfolio.FIFO}, `not "hsa"`},
		{portfolio.Account{ID: "a", Kind: portfolio.IRA, Method: "lifo"}, `not "lifo"`},
		{portfolio.Account{ID: "a", Kind: portfolio.IRA, Method: portfolio.FIFO, Owner: "a\nb"}, "the owner's name"},
		{portfolio.Account{ID: "a", Kind: portfolio.IRA, Method: portfolio.FIFO, Owner: strings.Repeat("a", 65)}, "the owner's name"},
	} {
		if err := c.account.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.account, err, c.want)
		}
	}
}
