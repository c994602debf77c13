package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
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
}

// reviewView is what a person decides a review by.
type reviewView struct {
	api.Sight
	Title   string
	Handoff api.Handoff
	Gate    string // what the gate said last of it
	Diff    shownDiff
	Problem string // why there is no more
	Typed   string // comments that were typed already
	Answers bool
}

// OfMerge reports whether it is the merge that is reviewed.
func (e reviewView) OfMerge() bool { return e.Role == delivery.RoleMerge }

func (p *Page) inbox(w http.ResponseWriter, a asked) { p.showInbox(w, a, http.StatusOK, refused{}) }

// refused is a form that was not carried out.
type refused struct {
	problem string
	about   string // the question or the task
	typed   string
}

func (p *Page) showInbox(w http.ResponseWriter, a asked, status int, why refused) {
	v := inboxView{frame: p.framed(a, "Inbox", "inbox", topicInbox)}
	if a.Method == http.MethodPost {
		v.Here = "./"
	}
	questions, err := a.client.Questions(a.Context())
	if err != nil {
		p.fail(w, a.Request, http.StatusServiceUnavailable, err)
		return
	}
	v.More = max(0, len(questions)-maxWaiting)
	reviews, kept := 0, false
	for _, q := range questions[:len(questions)-v.More] {
		item := waiting{Question: q, Answers: v.Answers}
		if q.Kind == string(delivery.PartReview) && reviews < maxShown {
			reviews++
			item.Review = p.evidence(a, q.Work)
			if q.Work == why.about {
				item.Review.Typed, kept = why.typed, true
			}
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
func (p *Page) evidence(a asked, name string) *reviewView {
	e := &reviewView{Answers: a.may(access.ToAnswer)}
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
	happened, err := p.pastOf(a.Context(), a.client, name, p.o.Box.UpTo())
	if err != nil {
		return fail(err)
	}
	e.Gate = happened.gateWords(item.Claim)
	if e.Diff, err = p.diffs.of(a.Context(), e.Sight, p.o.Box.Diff); err != nil {
		return fail(err)
	}
	return e
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
	refuse := func(status int, problem string) { p.showInbox(w, a, status, refused{problem, id, text}) }
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
	done(w, a.Request, "./", "answered", id)
}

// review accepts what a form names, or sends it back. It is about the commit that the form was made for, and about no other.
func (p *Page) review(w http.ResponseWriter, a asked) {
	f := a.PostForm
	name, typed := f.Get("work"), strings.TrimSpace(f.Get("comments"))
	v := api.Verdict{Accept: f.Get("verdict") == "accept", Role: agentsig.Role(f.Get("role")), Commit: f.Get("commit"), Tree: f.Get("tree"), Base: f.Get("base")}
	refuse := func(status int, problem string) { p.showInbox(w, a, status, refused{problem, name, typed}) }
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
		if shown := p.evidence(a, name); shown.Problem == "" && shown.Commit == v.Commit && len(shown.Diff.Unseen) > 0 {
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
		done(w, a.Request, "./", "accepted", name)
		return
	}
	done(w, a.Request, "./", "back", name)
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
