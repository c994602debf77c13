// Package question tells what kind of question an oracle is asked, from its words
// and its form, without asking a model.
//
// A question is read as words, names, files and clauses (text.go, shape.go). Each
// line of the tables is a list of words and patterns (pattern.go) with the points
// that they give to classes: on the talk and the assistant (talk.go), on what is
// to be done (doing.go), on documents, source, the project and the world. A few
// rules of form (form.go) give points for what no list can say. The class with
// the most points is the answer. So a wrong class is mended by adding a word to a
// list, or a line to a table.
//
// The points come in five sizes, since the labeller's rules have an order:
//
//	60  a remark on the talk itself, which is conversational even as an order
//	40  a request to do, make or change something
//	24  a question about the assistant
//	 4 to 14  what a question is about, said outright: a document, an error text
//	 1 to 3  a word that points to a class
package question

import "slices"

// Class is what kind of question one is.
type Class string

// The classes.
const (
	Code           Class = "code"           // about source code or what it does
	Documentation  Class = "documentation"  // about what the project's documents say
	Research       Class = "research"       // about facts from beyond the project
	Conversational Class = "conversational" // about nothing that needs a tool
	Action         Class = "action"         // asks that something be done
)

// Classes returns all classes. Of classes with as many points the earlier is
// taken, so the order is from the more to the less particular.
func Classes() []Class {
	return []Class{Action, Code, Documentation, Conversational, Research}
}

// Result is the class of a question, with the points that led to it.
type Result struct {
	Class  Class
	Points Points
}

// Points are what speaks for each class, and may be below zero.
type Points struct {
	Code, Documentation, Research, Conversational, Action int
}

// Of returns the points of one class.
func (p Points) Of(c Class) int {
	switch c {
	case Code:
		return p.Code
	case Documentation:
		return p.Documentation
	case Research:
		return p.Research
	case Conversational:
		return p.Conversational
	case Action:
		return p.Action
	}
	return 0
}

func (p Points) plus(q Points) Points {
	return Points{
		Code:           p.Code + q.Code,
		Documentation:  p.Documentation + q.Documentation,
		Research:       p.Research + q.Research,
		Conversational: p.Conversational + q.Conversational,
		Action:         p.Action + q.Action,
	}
}

// MaxText is how many characters of a question are read. Whoever pastes a log
// says before it what they want.
const MaxText = 2000

// noHint is what a question begins with. One that gives no hint is taken for
// research: that class looks things up before it answers, whereas a conversational
// one would be answered from memory, and an action would change something that
// nobody asked to change.
var noHint = Points{Research: 3}

// Classify tells the class of a question. The same text has the same class always;
// any text has one, be it empty, endless or broken.
func Classify(text string) Result {
	t := read(text)
	if t.courtesy() {
		return Result{Conversational, Points{Conversational: pointsTalk}}
	}
	points := noHint.plus(tables().points(t))
	points = points.plus(form(t, points))
	if !t.asking() {
		points = points.plus(wishes().points(t))
	}
	best := slices.MaxFunc(Classes(), func(a, b Class) int { return points.Of(a) - points.Of(b) })
	return Result{best, points}
}
