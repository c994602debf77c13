package broker

import (
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// An option is what a row says of one. Its symbol, or its description, tells the shares that it is
// for and which right it gives.
type option struct {
	underlying string
	call, put  bool
}

// sharesPerContract is what an option is for unless the file says otherwise.
const sharesPerContract = 100

// option is the option that a row is about, if it is about one.
func (e *entry) option() (option, bool) {
	if e.of != (option{}) {
		return e.of, true
	}
	o := option{underlying: e.symbol}
	if optionSymbol(e.symbol) {
		o = parseOption(e.symbol)
	} else if e.does != opens {
		return o, false
	}
	if !o.call && !o.put {
		o.call, o.put = rightOf(e.name)
	}
	return o, true
}

// optionSymbol tells whether a symbol is an option's: -SLV240119C22, SLV240119C00022000,
// SLV 01/19/2024 22.00 C.
func optionSymbol(s string) bool {
	if strings.HasPrefix(s, "-") && len(s) > 1 {
		return true
	}
	if len(s) >= len("A240119C00022000") {
		if o := parseOption(s); o.underlying != "" && (o.call || o.put) {
			return true
		}
	}
	return strings.ContainsAny(strings.TrimSpace(s), " \t") && strings.ContainsAny(s, "0123456789")
}

// parseOption reads the symbol of an option: the underlying's letters come first, and the right is
// the last word or the letter between the day and the strike.
func parseOption(s string) (o option) {
	s = strings.ToUpper(strings.TrimPrefix(s, "-"))
	n := 0
	for n < len(s) && (s[n] >= 'A' && s[n] <= 'Z' || s[n] == '.') {
		n++
	}
	o.underlying = s[:n]
	digits := 0
	for i := n; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
			continue
		case digits == len("240119") && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			o.call, o.put = o.call || c == 'C', o.put || c == 'P'
		}
		digits = 0
	}
	if !o.call && !o.put {
		switch word := s[strings.LastIndexAny(s, " \t")+1:]; word {
		case "C":
			o.call = true
		case "P":
			o.put = true
		default:
			o.call, o.put = rightOf(word)
		}
	}
	return o
}

// rightOf reads which right an option gives from the first word of its description.
func rightOf(text string) (call, put bool) {
	word, _, _ := strings.Cut(strings.TrimSpace(strings.ToUpper(text)), " ")
	return word == "CALL" || word == "CALLS", word == "PUT" || word == "PUTS"
}

// bookOption keeps a call that was bought: within 30 days of a loss it may take the loss away. Other
// options are not tracked, unless they brought or took shares.
func (r *reading) bookOption(e entry, o option) {
	contract := strings.Join(strings.Fields(e.contract), " ")
	if e.name != "" && !optionSymbol(e.contract) {
		contract = strings.Join(strings.Fields(e.name), " ")
	}
	e.symbol = portfolio.Symbol(o.underlying)
	switch {
	case e.does == other && e.why == assigned:
		r.doubt(e, assignedOption)
	case e.does != buys && e.does != opens, o.put:
		r.known(e.place, optionsRow)
	case !o.call || e.symbol == "":
		r.doubt(e, "it can't be told which option was bought; if it is a call, write it in canonical form, where SHARES is the shares that it is for: "+
			canonicalLine(e.date, e.account, portfolio.BuyCall, orWord(e.symbol, "SYMBOL"), "SHARES"))
	case e.quantity.Sign() < 0:
		r.doubt(e, cancelled)
	default:
		shares := e.perContract
		if shares.Sign() <= 0 {
			shares = portfolio.NewDecimal(sharesPerContract, 0)
		}
		r.add(e.place, portfolio.Transaction{
			Date: e.date, Time: e.time, Account: e.account, Action: portfolio.BuyCall, Symbol: e.symbol, Quantity: e.quantity.Mul(shares),
			Price: e.price.Abs(), Fees: e.fees.Abs(), Amount: e.amount.Abs(), Order: e.order, Note: note(contract),
		})
	}
}

// orWord is a text, or the word in capitals that stands for what the user has to find out.
func orWord(text, word string) string {
	if text == "" {
		return word
	}
	return text
}

const assignedOption = "an option was assigned or exercised: the shares that it brought or took have its premium in their price; take their row out of the file and import it anew (portfolio imports remove), write the row in canonical form with that price, and settle this one"
