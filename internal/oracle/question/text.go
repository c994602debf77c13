package question

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a word looks like, apart from what it says.
type kind uint8

const (
	isPlain    kind = iota
	isName          // parseHeader, archived_at, Store.Get, main(), `x`
	isSource        // validators.py, Makefile
	isDocument      // SPEC.md, docs/install
	isPath          // feature/old-ui, /etc/hosts
	isFlag          // --verbose
	isNumber        // 42, 2.4.0, 20%
	isAddress       // https://go.dev
	isProper        // Denmark, where no sentence begins
)

// technical reports whether nobody but those who work with programs writes so.
func (k kind) technical() bool { return isName <= k && k <= isFlag }

// word is one word of a question.
type word struct {
	text     string // in lower case, a contraction being two words
	singular string // without the ending of a plural or a verb; text if it has none
	stem     string // without -es, as in classes; text if it has none
	kind     kind
	head     bool // a clause begins with it, but for openers such as "ok so" and "could you"
	sentence int
}

// question is a text that has been read.
type question struct {
	text   string // the part that is read
	words  []word // without courtesy before the request
	polite bool   // some words were courtesy
	asks   bool   // a clause of it ends with a question mark
	begs   bool   // it says please
	shouts bool   // a clause of it ends with an exclamation mark
}

// courtesy reports whether a question says nothing but hello, thanks or yes.
func (q *question) courtesy() bool { return q.polite && len(q.words) == 0 }

// read reads the words of a text, clause by clause.
func read(text string) *question {
	q := &question{text: cut(text)}
	var clause []word
	sentence := 0
	first := true // of a sentence
	for _, line := range strings.FieldsFunc(q.text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		for chunk := range strings.FieldsSeq(line) {
			core, end := trim(chunk)
			q.begs = q.begs || strings.EqualFold(core, "please")
			clause = appendWords(clause, core, sentence, first)
			first = first && core == ""
			if end == 0 {
				continue
			}
			q.asks = q.asks || end == '?'
			q.shouts = q.shouts || end == '!'
			q.add(clause)
			clause = clause[:0]
			if end != ',' {
				sentence++
				first = true
			}
		}
		q.add(clause)
		clause = clause[:0]
		sentence++
		first = true
	}
	return q
}

// add adds a clause, unless it is courtesy.
func (q *question) add(clause []word) {
	if len(clause) == 0 {
		return
	}
	if onlyCourtesy(clause) {
		q.polite = true
		return
	}
	clause[0].head = true
	i := 0
	for ; i+1 < len(clause) && openers[clause[i].text]; i++ {
		clause[i+1].head = true
	}
	if i+2 < len(clause) && wills[clause[i].text] && helpers[clause[i+1].text] {
		clause[i+2].head = true
	}
	q.words = append(q.words, clause...)
}

func onlyCourtesy(clause []word) bool {
	greets := false
	for _, w := range clause {
		greets = greets || greetings[w.text]
		if w.kind != isPlain && w.kind != isProper || !greetings[w.text] && !besideGreetings[w.text] {
			return false
		}
	}
	return greets
}

// cut returns the first characters of a text, broken ones replaced.
func cut(text string) string {
	n := 0
	for i := range text {
		if n++; n > MaxText {
			text = text[:i]
			break
		}
	}
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

const (
	quotes  = "\"'“”‘’«»*_"
	closers = ",.?!;:…—–"
)

// trim takes quotes, brackets and punctuation off a chunk of text without blanks,
// and returns what ends a clause there, or 0.
func trim(chunk string) (core string, end rune) {
	core = strings.TrimLeft(chunk, quotes+"([{<")
	for core != "" {
		r, size := utf8.DecodeLastRuneInString(core)
		switch {
		case strings.ContainsRune(closers, r):
			if end == 0 || end == ',' || r == '?' {
				end = r
			}
		case r == ')' && strings.HasSuffix(core, "()"):
			return core, end
		case !strings.ContainsRune(quotes+")]}>", r):
			return core, end
		}
		core = core[:len(core)-size]
	}
	if chunk == "-" || chunk == "--" {
		end = ';'
	}
	return core, end
}

// appendWords adds the words of a chunk: one for a name or a file, and otherwise
// each part of half-life or can't.
func appendWords(words []word, core string, sentence int, first bool) []word {
	if core == "" {
		return words
	}
	k := look(core)
	if k != isPlain {
		return append(words, newWord(strings.ToLower(core), k, sentence))
	}
	lower := strings.ReplaceAll(strings.ToLower(core), "’", "'")
	if !first && capitalised(core) && !tables().knows(lower) {
		k = isProper
	}
	for part := range strings.FieldsFuncSeq(lower, func(r rune) bool { return r == '-' || r == '/' || r == '(' || r == ')' }) {
		for _, p := range expand(part) {
			if p != "" && !fillers[p] {
				words = append(words, newWord(p, k, sentence))
			}
		}
	}
	return words
}

// capitalised reports whether a word begins with a capital letter and goes on with
// a small one, as proper names do and abbreviations do not.
func capitalised(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	next, _ := utf8.DecodeRuneInString(s[size:])
	return unicode.IsUpper(r) && unicode.IsLower(next)
}

// newWord makes a word, also without its ending if that is an s. No other ending is
// taken off: the tables are easier to extend when they match what they say.
func newWord(text string, k kind, sentence int) word {
	w := word{text: text, singular: text, stem: text, kind: k, sentence: sentence}
	if n := len(text); n > 3 && text[n-1] == 's' && text[n-2] != 's' {
		w.singular = text[:n-1]
		switch {
		case strings.HasSuffix(text, "ies"):
			w.stem = text[:n-3] + "y"
		case n > 5 && strings.HasSuffix(text, "es"):
			w.stem = text[:n-2]
		}
	}
	return w
}

// expand makes two words of a contraction, and takes the ending off a genitive.
func expand(s string) [2]string {
	if two, ok := contractions[s]; ok {
		return two
	}
	i := strings.IndexByte(s, '\'')
	if i < 0 {
		return [2]string{s}
	}
	base, ending := s[:i], s[i+1:]
	switch ending {
	case "m":
		return [2]string{base, "am"}
	case "re":
		return [2]string{base, "are"}
	case "ve":
		return [2]string{base, "have"}
	case "ll":
		return [2]string{base, "will"}
	case "d":
		return [2]string{base, "would"}
	case "t":
		return [2]string{strings.TrimSuffix(base, "n"), "not"}
	}
	return [2]string{base}
}
