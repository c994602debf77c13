package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// inboxView is what waits for a person, oldest first.
type inboxView struct {
	frame
	Waiting []waiting
	More    int // that are not shown
}

// How much of the inbox is shown, and how many reviews have their evidence there: each takes a look into the repository.
const (
	maxWaiting = 100
	maxShown   = 10
)

// waiting is a question, or a part in a task.
type waiting struct {
	api.Question
	Review  *reviewView // of what is to be reviewed
	Answers bool        // who looks at it may answer
	Title   string      // of the task; empty if it is not known
	Means   []choice    // the answers that mean something
	Typed   string      // an answer that was typed already
	At      string      // the view that it stands in, to come back to; empty in the inbox
}

// About is the address of the task that it is about; empty if it has no page.
func (w waiting) About() string {
	if w.Run == "" || w.Task == "" {
		return ""
	}
	return taskAddress(w.Run + "." + w.Task)
}

// Name is what it is called: a question has an id, and a part is called by its task.
func (w waiting) Name() string {
	if w.Asks() {
		return w.ID
	}
	return w.Work
}

// waitingOf makes of a question what a view shows of it.
func (p *Page) waitingOf(a asked, q api.Question, at string) waiting {
	w := waiting{Question: q, Answers: a.may(access.ToAnswer), Means: choicesOf(q), At: at}
	if about := w.About(); about != "" {
		if item, err := a.client.Work(a.Context(), q.Run+"."+q.Task); err == nil {
			w.Title = item.Title
		}
	}
	return w
}

// taskAddress is where a task's view is.
func taskAddress(work string) string { return "task?id=" + url.QueryEscape(work) }

// reviewView is what a person decides a review by.
type reviewView struct {
	api.Sight
	Run     string
	Title   string
	Since   time.Time // it waits; zero if that is not known
	Handoff api.Handoff
	Dev     string     // who claims that it is done
	Open    []openView // what was found before, and no other commit has answered
	Gate    *evidence.Gate
	Diff    shownDiff
	Problem string // why there is no more
	Typed   string // comments that were typed already
	Answers bool
	At      string // the view that it stands in, to come back to; empty in the inbox
}

// openView is what was found before and is open.
type openView struct {
	work.Statement
	Who  string
	Same bool // it is of the commit that is to be reviewed now
}

// OfMerge reports whether it is the merge that is reviewed.
func (e reviewView) OfMerge() bool { return e.Role == delivery.RoleMerge }

func (p *Page) inbox(w http.ResponseWriter, a asked) { p.showInbox(w, a, http.StatusOK, refused{}) }

// refused is a form that was not carried out.
type refused struct {
	problem string
	about   string // the question or the task
	typed   string
	review  bool // it was a review
}

// refuses says which form was refused, by what it is about, and why.
func refuses(about, problem, typed string) refused {
	if about != "" && !strings.Contains(problem, about) {
		problem = about + ": " + problem
	}
	return refused{problem: problem, about: about, typed: typed}
}

func (p *Page) showInbox(w http.ResponseWriter, a asked, status int, why refused) {
	v := inboxView{frame: p.framed(a, "Inbox", "inbox", topicInbox)}
	if a.Method == http.MethodPost {
		v.Here = "./"
	}
	if a.URL.Query().Get("part") == "waits" && a.Method == http.MethodGet {
		p.show(w, a.Request, status, "waits-part", v)
		return
	}
	questions, err := a.client.Questions(a.Context())
	if err != nil {
		p.fail(w, a.Request, http.StatusServiceUnavailable, err)
		return
	}
	v.More = max(0, len(questions)-maxWaiting)
	reviews, kept := 0, false
	for _, q := range questions[:len(questions)-v.More] {
		item := waiting{Question: q}
		if q.Kind == string(delivery.PartReview) && reviews < maxShown {
			reviews++
			item.Review = p.evidence(a, q, "")
			if q.Work == why.about {
				item.Review.Typed, kept = why.typed, true
			}
		} else if item = p.waitingOf(a, q, ""); q.Asks() && q.ID == why.about {
			item.Typed, kept = why.typed, true
		}
		v.Waiting = append(v.Waiting, item)
	}
	v.Problem = why.problem
	if !kept {
		v.Typed = why.typed
	}
	if a.URL.Query().Get("part") == "inbox" && a.Method == http.MethodGet {
		p.show(w, a.Request, status, "inbox-list", v)
		return
	}
	p.show(w, a.Request, status, "inbox.html", v)
}

// evidence finds what a person decides a review by. What can't be found is said, and nothing is decided without it.
func (p *Page) evidence(a asked, q api.Question, at string) *reviewView {
	name := q.Work
	run, _, _ := strings.Cut(name, ".")
	e := &reviewView{Answers: a.may(access.ToAnswer), Run: run, Since: q.AskedAt, At: at}
	e.Work = name
	fail := func(err error) *reviewView {
		e.Problem = err.Error()
		return e
	}
	item, err := a.client.Work(a.Context(), name)
	if err != nil {
		return fail(err)
	}
	e.Title, e.Handoff = item.Title, item.Handoff
	if e.Sight, err = a.client.Sight(a.Context(), name); err != nil {
		e.Work = name
		return fail(err)
	}
	card := p.card(a.Context(), a.client, item, api.Run{ID: run}, p.o.Box.UpTo(), never)
	if card.Problem != "" {
		return fail(errors.New(card.Problem))
	}
	e.judge(card, a.who.Name)
	if e.Diff, err = p.diffs.of(a.Context(), e.Sight, p.o.Box.Diff); err != nil {
		return fail(err)
	}
	return e
}

// judge takes from a task's card what the gate said, and what was found and is open: the gate finds that nothing was changed, and that
// answers nobody else.
func (e *reviewView) judge(card cardView, name string) {
	if g := card.LastGate(); g != nil && (e.Handoff.Claim == nil || g.Sequence > e.Handoff.Claim.Sequence) {
		e.Gate = g
	}
	if c := e.Handoff.Claim; c != nil {
		e.Dev = card.Claimant(*c)
	}
	for _, f := range card.Findings {
		if f.AnsweredBy != "" || f.By == work.GateActor {
			continue
		}
		who := f.By
		if f.By == work.ClientPrefix+name {
			who = "you"
		}
		e.Open = append(e.Open, openView{f.Statement, who, f.Commit != "" && f.Commit == e.Commit})
	}
	if last := e.Handoff.Findings; last != nil && !slices.ContainsFunc(e.Open, func(o openView) bool { return o.Sequence == last.Sequence }) {
		e.Open = append(e.Open, openView{*last, last.By, false})
	}
}

// answer answers the question that a form names.
func (p *Page) answer(w http.ResponseWriter, a asked) {
	id, text := a.PostForm.Get("question"), strings.TrimSpace(a.PostForm.Get("text"))
	choice := a.PostForm.Get("choice")
	questions, err := a.client.Questions(a.Context())
	if err != nil {
		p.fail(w, a.Request, http.StatusServiceUnavailable, err)
		return
	}
	i := slices.IndexFunc(questions, func(q api.Question) bool { return q.ID == id })
	refuse := func(status int, problem string) { p.refuse(w, a, status, refuses(id, problem, text)) }
	switch {
	case !a.may(access.ToAnswer):
		refuse(http.StatusForbidden, scopeNeeded(access.Answer))
		return
	case i < 0:
		refuse(http.StatusConflict, id+" does not wait for an answer any more: somebody has answered it, or it was given up. Nothing was recorded.")
		return
	case text == "" && choice == "":
		refuse(http.StatusBadRequest, "say something, or choose an answer")
		return
	case choice != "" && !slices.Contains(questions[i].Choices, choice):
		refuse(http.StatusBadRequest, "that is none of the answers to "+id)
		return
	}
	said := text
	if choice != "" {
		said = choice
	}
	if err = questions[i].Fits(said); err == nil {
		_, err = a.client.Answer(a.Context(), id, api.Answer{Choice: choice, Text: text})
	}
	if err != nil {
		refuse(statusOf(err), err.Error())
		return
	}
	if said == delivery.ChooseCancel && questions[i].Task != "" {
		done(w, a.Request, a.back(), "gaveup", questions[i].Task)
		return
	}
	done(w, a.Request, a.back(), "answered", id)
}

// back is where a form was sent from: the view of a task, or else the inbox.
func (a asked) back() string {
	if at := a.PostForm.Get("at"); at != "" {
		return taskAddress(at)
	}
	return "./"
}

// refuse shows where a form was sent from once more, and why it was not carried out.
func (p *Page) refuse(w http.ResponseWriter, a asked, status int, why refused) {
	if at := a.PostForm.Get("at"); at != "" {
		p.showTask(w, a, at, status, why)
		return
	}
	p.showInbox(w, a, status, why)
}

// review accepts what a form names, or sends it back. It is about the commit that the form was made for, and about no other.
func (p *Page) review(w http.ResponseWriter, a asked) {
	f := a.PostForm
	name, typed := f.Get("work"), strings.TrimSpace(f.Get("comments"))
	v := api.Verdict{Accept: f.Get("verdict") == "accept", Role: agentsig.Role(f.Get("role")), Commit: f.Get("commit"), Tree: f.Get("tree"), Base: f.Get("base")}
	refuse := func(status int, problem string) {
		why := refuses(name, problem, typed)
		why.review = true
		p.refuse(w, a, status, why)
	}
	switch verdict := f.Get("verdict"); {
	case !a.may(access.ToAnswer):
		refuse(http.StatusForbidden, scopeNeeded(access.Answer))
		return
	case verdict != "accept" && verdict != "back":
		refuse(http.StatusBadRequest, "accept it, or send it back")
		return
	case v.Accept && typed != "":
		refuse(http.StatusBadRequest, "there are comments, and what is accepted has none: send it back, or take them out")
		return
	case !v.Accept && typed == "":
		refuse(http.StatusBadRequest, "say what has to be changed")
		return
	case v.Accept && f.Get("unseen") != "on":
		if shown := p.evidence(a, api.Question{Work: name}, ""); shown.Problem == "" && shown.Commit == v.Commit && len(shown.Diff.Unseen) > 0 {
			refuse(http.StatusConflict, "a part of "+name+" is not shown here: look at it elsewhere, and say that you have")
			return
		}
	}
	if !v.Accept {
		v.Comments = strings.Split(typed, "\n")
	}
	if _, err := a.client.Review(a.Context(), name, v); err != nil {
		refuse(statusOf(err), err.Error()+". Nothing was recorded.")
		return
	}
	if v.Accept {
		done(w, a.Request, a.back(), "accepted", name)
		return
	}
	done(w, a.Request, a.back(), "back", name)
}

// statusOf is how a refusal of the box's is answered.
func statusOf(err error) int {
	var p *api.Problem
	if !errors.As(err, &p) {
		return http.StatusServiceUnavailable
	}
	switch p.Code {
	case api.CodeInvalid:
		return http.StatusBadRequest
	case api.CodeForbidden:
		return http.StatusForbidden
	case api.CodeUnauthorized:
		return http.StatusUnauthorized
	case api.CodeConflict, api.CodeHeld, api.CodeNotFound, api.CodeGone:
		return http.StatusConflict
	}
	return http.StatusServiceUnavailable
}
