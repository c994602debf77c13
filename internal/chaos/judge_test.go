//go:build linux

package chaos

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// eventOf is an event, and where it is in the ledger.
type eventOf struct {
	ledger.Event
	sequence uint64
}

// readArchive returns what an archive has, proven.
func readArchive(dir string) (all [][]byte, at ledger.Checkpoint, err error) {
	key, err := os.ReadFile(filepath.Join(dir, "verifier.key"))
	if err != nil {
		return nil, at, err
	}
	files := os.DirFS(filepath.Join(dir, "archive"))
	report, err := ledger.VerifyExcept(files, strings.TrimSpace(string(key)), func(string, string) (bool, error) { return true, nil })
	if err != nil {
		return nil, at, err
	}
	for from := int64(0); from < report.Events; from += ledger.TileWidth {
		data, err := fs.ReadFile(files, ledger.EntriesPath(from/ledger.TileWidth, int(min(ledger.TileWidth, report.Events-from))))
		if err != nil {
			return nil, at, err
		}
		events, err := ledger.Entries(data)
		if err != nil {
			return nil, at, err
		}
		all = append(all, events...)
	}
	return all, report.Checkpoint, nil
}

// quiet waits until no lease is open, which would end by itself, and all boxes that run have signed the same, which is all that there is.
func (w *world) quiet() {
	w.t.Helper()
	var why string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		why = ""
		s, err := w.boxes[0].status()
		leader := w.leader()
		if err != nil || leader == nil {
			why = fmt.Sprint("no box leads: ", err)
			continue
		}
		now, err := leader.client().Status(context.Background())
		if err != nil || now.Leases > 0 {
			why = fmt.Sprintf("%d leases are open: %v", now.Leases, err)
			continue
		}
		for _, m := range s.Members {
			if m.Size != s.Committed || m.Root != s.Members[0].Root || m.Problem != "" {
				why = fmt.Sprintf("%d events are committed, and %s has signed %d, with the root %s, where %s has %s; %s", s.Committed, m.Name, m.Size, m.Root, s.Members[0].Name, s.Members[0].Root, m.Problem)
			}
		}
		if why == "" {
			return
		}
	}
	w.t.Fatalf("the archives are not equal after %v: %s", patience, why)
}

// close has the cluster come to rest, stops all boxes, and judges their archives: each verifies, and they are equal. It returns their events.
func (w *world) close() []eventOf {
	w.t.Helper()
	w.net.calm()
	w.healthy()
	w.quiet()
	for _, m := range w.boxes {
		if err := m.stop(); err != nil {
			w.t.Errorf("%s stopped with %v: %s", m.name, err, tail(m.process.said.String(), 10))
		}
	}
	return w.archives()
}

// archives judges those of boxes that do not run.
func (w *world) archives() []eventOf {
	w.t.Helper()
	var first [][]byte
	var root ledger.Checkpoint
	for n, m := range w.boxes {
		if out, err := m.run("ledger", "verify"); err != nil {
			w.t.Errorf("the ledger of %s does not verify: %v%s", m.name, err, out)
		}
		all, at, err := readArchive(m.dir)
		if err != nil {
			w.t.Fatalf("the archive of %s: %v", m.name, err)
		}
		if n == 0 {
			first, root = all, at
			continue
		}
		if at.Size != root.Size || at.Root != root.Root {
			w.t.Errorf("the archive of %s has %d events with the root %s, and that of %s %d with %s", m.name, at.Size, at.Root, w.boxes[0].name, root.Size, root.Root)
		}
		if !slices.EqualFunc(first, all, bytes.Equal) {
			w.t.Errorf("the archive of %s has other events than that of %s", m.name, w.boxes[0].name)
		}
	}
	events := make([]eventOf, len(first))
	for n, stored := range first {
		e, err := ledger.Decode(stored)
		if err != nil {
			w.t.Fatal(err)
		}
		events[n] = eventOf{e, uint64(n) + 1}
	}
	return events
}

// totals is what came of all calls.
type totals struct {
	requests, acknowledged, refused, lost, doubled, unknown, unknownStored, gaveUp, tries int
}

func (t totals) String() string {
	return fmt.Sprintf("%d requests, sent %d times more; %d writes and reads answered, %d refused; lost %d, doubled %d; %d without an answer, of which %d are stored; %d claims waited for nothing",
		t.requests, t.tries, t.acknowledged, t.refused, t.lost, t.doubled, t.unknown, t.unknownStored, t.gaveUp)
}

// judge holds what the clients were told against what was recorded.
func (l *load) judge(events []eventOf) totals {
	t := l.w.t
	t.Helper()
	for _, odd := range l.odd {
		t.Errorf("a call was answered oddly: %s", odd)
	}
	j := &judge{l: l, events: events, byKey: map[string][]eventOf{}, bySubject: map[string][]eventOf{}, grants: map[string]eventOf{}}
	for _, e := range events {
		j.bySubject[e.Subject] = append(j.bySubject[e.Subject], e)
		if e.Key != "" {
			j.byKey[e.Key] = append(j.byKey[e.Key], e)
		}
		if e.Type == work.LeaseGranted || e.Type == work.ReviewStarted {
			j.grants[e.Session] = e
		}
	}
	j.keysOnce()
	for _, o := range l.added {
		j.sum.requests++
		j.sum.tries += o.tries
		switch found := j.byKey[o.key]; {
		case o.outcome == unknown:
			j.sum.unknown++
			j.sum.unknownStored += min(1, len(found))
		case len(found) == 0:
			j.lose("an item that was added, event %d", o.sequence)
		default:
			j.sum.acknowledged++
		}
	}
	var checking sync.WaitGroup
	items := make(chan *item)
	for range 2 {
		checking.Go(func() {
			for i := range items {
				j.item(i)
			}
		})
	}
	for _, i := range l.items {
		items <- i
	}
	close(items)
	checking.Wait()
	for _, f := range j.faults[:min(len(j.faults), 20)] {
		t.Error(f)
	}
	if len(j.faults) > 20 {
		t.Errorf("and %d faults more", len(j.faults)-20)
	}
	return j.sum
}

type judge struct {
	l         *load
	events    []eventOf
	byKey     map[string][]eventOf
	bySubject map[string][]eventOf
	grants    map[string]eventOf // by session

	mu     sync.Mutex
	sum    totals
	faults []string
}

func (j *judge) fault(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

func (j *judge) lose(format string, args ...any) {
	j.mu.Lock()
	j.sum.lost++
	j.mu.Unlock()
	j.fault("it was acknowledged, and no archive has it: "+format, args...)
}

// keysOnce judges that no request was recorded twice. A claim that is repeated when its lease is over gets another one.
func (j *judge) keysOnce() {
	for key, all := range j.byKey {
		for n, e := range all[1:] {
			if before := all[n]; e.Subject == before.Subject && (e.Type == work.LeaseGranted || e.Type == work.ReviewStarted) && j.over(before, e) {
				continue
			}
			j.sum.doubled++
			j.fault("the key %s is recorded twice: events %d and %d, %s and %s", key, all[n].sequence, e.sequence, all[n].Type, e.Type)
		}
	}
}

// over says whether a session that was granted was over before another event.
func (j *judge) over(granted, before eventOf) bool {
	return slices.ContainsFunc(j.bySubject[granted.Subject], func(e eventOf) bool {
		return e.sequence > granted.sequence && e.sequence < before.sequence && (e.Session == granted.Session && e.Type != work.SignalRecorded && e.Type != work.UnknownRecovery || e.Type == work.WorkOverridden)
	})
}

// seen is a call as the checker takes it: with the event that came of it, if there is one.
type seen struct {
	call
	number uint64 // of the event, on its item; 0 if there is none
	event  string
}

// item judges the calls on one item.
func (j *judge) item(i *item) {
	mine := map[uint64]bool{} // events that somebody asked for
	var history []porcupine.Operation
	add := func(o *op, e *eventOf, got result, ended int64) {
		s := seen{call: o.call}
		if e != nil {
			mine[e.sequence] = true
			s.number, s.event = e.ItemSeq, e.Type
		}
		history = append(history, porcupine.Operation{Input: s, Call: o.began, Output: got, Return: ended})
	}
	var sum totals
	for _, o := range i.ops {
		sum.requests++
		sum.tries += o.tries
		e, found := j.find(o)
		switch {
		case o.outcome != answered:
			if o.outcome == gaveUp {
				sum.gaveUp++
			} else {
				sum.unknown++
				sum.unknownStored += len(found[:min(1, len(found))])
			}
			for _, e := range found { // a claim may have been granted again
				if !mine[e.sequence] {
					add(o, &e, resultOf(e), math.MaxInt64)
				}
			}
		case o.result.refused != "":
			sum.refused++
			for _, e := range found { // by a box that was not heard
				if !mine[e.sequence] {
					add(o, &e, resultOf(e), math.MaxInt64)
				}
			}
			if o.what != "end" || len(found) == 0 {
				add(o, nil, o.result, o.ended)
			}
		case o.what == "show" || o.what == "renew":
			sum.acknowledged++
			add(o, nil, o.result, o.ended)
		case e == nil:
			j.lose("%s of %s, answered %+v, event %d", o.what, i.id, o.result, o.sequence)
		default:
			sum.acknowledged++
			got := o.result
			got.event = e.Type
			for _, other := range found { // those before were granted unheard
				if other.sequence != e.sequence && !mine[other.sequence] {
					add(o, &other, resultOf(other), math.MaxInt64)
				}
			}
			if mine[e.sequence] { // a request that is the same as another: an output that was said twice
				continue
			}
			add(o, e, got, o.ended)
		}
	}
	for _, e := range j.bySubject[i.subject] {
		if mine[e.sequence] || e.Type == work.WorkAdded {
			continue
		}
		var c call
		_, token, _ := work.ParseSession(e.Session)
		switch e.Type {
		case work.LeaseExpired:
			c = call{what: "expire", token: token.Counter}
		case work.LeaseReleased:
			c = call{what: "release", token: token.Counter} // who claimed it was gone
		default:
			j.fault("event %d of %s is a %s that nobody asked for", e.ItemSeq, i.id, e.Type)
			continue
		}
		mine[e.sequence] = true
		history = append(history, porcupine.Operation{Input: seen{c, e.ItemSeq, e.Type}, Output: resultOf(e), Return: math.MaxInt64})
	}
	j.leases(i)
	j.mu.Lock()
	j.sum.requests += sum.requests
	j.sum.tries += sum.tries
	j.sum.acknowledged += sum.acknowledged
	j.sum.refused += sum.refused
	j.sum.unknown += sum.unknown
	j.sum.unknownStored += sum.unknownStored
	j.sum.gaveUp += sum.gaveUp
	j.mu.Unlock()
	switch porcupine.CheckOperationsTimeout(linearizable, history, time.Minute) {
	case porcupine.Illegal:
		j.fault("the calls on %s are not linearizable:\n%s", i.id, story(history, j.bySubject[i.subject]))
	case porcupine.Unknown:
		j.fault("whether the %d calls on %s are linearizable was not found out in a minute", len(history), i.id)
	}
}

// find returns the event that a call says came of it, and all that were recorded for it.
func (j *judge) find(o *op) (own *eventOf, all []eventOf) {
	if o.what == "show" || o.what == "renew" {
		return nil, nil
	}
	for _, key := range o.keys() {
		for _, e := range j.byKey[key] {
			if e.Subject == o.item.subject {
				all = append(all, e)
			}
		}
	}
	if o.outcome != answered || o.result.refused != "" {
		return nil, all
	}
	if o.what == "claim" || o.what == "review" {
		e, ok := j.grants[work.Token{Epoch: 1, Counter: o.result.token}.Session(o.item.subject)]
		if !ok || !slices.ContainsFunc(all, func(k eventOf) bool { return k.sequence == e.sequence }) {
			return nil, all
		}
		return &e, all
	}
	if o.sequence == 0 || o.sequence > uint64(len(j.events)) {
		return nil, all
	}
	e := j.events[o.sequence-1]
	if e.Subject != o.item.subject || e.Type != o.result.event || !slices.Contains(o.keys(), e.Key) {
		return nil, all
	}
	return &e, all
}

// resultOf is how the call is answered that an event came of.
func resultOf(e eventOf) result {
	var p struct {
		Phase     agentsig.Phase `json:"phase"`
		NextPhase agentsig.Phase `json:"next_phase"`
	}
	_ = json.Unmarshal(e.Payload, &p) // one that has no phase is answered without
	r := result{event: e.Type, phase: cmp.Or(p.NextPhase, p.Phase)}
	if e.Type == work.LeaseGranted || e.Type == work.ReviewStarted {
		_, token, _ := work.ParseSession(e.Session)
		r.token = token.Counter
	}
	return r
}

// leases judges that none was taken before its term, as its holder counts it: from when it sent the last request that was answered.
func (j *judge) leases(i *item) {
	type term struct {
		until int64
		ttl   time.Duration
	}
	terms := map[uint64]*term{}
	for _, o := range i.ops {
		if (o.what == "claim" || o.what == "review") && o.outcome == answered && o.result.refused == "" {
			terms[o.result.token] = &term{o.began + int64(o.ttl), o.ttl}
		}
	}
	for _, o := range i.ops {
		if tm := terms[o.token]; o.what == "renew" && tm != nil && o.outcome == answered && o.result.refused == "" {
			tm.until = max(tm.until, o.began+int64(tm.ttl))
		}
	}
	for _, e := range j.bySubject[i.subject] {
		_, token, _ := work.ParseSession(e.Session)
		tm := terms[token.Counter]
		if e.Type != work.LeaseExpired || tm == nil {
			continue
		}
		for _, o := range i.ops {
			if o.outcome != answered || o.ended >= tm.until {
				continue
			}
			gone := o.result.token > token.Counter || o.what == "show" && o.result.events >= e.ItemSeq || o.sequence > e.sequence
			if gone {
				j.fault("the lease %d of %s, of %v, was taken %v before its term: %s was answered %+v", token.Counter, i.id, tm.ttl, time.Duration(tm.until-o.ended), o.what, o.result)
				break
			}
		}
	}
}

// model is an item as a page of notes would have it.
type model struct {
	events           uint64
	phase            agentsig.Phase
	holder           uint64 // the token of who holds it, or 0
	granted, settled uint64 // the latest token, and the latest whose session ended by itself
	unread           int    // outputs in a row without a signal that counts
}

// step says how a call is answered, and what the item is then. It is the same as in internal/box, but for renewals.
func (m model) step(c call) (model, result) {
	no := func(how string) (model, result) { return m, result{refused: how} }
	move := func(event string, to agentsig.Phase) (model, result) {
		m.phase, m.holder = to, 0
		return m, result{event: event, phase: to}
	}
	mine, over := m.holder == c.token, m.settled == c.token
	switch c.what {
	case "show":
		return m, result{phase: m.phase, token: m.holder, events: m.events}
	case "renew":
		if !mine {
			return no("conflict")
		}
		return m, result{phase: m.phase, token: m.holder}
	case "claim", "review":
		event := work.LeaseGranted
		switch {
		case m.phase == "COMPLETED" || m.phase == "BLOCKED":
			return no("conflict")
		case m.holder != 0:
			return no("held")
		case c.what == "review" && m.phase != "READY_FOR_REVIEW" && m.phase != "REVIEW":
			return no("invalid")
		case c.what == "review" && m.phase == "READY_FOR_REVIEW":
			event, m.phase = work.ReviewStarted, "REVIEW"
		}
		m.granted++
		m.holder = m.granted
		return m, result{event: event, phase: m.phase, token: m.holder}
	case "report":
		switch {
		case m.phase != "CI_PENDING":
			return no("conflict")
		case c.passed:
			return move(work.GatePassed, "READY_FOR_REVIEW")
		}
		return move(work.GateFailed, "IMPLEMENTATION")
	case "override":
		if m.phase == c.phase {
			return no("conflict")
		}
		m.unread = 0
		return move(work.WorkOverridden, c.phase)
	case "end":
		switch to := after[c.phase]; {
		case over:
			return no("conflict")
		case mine && (m.phase != c.phase || to == ""):
			if m.unread++; m.unread < 3 {
				return m, result{event: work.UnknownRecovery}
			}
			m.unread, m.holder = 0, 0
			return m, result{event: work.SignalFailure}
		case !mine:
			return m, result{event: work.LateResultRecorded}
		default:
			m.settled, m.unread = c.token, 0
			return move(work.AgentSessionCompleted, to)
		}
	case "note":
		if over || !mine {
			return no("conflict")
		}
		return m, result{event: work.SignalRecorded}
	case "release", "expire":
		if over || !mine {
			return no("conflict")
		}
		return move(map[string]string{"release": work.LeaseReleased, "expire": work.LeaseExpired}[c.what], m.phase)
	}
	panic("there is no call " + c.what)
}

// linearizable is the model for the checker, for one item. A call of which an event came had its effect where that is, among the item's events.
var linearizable = porcupine.Model{
	Init: func() any { return model{events: 1, phase: "DRAFT"} },
	Step: func(state, input, output any) (bool, any) {
		m, in, got := state.(model), input.(seen), output.(result)
		next, want := m.step(in.call)
		if in.number == 0 {
			switch {
			case in.what == "renew" && got.refused != "":
				return true, m // its term may be over, which is not recorded yet
			case got.refused != "":
				return want.refused == got.refused, m
			}
			return want == got, m
		}
		if m.events != in.number-1 || want.event != in.event {
			return false, m
		}
		if want.token != 0 && want.token != got.token || want.phase != "" && got.phase != "" && want.phase != got.phase {
			return false, m
		}
		next.events = in.number
		return true, next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// story is the history of an item that is not linearizable, and what was recorded.
func story(history []porcupine.Operation, events []eventOf) string {
	slices.SortStableFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	good, quiet := 0, int64(0)
	for n, o := range history { // how much of it can be: it is cut where nobody waits for an answer
		if o.Call > quiet {
			if !porcupine.CheckOperations(linearizable, slices.Clone(history[:n])) {
				break
			}
			good = n
		}
		if o.Return != math.MaxInt64 {
			quiet = max(quiet, o.Return)
		}
	}
	var b strings.Builder
	for n, o := range history[:min(len(history), good+20)] {
		if n < good-10 {
			continue
		}
		end := "never"
		if o.Return != math.MaxInt64 {
			end = time.Duration(o.Return).String()
		}
		fmt.Fprintf(&b, "  %v to %s: %s\n", time.Duration(o.Call), end, linearizable.DescribeOperation(o.Input, o.Output))
	}
	for _, e := range events {
		fmt.Fprintf(&b, "  event %d (%d) %s %s %v\n", e.ItemSeq, e.sequence, e.Type, e.Session, e.Time)
	}
	return b.String()
}

// silences are how long no write was acknowledged anywhere.
func (l *load) silence(from, to int64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.acks)
	n, _ := slices.BinarySearch(l.acks, from)
	longest, last := time.Duration(0), from
	for _, at := range append(slices.Clone(l.acks[n:]), to) {
		longest = max(longest, time.Duration(min(at, to)-last))
		if last = at; at >= to {
			break
		}
	}
	return longest
}

// progress returns when writes are acknowledged again, by all groups of clients together so many.
func (l *load) progress(ctx context.Context, writes int) error {
	l.mu.Lock()
	before := len(l.acks)
	l.mu.Unlock()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		l.mu.Lock()
		now := len(l.acks)
		l.mu.Unlock()
		if now-before >= writes {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return errors.New("the silence does not end")
		}
	}
}
