package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/safetext"
)

// questionID is how the ledger names questions.
var questionID = regexp.MustCompile(`^Q-[0-9]{5,}$`)

var errNoQuestion = errors.New("ask takes a question: put it in quotes, or give - and it is read from standard input. At a terminal, without --json, ask alone is a chat")

// nearlyQuestionID is what is meant as one.
var nearlyQuestionID = regexp.MustCompile(`(?i)^q-?[0-9]+$`)

// questionIn returns the question in the arguments. Before it may stand the name of the one to go on
// from, if --continue has no value of its own.
func (q *asking) questionIn(args []string) (string, error) {
	if q.continues == api.LatestConversation && len(args) > 0 && questionID.MatchString(args[0]) {
		q.continues, args = args[0], args[1:]
	}
	meant := q.continues // the name, if it is none
	switch {
	case q.continues == api.LatestConversation && (len(args) == 2 || len(args) > 0 && nearlyQuestionID.MatchString(args[0])):
		meant = args[0]
	case q.continues == api.LatestConversation:
		meant = ""
	}
	if meant != "" && !questionID.MatchString(meant) {
		return "", fmt.Errorf("%s is no question's ID: one looks like Q-00001, and `signalbox ask --list` lists them. A question of several words is put in quotes", safetext.Escape(meant))
	}
	switch len(args) {
	case 0:
		return "", errNoQuestion
	case 1:
		return args[0], nil
	}
	return "", errors.New("ask takes one question: put it in quotes")
}

// readQuestion reads a question, and no more than can be asked.
func readQuestion(from io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(from, oracle.MaxQuestion+1))
	if err != nil {
		return "", fmt.Errorf("read the question from standard input: %w", err)
	}
	return string(text), nil
}

// talk says what a question is part of: what a recording says, or what the ledger has of the question
// that it continues.
func (b *ledgerBook) talk(ctx context.Context, q asking) (oracle.Talk, error) {
	if q.resume != "" {
		return q.talk, nil
	}
	t := oracle.Talk{User: q.user, Project: q.project}
	if q.continues == "" {
		return t, nil
	}
	x, err := b.exchange(ctx, q.continues)
	if err == nil {
		err = x.Continuable(q.user, q.project)
	}
	if err != nil {
		return t, err
	}
	return t.Goes(x.ID, exchange(x), func(id string) (oracle.Exchange, error) {
		x, err := b.exchange(ctx, id)
		if err == nil && x.Answer == nil {
			err = oracle.ErrNotKept
		}
		return exchange(x), err
	})
}

// exchange asks the ledger for an earlier question.
func (b *ledgerBook) exchange(ctx context.Context, id string) (x conversation.Exchange, err error) {
	err = b.keep(ctx, func(string) error {
		x, err = b.client.Exchange(ctx, id)
		return err
	})
	return x, err
}

// exchange is an earlier question as the oracle takes it.
func exchange(x conversation.Exchange) oracle.Exchange {
	e := oracle.Exchange{Question: x.Question, Continues: x.Continues, Cut: x.Cut}
	if x.Answer != nil {
		e.Answer = *x.Answer
	}
	return e
}
