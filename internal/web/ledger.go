package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// What is shown of the ledger at once.
const (
	maxListed = 50   // events
	maxLooked = 5000 // events that are looked at for those that are wanted
	lookedAt  = 500  // of them at a time
)

// ledgerView is events, the latest first.
type ledgerView struct {
	frame
	Filter  ledgerFilter
	Types   []string // that there are
	Events  []ledgerRow
	Signed  uint64 // events that the latest checkpoint covers
	All     int
	Earlier string // where it goes on; empty at the beginning
	Newest  string // where it begins; empty there
	Looked  uint64 // the earliest event that was looked at, if there may be more before it
}

// ledgerFilter says which events are wanted.
type ledgerFilter struct {
	Work, Actor, Type string
	Tasks             bool // of a run: its tasks' too
}

// ledgerRow is an event in a few words.
type ledgerRow struct {
	Sequence uint64
	When     time.Time
	About    string // the name of what it is about
	Href     string // where more of that is; empty if there is no such page
	Type     string
	Actor    string
	Words    string
	Signed   bool // the latest checkpoint covers it
}

func (f ledgerFilter) query(before uint64) string {
	q := url.Values{}
	for name, value := range map[string]string{"work": f.Work, "actor": f.Actor, "type": f.Type} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Tasks {
		q.Set("tasks", "on")
	}
	if before > 0 {
		q.Set("before", strconv.FormatUint(before, 10))
	}
	if len(q) == 0 {
		return "ledger"
	}
	return "ledger?" + q.Encode()
}

// ledger answers with events that are wanted, before a sequence.
func (p *Page) ledger(w http.ResponseWriter, a asked) {
	v := ledgerView{frame: p.framed(a, "Ledger", "ledger", "")}
	q := a.URL.Query()
	v.Filter = ledgerFilter{strings.TrimSpace(q.Get("work")), strings.TrimSpace(q.Get("actor")), q.Get("type"), q.Get("tasks") != ""}
	v.Types = slices.Concat(work.Types(), delivery.Types(), conversation.Types(), access.Types(), []string{ledger.TypeBlobRemoved})
	slices.Sort(v.Types)
	v.Types = slices.Compact(v.Types)
	status, err := a.client.Status(a.Context())
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	v.Signed, v.All = status.Ledger.Signed, int(status.Ledger.Events)
	before := uint64(math.MaxInt64)
	if text := q.Get("before"); text != "" {
		if before, err = strconv.ParseUint(text, 10, 64); err != nil || before == 0 {
			p.fail(w, a.Request, http.StatusBadRequest, errors.New("before is the sequence of an event"))
			return
		}
		v.Newest = v.Filter.query(0)
	}
	code := http.StatusOK
	if err := v.look(a, before); err != nil {
		code, v.Problem = statusOf(err), err.Error()
	}
	p.show(w, a.Request, code, "ledger.html", v)
}

// errShown ends a look at events of which enough are shown.
var errShown = errors.New("enough events are shown")

// look takes the events that are wanted before a sequence, until there are enough, or enough were looked at.
func (v *ledgerView) look(a asked, before uint64) error {
	for range maxLooked / lookedAt {
		next, err := a.client.EventsBefore(a.Context(), v.Filter.Work, v.Filter.Tasks && v.Filter.Work != "", before, lookedAt, func(stored api.Event) error {
			if len(v.Events) == maxListed {
				v.Earlier = v.Filter.query(v.Events[maxListed-1].Sequence)
				return errShown
			}
			e, err := ledger.Decode(stored.Event)
			if err != nil {
				return fmt.Errorf("event %d: %w", stored.Sequence, err)
			}
			if f := v.Filter; f.Actor == "" || f.Actor == e.Actor {
				if f.Type == "" || f.Type == e.Type {
					v.Events = append(v.Events, rowOf(stored, e, v.Signed))
				}
			}
			return nil
		})
		if errors.Is(err, errShown) {
			return nil
		}
		if err != nil || next == 0 {
			return err
		}
		before = next
	}
	v.Looked, v.Earlier = before, v.Filter.query(before)
	return nil
}

func rowOf(stored api.Event, e ledger.Event, signed uint64) ledgerRow {
	row := ledgerRow{Sequence: stored.Sequence, When: e.Time, About: stored.Work, Type: e.Type, Actor: e.Actor, Signed: stored.Sequence <= signed}
	row.Words = besideActor(strings.TrimPrefix(eventWords(stored.Work, e), stored.Work+": "), e.Actor)
	switch {
	case slices.Contains(delivery.Types(), e.Type) && !slices.Contains(work.Types(), e.Type):
		row.Href = "run?id=" + url.QueryEscape(stored.Work)
	case slices.Contains(work.Types(), e.Type) && strings.Contains(stored.Work, "."):
		row.Href = "task?id=" + url.QueryEscape(stored.Work)
	}
	return row
}

// besideActor are the words of an event where its actor is named beside them: they do not name the client again.
func besideActor(words, actor string) string {
	client, ok := strings.CutPrefix(actor, work.ClientPrefix)
	if !ok {
		return words
	}
	return strings.Replace(words, "client "+client+": ", "", 1)
}

// eventWords say what an event did.
func eventWords(name string, e ledger.Event) string {
	switch {
	case slices.Contains(conversation.Types(), e.Type):
		return conversation.Words(name, e)
	case slices.Contains(access.Types(), e.Type):
		return access.Sentence(e)
	case slices.Contains(work.Types(), e.Type), slices.Contains(delivery.Types(), e.Type):
		return delivery.Words(e, func(string) string { return name })
	}
	return ""
}

// eventView is an event as it is stored, and its proof.
type eventView struct {
	frame
	ledgerRow
	Event   ledger.Event
	Payload string // as people read JSON
	Sum     ledger.Hash
	Proof   *proofView // nil if there is none
	Pending string     // why there is none yet
	Wrong   string     // what is wrong with it
}

// proofView is what a proof proves.
type proofView struct {
	Origin string // who signed
	Size   int64  // of the tree
	Root   ledger.Hash
	Hashes []ledger.Hash // from the event to the root
	Note   string        // the checkpoint, as it was signed
	Key    string        // that it was checked with
}

// sequenceOf returns the sequence that a request names.
func sequenceOf(a asked) (uint64, error) {
	seq, err := strconv.ParseUint(a.URL.Query().Get("seq"), 10, 64)
	if err != nil || seq == 0 || seq >= math.MaxInt64 {
		return 0, errors.New("an event is named by its sequence, which is a whole number from 1 on")
	}
	return seq, nil
}

// event answers with an event and its proof, which is checked here: what the API says is held against the key.
func (p *Page) event(w http.ResponseWriter, a asked) {
	seq, err := sequenceOf(a)
	if err != nil {
		p.fail(w, a.Request, http.StatusBadRequest, err)
		return
	}
	v := eventView{frame: p.framed(a, fmt.Sprint("Event ", seq), "ledger", "")}
	status, err := a.client.Status(a.Context())
	var stored *api.Event
	if err == nil {
		_, err = a.client.EventsBefore(a.Context(), "", false, seq+1, 1, func(e api.Event) error {
			stored = &e
			return nil
		})
	}
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	if stored == nil || stored.Sequence != seq {
		p.fail(w, a.Request, http.StatusNotFound, fmt.Errorf("there is no event %d: the ledger has %d", seq, status.Ledger.Events))
		return
	}
	if v.Event, err = ledger.Decode(stored.Event); err != nil {
		p.fail(w, a.Request, http.StatusInternalServerError, err)
		return
	}
	v.ledgerRow, v.Sum = rowOf(*stored, v.Event, status.Ledger.Signed), ledger.Sum(stored.Event)
	var pretty bytes.Buffer
	if json.Indent(&pretty, v.Event.Payload, "", "  ") == nil {
		v.Payload = pretty.String()
	}
	v.prove(a, stored.Event, status.Verifier)
	p.show(w, a.Request, http.StatusOK, "event.html", v)
}

// prove asks for the event's proof, and checks it.
func (v *eventView) prove(a asked, stored []byte, key string) {
	proof, err := a.client.Prove(a.Context(), v.Sequence)
	var why *api.Problem
	switch {
	case errors.As(err, &why) && why.Code == api.CodeConflict:
		v.Pending = why.Message
		return
	case err != nil:
		v.Wrong = err.Error()
		return
	}
	_, head, err := proof.Verify(key)
	if err == nil && (!bytes.Equal(proof.Event, stored) || proof.Index != int64(v.Sequence)-1) {
		err = errors.New("the proof is of another event")
	}
	if err != nil {
		v.Wrong = err.Error()
		return
	}
	v.Proof = &proofView{head.Origin, head.Size, head.Root, proof.Hashes, proof.Checkpoint, key}
}

// proof answers with an event's proof as a file, as `signalbox ledger prove` prints it.
func (p *Page) proof(w http.ResponseWriter, a asked) {
	seq, err := sequenceOf(a)
	if err != nil {
		p.fail(w, a.Request, http.StatusBadRequest, err)
		return
	}
	proof, err := a.client.Prove(a.Context(), seq)
	var data []byte
	if err == nil {
		data, err = json.Marshal(proof)
	}
	if err != nil {
		p.fail(w, a.Request, statusOf(err), err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="event-%d-proof.json"`, seq))
	_, _ = w.Write(append(data, '\n')) // a browser that has gone misses it
}
