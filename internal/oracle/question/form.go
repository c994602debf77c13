package question

import (
	"slices"
	"strings"
)

// form gives points for what a question is like, rather than for what it says.
func form(q *question, about Points) Points {
	var p Points
	if len(q.words) == 0 {
		return p
	}
	for _, m := range marks {
		if strings.Contains(q.text, m) {
			p.Code += 3
		}
	}
	p.Code = min(p.Code, 6)
	// How to do something with the project is in its documents, whatever part of
	// it is named; how to mend what is broken is in its source.
	if about.Code > 2 && p.Code == 0 && q.instructs() {
		p.Documentation += about.Code
	}
	if strings.Count(q.text, `"`) > 1 {
		p.Code++ // a text that is quoted is often an error's
	}
	if q.empty() {
		p.Conversational += 6
	}
	if q.asking() {
		if p.Code == 0 && about.Code > about.Documentation && !q.anchored() {
			p.Research += 2
		}
		return p
	}
	if q.laughs() {
		p.Conversational += 12
	}
	if q.remarks() {
		p.Conversational += 10
	}
	if slices.ContainsFunc(q.words, func(w word) bool { return w.head && speakers[w.text] }) {
		p.Conversational += 10
	}
	if thankful[q.words[0].text] {
		p.Conversational += 16
	}
	if q.begs {
		p.Action += 8
	}
	if q.polite {
		p.Conversational += 4
	}
	if len(q.words) < 6 {
		p.Conversational += 2
	}
	if q.shouts {
		p.Conversational += 2
	}
	return p
}

// instructs reports whether a question asks how one does something, other than
// mending.
func (q *question) instructs() bool {
	for i, w := range q.words {
		if !w.head || w.text != "how" || i+3 >= len(q.words) {
			continue
		}
		verb := i + 2
		if q.words[i+1].text != "to" {
			verb++
			if !canOne[q.words[i+1].text] || !anyone[q.words[i+2].text] {
				continue
			}
		}
		if !mending[q.words[verb].text] {
			return true
		}
	}
	return false
}

var (
	canOne  = set(`do does can could should would might must`)
	anyone  = set(`i you one someone users people contributors developers`)
	mending = set(`
	fix solve resolve avoid prevent stop debug know tell find get work understand interpret read handle explain
	reproduce`)
)

// anchored reports whether a question is about something that the asker has at
// hand. One that is not is about programs in general.
func (q *question) anchored() bool {
	return slices.ContainsFunc(q.words, func(w word) bool { return anchors[w.text] || w.kind.technical() })
}

var anchors = set(`the our we us this that these those my it its here i`)

// laughs reports whether a text has a face or a laugh in it.
func (q *question) laughs() bool {
	return slices.ContainsFunc(faces, func(s string) bool { return strings.Contains(q.text, s) })
}

var faces = []string{
	":)", ":-)", ":(", ":-(", ";)", ";-)", ":D", ":P", "😀", "😂", "😅", "😊", "😉", "🙂", "🙃", "👍", "🙏", "❤", "🎉",
	"haha", "hehe", " lol", "lmao",
}

// remarks reports whether a text states something that is neither a fault nor a
// want. Who tells a program's fault wants to know its cause.
func (q *question) remarks() bool {
	states := false
	for _, w := range q.words {
		if faults[w.text] || faults[w.singular] || w.kind.technical() {
			return false
		}
		states = states || finite[w.text]
	}
	return states
}

var (
	finite = set(`
	is are am was were has had will would did does went got made took came said thinks likes hates loves ruined
	deserves never always`)
	faults = set(`
	fail failed failing failure error crash crashed broke broken break hang hung panic exception wrong segfault
	undefined not no but complain complaining say throw return leak timeout slow expected instead need want
	looking missing stale stuck denied refused should must`)
)

// empty reports whether a question is about nothing that has a name. It is about
// the talk then.
func (q *question) empty() bool {
	return !slices.ContainsFunc(q.words, func(w word) bool { return !pointing[w.text] })
}

// pointing are words that point to what others name.
var pointing = set(`
	i you he she it we they me him her us them my your his our their mine yours this that these those is are am
	was were be been being do does did done doing have has had can could will would shall should may might must
	not no yes so too very all any some much many more most less few what who why how when where which if then
	than as and or but of to in on at by for from with about again here there now ever never still already even
	else one ones other thing things anything everything something nothing mean meant say said saying know knew
	think thought see saw get got go going gone went make made sure right ok okay good bad better like want tell
	told ask asked answer talk talking come came let up out off away back down over well maybe just only`)

var speakers = set(`
	i we you it that this he she they my your there nothing nobody everybody everyone people someone`)

var thankful = set(`thanks thank thx cheers congratulations congrats sorry welcome happy`)

// askers begin questions.
var askers = set(`
	what where who whom whose which when why how is are am was were do does did can could should would will
	shall may might must has have had any`)

// wonders ask without the form of a question.
var wonders = set(`wonder wondering curious whether puzzled unsure figure`)

// wonderPairs do as well.
var wonderPairs = map[[2]string]bool{
	{"to", "understand"}: true, {"not", "understand"}: true, {"to", "know"}: true, {"looking", "for"}: true,
	{"not", "sure"}: true, {"no", "idea"}: true, {"not", "find"}: true, {"not", "see"}: true,
}

// asking reports whether a question has the form of one, or that of an order to
// tell something.
func (q *question) asking() bool {
	if q.asks {
		return true
	}
	before := ""
	for i, w := range q.words {
		if w.text == "what" && i+1 < len(q.words) && (q.words[i+1].text == "a" || q.words[i+1].text == "an") {
			continue // what a day
		}
		if w.head && (askers[w.text] || tellingVerbs[w.text]) || wonders[w.text] || wonderPairs[[2]string{before, w.text}] {
			return true
		}
		before = w.text
	}
	return false
}

// set makes a set of the words of a text.
func set(text string) map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		words[w] = true
	}
	return words
}
