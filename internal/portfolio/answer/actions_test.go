package answer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/listing"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
)

// A truth is what happened in an account, written by hand: what is held and what it cost, and what was
// realised. Then how the user writes the rows that the program could not read.
type truth struct {
	file, account string
	wrong         []string           // tickers of which the book is wrong before the user writes anything
	held          map[string]amounts // shares, cost
	sold          map[string]amounts // gain, disallowed
	long          map[string]float64 // the part of the gain that is long-term
	since         map[string]string  // the days on which what is held was bought
	omit          []string           // rows of the file that contain this are left out
	write         []string           // canonical rows that no message has
	fill          map[string][]string
	never         map[string]bool // what canonical rows can't tell
}

type amounts [2]float64

func (a amounts) near(b amounts) bool {
	const cent = 0.0051 // rows have cents
	return math.Abs(a[0]-b[0]) < cent && math.Abs(a[1]-b[1]) < cent
}

func readTruth(t *testing.T, path string) (tr truth) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tr = truth{held: map[string]amounts{}, sold: map[string]amounts{}, long: map[string]float64{}, since: map[string]string{}, fill: map[string][]string{}, never: map[string]bool{}}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		fields := strings.Fields(rest)
		switch word {
		case "", "#":
		case "file":
			tr.file = rest
		case "account":
			tr.account = rest
		case "wrong":
			tr.wrong = fields
		case "held":
			tr.held[fields[0]] = amounts{num(fields[1]), num(fields[2])}
		case "sold":
			tr.sold[fields[0]] = amounts{num(fields[1]), num(append(fields, "0")[2])}
		case "long":
			tr.long[fields[0]] = num(fields[1])
		case "since":
			tr.since[fields[0]] = strings.Join(fields[1:], " ")
		case "omit":
			tr.omit = append(tr.omit, rest)
		case "write":
			tr.write = append(tr.write, rest)
		case "fill":
			tr.fill[fields[0]] = fields[1:]
		case "never":
			tr.never[rest] = true
		default:
			t.Fatalf("%s: %q", path, lines.Text())
		}
	}
	return tr
}

// num is a number of JSON or of a text.
func num(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case string:
		f, err := strconv.ParseFloat(v, 64)
		if err == nil {
			return f
		}
	}
	return math.NaN()
}

// household is a service with the file's rows and a price for every symbol, at which all that is held has
// lost the half of its cost, after a long fall.
func household(t *testing.T, tr truth) *Service {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), filepath.Join(dir, "portfolio.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := &Service{Store: db, Logs: filepath.Join(dir, "logs"), AsOf: portfolio.NewDate(2026, 11, 13), Now: func() time.Time { return time.Date(2026, 11, 13, 9, 8, 7, 0, time.UTC) }}
	var quotes []price.Quote
	for _, symbol := range tr.symbols(nil) {
		last := 1.0
		if h, ok := tr.held[symbol]; ok && h[0] > 0 {
			last = h[1] / h[0] / 2
		}
		for i := range 400 {
			day := s.AsOf.Add(-i)
			if !price.Session(day) {
				continue
			}
			p := portfolio.NewDecimal(int64(last*1e6*(1+float64(i)/300)), -6)
			quotes = append(quotes, price.Quote{Symbol: symbol, Bar: price.Bar{Date: day, Open: p, High: p, Low: p, Close: p, Adj: p}})
		}
	}
	if _, err := db.ImportPrices(t.Context(), store.Import{Name: "p", Hash: [32]byte{2}}, quotes); err != nil {
		t.Fatal(err)
	}
	take(t, s, tr.file, brokerFile(t, tr.file))
	return s
}

func brokerFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "actions", name))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = os.ReadFile(filepath.Join("..", "broker", "testdata", name))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func take(t *testing.T, s *Service, name, text string) Imported {
	t.Helper()
	got, err := s.ImportTransactions(t.Context(), name, strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// symbols are all that the truth and somebody else know, and those that companies ended.
func (tr truth) symbols(others map[string]amounts) []string {
	all := map[string]bool{}
	for _, symbol := range []string{"CMCO", "SMCO", "MIXD", "OLDN", "FRXO", "KO", "RNSP"} {
		all[symbol] = true
	}
	for _, list := range []map[string]amounts{tr.held, tr.sold, others} {
		for symbol := range list {
			all[symbol] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// An examination holds the answers against the truth.
type examination struct {
	t      *testing.T
	s      *Service
	tr     truth
	wrong  map[string]bool // tickers of which the book is not the truth
	faults []string        // what is wrong and not flagged
	flags  map[string]bool // tickers that are flagged

	candidates, orders int // that were given
}

func (x *examination) fault(format string, args ...any) {
	x.faults = append(x.faults, fmt.Sprintf(format, args...))
}

func rowsOf(v any) (rows []map[string]any) {
	list, _ := v.([]any)
	for _, row := range list {
		if object, ok := row.(map[string]any); ok {
			rows = append(rows, object)
		}
	}
	return rows
}

func names(v any) map[string]bool {
	all := map[string]bool{}
	list, _ := v.([]any)
	for _, name := range list {
		all[fmt.Sprint(name)] = true
	}
	return all
}

// flagged tells whether an answer has a flag.
func flagged(answer map[string]any, name string) bool {
	return slices.ContainsFunc(rowsOf(answer["flags"]), func(f map[string]any) bool { return f["flag"] == name })
}

func examine(t *testing.T, s *Service, tr truth) *examination {
	t.Helper()
	x := &examination{t: t, s: s, tr: tr, wrong: map[string]bool{}, flags: map[string]bool{}}
	x.lists()
	x.harvests()
	x.exits()
	x.reports()
	return x
}

// terms looks, where the book is right, at what is long-term and since when shares are held.
func (x *examination) terms() {
	long, since := map[string]float64{}, map[string][]string{}
	for _, row := range rowsOf(body(x.t, x.s.ListGains(x.t.Context(), listing.Params{Format: reply.FormatFull}))["gains"]) {
		if row["term"] == "long" {
			long[row["symbol"].(string)] += num(row["gain"])
		}
	}
	for _, row := range rowsOf(body(x.t, x.s.ListPositions(x.t.Context(), listing.Params{Format: reply.FormatFull}))["lots"]) {
		symbol := row["symbol"].(string)
		if row["holding_since"] != row["acquired"] && num(row["deferred_loss_in_basis"]) == 0 {
			x.fault("%s is held since %v, and was bought on %v", symbol, row["holding_since"], row["acquired"])
		}
		since[symbol] = append(since[symbol], row["acquired"].(string))
	}
	for symbol, wrong := range x.wrong {
		if wrong {
			continue
		}
		if math.Abs(long[symbol]-x.tr.long[symbol]) > 0.0051 {
			x.fault("%v of the gain of %s is long-term", long[symbol], symbol)
		}
		if got := strings.Join(slices.Sorted(slices.Values(since[symbol])), " "); got != x.tr.since[symbol] {
			x.fault("%s was bought on %q, and not on %q", symbol, got, x.tr.since[symbol])
		}
	}
}

// reports looks at the report: its positions, its years and its list of rows.
func (x *examination) reports() {
	data, err := x.s.Report(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, row := range data.Unread {
		listed[row.Symbol] = true
	}
	for _, p := range data.Positions {
		if x.wrong[p.Symbol] && !p.Unread {
			x.fault("the report's position of %s is not marked", p.Symbol)
		}
	}
	for symbol, wrong := range x.wrong {
		if wrong && !listed[symbol] {
			x.fault("the report lists no row of %s", symbol)
		}
		if _, sold := x.tr.sold[symbol]; sold && wrong && (len(data.Gains) != 1 || !slices.Contains(data.Gains[0].Unread, symbol)) {
			x.fault("the report's year does not name %s: %+v", symbol, data.Gains)
		}
	}
}

// A list is what list_positions or list_gains says, in the names of its rows.
type list struct {
	name, rows   string
	keys         [2]string
	snapshotKeys [2]string
	truth        map[string]amounts
	ask          func(context.Context, listing.Params) reply.Reply
}

// lists finds out where the book is not the truth, and whether both lists say so in every format, for all
// and for one ticker.
func (x *examination) lists() {
	for _, l := range []list{
		{name: "positions", rows: "positions", keys: [2]string{"quantity", "basis"}, snapshotKeys: [2]string{"shares", "basis"}, truth: x.tr.held, ask: x.s.ListPositions},
		{name: "gains", rows: "gains", keys: [2]string{"gain", "disallowed"}, snapshotKeys: [2]string{"adjusted_gain", "disallowed"}, truth: x.tr.sold, ask: x.s.ListGains},
	} {
		for _, format := range []string{reply.FormatFull, reply.FormatSummary, reply.FormatAgent} {
			for _, symbol := range append([]string{""}, x.tr.symbols(nil)...) {
				x.list(l, format, symbol)
			}
		}
	}
}

func (x *examination) list(l list, format, only string) {
	answer := body(x.t, l.ask(x.t.Context(), listing.Params{Format: format, Symbol: only}))
	content, keys := answer, l.keys
	if format == reply.FormatAgent {
		content, keys = answer["snapshot"].(map[string]any), l.snapshotKeys
	}
	said, marked := map[string]amounts{}, map[string]bool{}
	for _, row := range rowsOf(content[l.rows]) {
		symbol := row["symbol"].(string)
		if row["account"] != x.tr.account {
			x.fault("%s: a row of account %v", l.name, row["account"])
		}
		second := num(row[keys[1]])
		if row[keys[1]] == nil {
			second = 0
		}
		first := num(row[keys[0]])
		if keys[0] == "adjusted_gain" {
			first -= second
		}
		a := said[symbol]
		said[symbol] = amounts{a[0] + first, a[1] + second}
		if row["unread_rows"] == true {
			marked[symbol] = true
		} else if marked[symbol] {
			x.fault("%s %s: some rows of %s are not marked", l.name, format, symbol)
		}
	}
	unread := names(content["unread_tickers"])
	for _, symbol := range x.tr.symbols(said) {
		_, rows := said[symbol]
		if only != "" && only != symbol || format == reply.FormatAgent && !rows && num(content[l.rows+"_omitted"]) > 0 {
			continue
		}
		right := said[symbol].near(l.truth[symbol])
		if format == reply.FormatFull {
			x.wrong[symbol] = x.wrong[symbol] || !right
			x.flags[symbol] = x.flags[symbol] || marked[symbol] || unread[symbol]
		}
		if right {
			continue
		}
		told := unread[symbol]
		if format == reply.FormatAgent {
			told = flagged(answer, reply.UnreadFlag)
		}
		if rows && !marked[symbol] || !told || format == reply.FormatSummary && !flagged(answer, reply.UnreadFlag) {
			x.fault("%s %s %q: %s is %v and not %v, without a flag", l.name, format, only, symbol, said[symbol], l.truth[symbol])
		}
	}
}

// harvests asks for losses: what is wrong is no candidate, and no position that is known.
func (x *examination) harvests() {
	wrong := slices.DeleteFunc(slices.Sorted(maps.Keys(x.wrong)), func(symbol string) bool { return !x.wrong[symbol] })
	known := 0
	for symbol, h := range x.tr.held {
		if h[0] > 0 && !x.wrong[symbol] && !x.flags[symbol] {
			known++
		}
	}
	for _, format := range []string{reply.FormatFull, reply.FormatSummary, reply.FormatReport, reply.FormatAgent} {
		answer := body(x.t, x.s.SuggestTaxLossHarvest(x.t.Context(), harvest.Params{Format: format}))
		if format == reply.FormatReport {
			text := answer["report"].(string)
			table, _, _ := strings.Cut(text, "## Rows that were not read")
			for _, symbol := range wrong {
				if strings.Contains(table, "| "+symbol+" |") {
					x.fault("the report has a row of %s:\n%s", symbol, table)
				}
				if !strings.Contains(text, symbol) {
					x.fault("the report does not say that rows of %s were not read", symbol)
				}
			}
			continue
		}
		content := answer
		if format == reply.FormatAgent {
			content = answer["snapshot"].(map[string]any)
		}
		if len(wrong) > 0 && format != reply.FormatFull && !flagged(answer, reply.UnreadFlag) {
			x.fault("harvest %s has no flag", format)
		}
		with := content["positions_with_lots"]
		if metadata, ok := content["metadata"].(map[string]any); ok {
			with = metadata["positions_with_lots"]
		}
		if num(with) != float64(known) {
			x.fault("harvest %s counts %v positions with lots, and %d are known", format, with, known)
		}
		unread := names(content["unread_tickers"])
		for _, symbol := range wrong {
			if !unread[symbol] && format == reply.FormatFull {
				x.fault("harvest %s does not name %s", format, symbol)
			}
		}
		offered := map[string]amounts{}
		for _, key := range []string{"candidates", "top_candidates", "lots", "wash_sale_warnings"} {
			for _, row := range rowsOf(content[key]) {
				symbol, _ := row["ticker"].(string)
				if x.wrong[symbol] || x.flags[symbol] {
					x.fault("harvest %s has %s among %s: %v", format, symbol, key, row)
				}
				if key == "candidates" && format == reply.FormatFull {
					x.candidates++
					a := offered[symbol]
					offered[symbol] = amounts{a[0] + num(row["quantity"]), a[1] + num(row["basis"])}
				}
			}
		}
		for symbol, a := range offered {
			if !a.near(x.tr.held[symbol]) {
				x.fault("harvest %s offers %v of %s, and %v are held", format, a, symbol, x.tr.held[symbol])
			}
		}
	}
}

// exits asks for exit signals of each ticker and of all: what is wrong has no orders.
func (x *examination) exits() {
	formats := []string{reply.FormatFull, reply.FormatSummary, reply.FormatAgent}
	for _, symbol := range x.tr.symbols(nil) {
		for _, format := range formats {
			answer := body(x.t, x.s.CheckExitSignals(x.t.Context(), exitsignal.Params{Ticker: symbol, Format: format}))
			content := answer
			if format == reply.FormatAgent {
				content = answer["snapshot"].(map[string]any)
			}
			if content["status"] == "error" || answer["status"] == "error" {
				if x.tr.held[symbol][0] > 0 && !x.wrong[symbol] {
					x.fault("exit %s of %s: %v", format, symbol, answer)
				}
				continue
			}
			x.exit(format, symbol, answer, content)
		}
	}
	for _, format := range formats {
		answer := body(x.t, x.s.CheckExitSignals(x.t.Context(), exitsignal.Params{Format: format}))
		if format != reply.FormatFull && slices.ContainsFunc(x.tr.wrong, func(symbol string) bool { return x.wrong[symbol] && x.tr.held[symbol][0] > 0 }) && !flagged(answer, reply.UnreadFlag) {
			x.fault("the survey %s has no flag: %v", format, answer["flags"])
		}
		if format == reply.FormatAgent {
			for _, row := range rowsOf(answer["snapshot"].(map[string]any)["exits"]) {
				symbol := row["ticker"].(string)
				if sells := num(row["sell_quantity"]) > 0 || len(rowsOf(row["accounts"])) > 0; sells && (x.wrong[symbol] || x.flags[symbol]) {
					x.fault("the survey has orders of %s: %v", symbol, row)
				}
			}
			continue
		}
		for _, row := range rowsOf(answer["results"]) {
			x.exit("survey "+format, row["ticker"].(string), row, row)
		}
	}
}

func (x *examination) exit(format, symbol string, answer, content map[string]any) {
	orders := len(rowsOf(content["recommended_actions"]))
	told := num(content["unread_row_count"]) > 0
	if _, has := answer["flags"]; has && told && !flagged(answer, reply.UnreadFlag) {
		x.fault("exit %s of %s has no flag: %v", format, symbol, answer["flags"])
	}
	switch {
	case x.wrong[symbol] && (!told || orders > 0 || content["trade_eligible"] == true || content["tax"] != nil || num(content["sell_quantity"]) > 0):
		x.fault("exit %s of %s, whose book is wrong: %v", format, symbol, content)
	case told:
		return
	}
	x.orders += orders
	if position, ok := content["position"].(map[string]any); ok {
		if got := num(position["held"]); math.Abs(got-x.tr.held[symbol][0]) > 1e-6 {
			x.fault("exit %s of %s: %v shares are held", format, symbol, got)
		}
	}
	tax, _ := content["tax"].(map[string]any)
	cost := amounts{}
	for _, lot := range rowsOf(tax["lots"]) {
		cost = amounts{cost[0] + num(lot["quantity"]), cost[1] + num(lot["basis"])}
	}
	if held := x.tr.held[symbol]; cost[0] == held[0] && !cost.near(held) {
		x.fault("exit %s of %s: the lots cost %v", format, symbol, cost)
	}
}

func eachTruth(t *testing.T, do func(*testing.T, truth)) {
	t.Helper()
	paths, err := filepath.Glob("testdata/actions/*.txt")
	if err != nil || len(paths) != 7 {
		t.Fatalf("%q, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { do(t, readTruth(t, path)) })
	}
}

// After the import of a broker's file with what companies decide, short sales and an assignment, no answer
// is wrong without a flag. Once the user has written what the messages ask for, all are right and none but
// the short sale is flagged.
func TestActionsOfBrokers(t *testing.T) {
	eachTruth(t, func(t *testing.T, tr truth) {
		s := household(t, tr)
		x := examine(t, s, tr)
		for _, f := range x.faults {
			t.Error(f)
		}
		for _, symbol := range tr.wrong {
			if !x.wrong[symbol] {
				t.Errorf("%s is right before the rows are written, so nothing is tested", symbol)
			}
		}
		settle(t, s, tr)
		x = examine(t, s, tr)
		x.terms()
		for _, f := range x.faults {
			t.Errorf("settled: %s", f)
		}
		for _, symbol := range tr.symbols(nil) {
			if x.wrong[symbol] != tr.never[symbol] || x.flags[symbol] != tr.never[symbol] {
				t.Errorf("settled: %s is wrong: %t, flagged: %t", symbol, x.wrong[symbol], x.flags[symbol])
			}
		}
		if x.candidates == 0 || x.orders == 0 {
			t.Errorf("settled: %d candidates, %d orders", x.candidates, x.orders)
		}
	})
}

// The examination notices what is settled and was not written, for each ticker that this makes wrong.
func TestActionsFalselySettled(t *testing.T) {
	eachTruth(t, func(t *testing.T, tr truth) {
		s := household(t, tr)
		before := examine(t, s, tr).wrong
		var ids []int64
		for _, row := range open(t, s) {
			ids = append(ids, row.ID)
		}
		if err := s.Store.Settle(t.Context(), s.Now(), ids...); err != nil {
			t.Fatal(err)
		}
		found := strings.Join(examine(t, s, tr).faults, "\n")
		for symbol, wrong := range before {
			if wrong && !strings.Contains(found, symbol) {
				t.Errorf("nobody notices %s", symbol)
			}
		}
	})
}

func open(t *testing.T, s *Service) []store.UnreadRow {
	t.Helper()
	rows, err := s.Store.Unread(t.Context(), s.AsOf)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(rows, func(row store.UnreadRow) bool { return !row.Settled.IsZero() })
}

// proposed is the line at the end of a message.
var proposed = regexp.MustCompile(`: (\d{4}-\d\d-\d\d,[^:]*)$`)

// settle does what the messages say: rows that are wrong are left out of the file, the lines of the
// messages are written with the figures that the user found, and the rows are settled.
func settle(t *testing.T, s *Service, tr truth) {
	t.Helper()
	if len(tr.omit) > 0 {
		imports, err := s.Store.Imports(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range imports {
			if i.Name == tr.file {
				if err := s.Store.RemoveImport(t.Context(), i.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		var kept strings.Builder
		left := 0
		for line := range strings.Lines(brokerFile(t, tr.file)) {
			if slices.ContainsFunc(tr.omit, func(part string) bool { return strings.Contains(line, part) }) {
				left++
				continue
			}
			kept.WriteString(line)
		}
		if left != len(tr.omit) {
			t.Fatalf("%d rows are left out, of %d", left, len(tr.omit))
		}
		take(t, s, tr.file, kept.String())
	}
	lines := map[string]bool{}
	var ids []int64
	for _, row := range open(t, s) {
		if tr.never[row.Symbol] {
			continue
		}
		ids = append(ids, row.ID)
		if found := proposed.FindStringSubmatch(row.Reason); found != nil {
			lines[filled(t, tr, found[1])] = true
		} else if strings.HasSuffix(row.Reason, "…") {
			t.Errorf("the message is cut: %s", row.Reason)
		}
	}
	text := "date,account,action,symbol,quantity,price,fees,note,order,ratio,basis_share,into,into_price\n" +
		strings.Join(append(slices.Sorted(maps.Keys(lines)), tr.write...), "\n") + "\n"
	if got := take(t, s, "mine.csv", text); len(got.Skipped) > 0 || got.Added != len(lines)+len(tr.write) || len(lines) != len(tr.fill) {
		t.Fatalf("%d lines, %+v of\n%s", len(lines), got, text)
	}
	if err := s.Store.Settle(t.Context(), s.Now(), ids...); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, row := range open(t, s) {
		left = append(left, row.Symbol)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(tr.never)), slices.Compact(left)); diff != "" {
		t.Error(diff)
	}
}

// filled is a proposed line with the figures that the user found out in the place of its words.
func filled(t *testing.T, tr truth, line string) string {
	t.Helper()
	fields := strings.Split(line, ",")
	for symbol, words := range tr.fill {
		if !slices.Contains(fields, symbol) {
			continue
		}
		for _, w := range words {
			word, figure, _ := strings.Cut(w, "=")
			at := slices.Index(fields, word)
			if at < 0 {
				t.Errorf("no %s in %q", word, line)
				continue
			}
			fields[at] = figure
		}
	}
	return strings.Join(fields, ",")
}
