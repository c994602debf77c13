package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/oracle"
	"github.com/signalbox-dev/signalbox/internal/service"
)

// openBook opens the ledger of the box that runs here, or of one that is opened for the
// question.
func (a *app) openBook(ctx context.Context, q asking) (*ledgerBook, func(), error) {
	b := &ledgerBook{app: a, provider: q.provider}
	if !a.running() {
		if err := b.openBox(ctx); err != nil {
			return nil, nil, err
		}
	}
	client, err := a.client(ctx, a.token)
	if err != nil {
		b.closeBoxes()
		return nil, nil, err
	}
	b.client = client
	return b, func() { client.Close(); b.closeBoxes() }, nil
}

// ledgerBook keeps a conversation in a box's ledger.
type ledgerBook struct {
	app      *app
	client   *api.Client
	provider string
	id       string
	lost     bool      // not everything could be kept
	boxes    []*ownBox // that were opened for it
}

// begin makes the book ready for the next question.
func (b *ledgerBook) begin() { b.id, b.lost = "", false }

// keep makes a request. The box can be another command's and end with it: then one is opened
// here, and asked by the same key, since the one that ended may have carried it out.
func (b *ledgerBook) keep(ctx context.Context, ask func(key string) error) error {
	key := api.NewKey()
	request := func() error { return ask(key) }
	err := request()
	if api.Missing(err) {
		if err = b.openBox(ctx); err == nil {
			_, err = patiently(ctx, api.ErrNotRunning, func() (struct{}, error) { return struct{}{}, request() })
		}
	}
	b.lost = b.lost || err != nil
	return err
}

func (b *ledgerBook) openBox(ctx context.Context) error {
	c, err := b.app.settings("")
	if err != nil {
		return err
	}
	own, err := patiently(ctx, errClosing, func() (*ownBox, error) {
		own, err := b.app.serve(ctx, c, service.Options{Draining: true})
		if own == nil && err == nil && !b.app.running() {
			err = errClosing
		}
		return own, err
	})
	if own != nil {
		b.boxes = append(b.boxes, own)
	}
	return err
}

var errClosing = errors.New("the box here is closing")

func (b *ledgerBook) closeBoxes() {
	for _, own := range b.boxes {
		own.close()
	}
}

func (b *ledgerBook) Asked(ctx context.Context, q oracle.Asked) error {
	return b.keep(ctx, func(key string) error {
		c, err := b.client.Ask(ctx, key, api.Ask{
			Question: q.Question, Class: q.Class, Provider: b.provider, Model: q.Model, Continues: q.Continues, UserID: q.User, ProjectID: q.Project,
		})
		b.id = c.ID
		return err
	})
}

func (b *ledgerBook) Signalled(ctx context.Context, s oracle.Signalled) error {
	return b.keep(ctx, func(key string) error {
		_, err := b.client.Signalled(ctx, key, b.id, api.NewSignalled(s.Turn, s.Signal))
		return err
	})
}

func (b *ledgerBook) CallDecided(ctx context.Context, d oracle.CallDecided) error {
	return b.keep(ctx, func(key string) error {
		_, err := b.client.CallDecided(ctx, key, b.id, api.CallDecided{
			Call: d.Call, Turn: max(d.Turn, 1), Tool: d.Tool, Server: d.Server, Arguments: d.Arguments,
			Allowed: d.Allowed, By: conversation.DecidedBy(d.By), Reason: d.Reason,
		})
		return err
	})
}

func (b *ledgerBook) CallEnded(ctx context.Context, e oracle.CallEnded) error {
	outcome := conversation.CallDone
	switch {
	case e.Unknown:
		outcome = conversation.CallUnknown
	case e.Failed:
		outcome = conversation.CallFailed
	}
	return b.keep(ctx, func(key string) error {
		_, err := b.client.CallEnded(ctx, key, b.id, api.CallEnded{Call: e.Call, Outcome: outcome, Bytes: e.Bytes})
		return err
	})
}

func (b *ledgerBook) Answered(ctx context.Context, a oracle.Answer) error {
	if b.id == "" {
		return nil // it ended before it was asked
	}
	text := strings.ToValidUTF8(a.Text[:min(len(a.Text), conversation.MaxAnswer)], "")
	return b.keep(ctx, func(key string) error {
		_, err := b.client.Answered(ctx, key, b.id, api.Answered{
			Outcome: conversation.Outcome(a.Outcome), Turns: a.Turns, Signals: a.Signals,
			TokensIn: int64(a.TokensIn), TokensOut: int64(a.TokensOut), Missing: a.Missing,
			Text: &text, Cut: len(a.Text) > conversation.MaxAnswer,
		})
		return err
	})
}

// inLedger says what the ledger has.
func (b *ledgerBook) inLedger() string {
	switch {
	case b.id == "":
		return "nothing in the ledger"
	case b.lost:
		return b.id + " in the ledger, but not all of it"
	}
	return b.id + " in the ledger"
}
