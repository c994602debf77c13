package work

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Work that stands alone is BLOCKED when an agent needs somebody else: a person, an expert, somebody who repairs the
// environment. What it waits for is a question, which a person may answer at any time; some can be claimed by those
// who help instead. A run asks and starts for its own tasks.

// Cause is why something is blocked or asked.
type Cause string

// The causes that work which stands alone can have too.
const (
	CauseClarification  Cause = "clarification"
	CauseLowConfidence  Cause = "low_confidence"
	CauseExit           Cause = "exit"
	CauseInfrastructure Cause = "infrastructure"
	CauseObstacles      Cause = "obstacles"
	CauseExpert         Cause = "expert"
	CauseExpertRequests Cause = "expert_requests"
	CauseRemediation    Cause = "remediation_rounds"
)

// ChooseRetry is the answer that says no more than that work may go on.
const ChooseRetry = "retry"

// Limits bound what happens to work that stands alone before a person is asked; 0 is no bound.
type Limits struct {
	Unknown           int // outputs in a row without a signal that counts
	Obstacles         int // work given back, or blocked by the environment
	ExpertRequests    int
	RemediationRounds int
}

// over reports whether something happened as often as a limit has it.
func over(n, limit int) bool { return limit > 0 && n >= limit }

// Count is what happened to work that stands alone since it last went on, or a person answered.
type Count struct{ Unknown, Obstacles, Experts int }

// Wait is what BLOCKED work waits for.
type Wait struct {
	ID            string        // of the question
	Role          agentsig.Role // that may claim it, to help; empty if only a person can
	Cause         Cause
	Round         int // of remediation
	Text, Context string
	Seq           uint64 // the ledger's sequence of the event that asked last
	At            time.Time
}

// Waits is the part of a [Result] that says what the item waits for.
type Waits struct {
	ID    string        `json:"id"`
	Role  agentsig.Role `json:"role,omitempty"`
	Cause Cause         `json:"cause"`
	Round int           `json:"round,omitempty"`
}

// Reply is what came of a question: the next agents on the work are told.
type Reply struct {
	ID, Question string
	From         string // the operator, or the role of who helped
	Text         string
}

// maxReplies is how many of them are kept, the latest.
const maxReplies = 10

// Bounds on texts, in bytes of JSON.
const (
	maxText    = 6 << 10
	maxPayload = 4 << 10 // beside what else an event says
)

// Answered is the payload of QuestionAnswered on an item.
type Answered struct {
	ID        string         `json:"id"`
	Choice    string         `json:"choice,omitempty"`
	Text      string         `json:"text,omitempty"`
	NextPhase agentsig.Phase `json:"next_phase"` // it came from
}

// Need is a question that has not been asked yet.
type Need struct {
	Cause         Cause
	Text, Context string
}

// Need says what a person has to be asked because a session ended so; nil if nothing.
func (r Result) Need() *Need {
	switch r.Signal {
	case agentsig.KindDivineClarification:
		return &Need{CauseClarification, orSome(r.Field("Question"), "the agent needs to know something, and does not say what"), r.Besides("Question")}
	case agentsig.KindExpandedSpec:
		if r.NextPhase == agentsig.PhaseBlocked {
			return &Need{CauseLowConfidence, "the analyst is not sure what is to be built: what should it know?", r.Text()}
		}
	case agentsig.KindExit, "":
		if r.NextPhase == agentsig.PhaseBlocked {
			return &Need{CauseExit, "the agent ended with " + string(r.ExitReason) + ": what now?", orSome(r.Notes, r.Text())}
		}
	}
	return nil
}

// asks is what is asked where a person may claim it too, or no run is there to count.
func (r Result) asks() Need {
	if n := r.Need(); n != nil {
		return *n
	}
	n := Need{Cause: r.Waits.Cause, Context: r.Text()}
	switch r.Waits.Cause {
	case CauseInfrastructure:
		n.Text = "the environment blocks it: " + orSome(orSome(r.Field("Issue"), r.Field("Failed Criteria")), "the agent does not say how")
	case CauseObstacles:
		n.Text = "it is given back, or the environment blocks it, again and again: what now?"
	case CauseExpert:
		n.Text = orSome(r.Body, "an agent asks for an expert, and does not say what for")
	case CauseExpertRequests:
		n.Text = "the agent asks for an expert again and again: what should it know?"
	}
	return n
}

func orSome(text, otherwise string) string {
	if text = strings.TrimSpace(text); text == "" {
		return otherwise
	}
	return text
}

// NoChange returns why nothing has to be changed, as a developer claims. A form that was filled in is no claim.
func (s Said) NoChange() string {
	claim := strings.TrimSpace(s.Field(agentsig.KeyNoChange))
	switch strings.Trim(strings.ToLower(claim), ".…- ") {
	case "", "no", "none", "n/a", "false":
		return ""
	}
	return claim
}

// OnlyInRuns lists the kinds of line signals that are recorded wherever they are said, and acted upon by a run alone:
// work that stands alone knows no other work, and no experts by name.
func OnlyInRuns() []agentsig.Kind {
	return []agentsig.Kind{agentsig.KindExpertCreated, agentsig.KindFileConflict}
}

// helper reports whether this role may hold the item to help with what it waits for.
func (i Item) helper(role agentsig.Role) bool {
	return i.Phase == agentsig.PhaseBlocked && i.Wait != nil && role != "" && i.Wait.Role == role
}

// back returns where a BLOCKED item goes on.
func (i Item) back() agentsig.Phase {
	if i.BlockedFrom == "" { // it was added BLOCKED
		return agentsig.PhaseDraft
	}
	return i.BlockedFrom
}

// Names returns what the signals of the session that holds the item have to name: an expert's its request.
func (i Item) Names() string {
	if i.Lease != nil && i.Lease.Role == agentsig.RoleExpert && i.helper(i.Lease.Role) {
		return i.Wait.ID
	}
	return i.ID
}

// handover says what a signal does to the item that its session holds.
func (i Item) handover(s agentsig.Signal, l Limits) (agentsig.Handover, error) {
	const blocked = agentsig.PhaseBlocked
	switch alone, helps := i.Run == "", i.helper(i.Lease.Role); {
	case helps && (s.Kind == agentsig.KindExpertAdvice || s.Kind == agentsig.KindHealthHealthy):
		return agentsig.Handover{From: blocked, Reason: agentsig.ExitCompleted, To: i.back()}, nil
	case helps && s.Kind == agentsig.KindRemediationComplete:
		return agentsig.Handover{From: blocked, Reason: agentsig.ExitCompleted, To: blocked}, nil
	case helps && (s.Kind == agentsig.KindExpertUnsuccessful || s.Kind == agentsig.KindHealthUnhealthy):
		return agentsig.Handover{From: blocked, Reason: agentsig.ExitBlocked, To: blocked}, nil
	case alone && !helps && s.Kind == agentsig.KindExpertRequest:
		return agentsig.Handover{From: i.Phase, Reason: agentsig.ExitBlocked, To: blocked}, nil
	}
	h, err := s.Handover(i.Phase)
	switch {
	case errors.Is(err, agentsig.ErrWrongPhase) && i.Phase == agentsig.PhaseDraft && i.Run == "":
		err = fmt.Errorf("%w: EXPANDED_TASK_SPECIFICATION completes DRAFT; `signalbox work override %s --phase IMPLEMENTATION --reason …` goes without", err, i.ID)
	case err != nil || i.Run != "":
	case s.Kind == agentsig.KindTaskIncomplete && over(i.Count.Obstacles+1, l.Obstacles):
		h.To = blocked
	case i.NoChange != "" && h.From == agentsig.PhaseReview && h.To == agentsig.PhaseReadyForMerge:
		h.To = agentsig.PhaseCompleted // the critic agrees that there is nothing to change
	}
	return h, err
}

// waits says what an item that stands alone waits for after a signal that blocks it.
func (i Item) waits(s agentsig.Signal, need *Need, l Limits) *Waits {
	if i.Wait != nil {
		return i.Wait.after(s, need, l)
	}
	w := &Waits{ID: i.nextQuestion()}
	switch tooOften := over(i.Count.Obstacles+1, l.Obstacles); {
	case s.Kind == agentsig.KindTaskIncomplete, tooOften && isTrouble(s.Kind):
		w.Cause = CauseObstacles
	case isTrouble(s.Kind):
		w.Cause, w.Role, w.Round = CauseInfrastructure, agentsig.RoleRemediation, 1
	case s.Kind == agentsig.KindExpertRequest && over(i.Count.Experts, l.ExpertRequests):
		w.Cause = CauseExpertRequests
	case s.Kind == agentsig.KindExpertRequest:
		w.Cause, w.Role = CauseExpert, agentsig.RoleExpert
	case need != nil:
		w.Cause = need.Cause
	}
	return w
}

// nextQuestion is the name of what the item asks next.
func (i Item) nextQuestion() string { return fmt.Sprintf("%s-Q%d", i.ID, i.Asked+1) }

func isTrouble(k agentsig.Kind) bool {
	return k == agentsig.KindInfraBlocked || k == agentsig.KindAuditBlocked
}

// after says what is waited for after the signal of somebody who was to help.
func (w Wait) after(s agentsig.Signal, need *Need, l Limits) *Waits {
	next := &Waits{ID: w.ID, Cause: w.Cause, Round: w.Round}
	switch {
	case s.Kind == agentsig.KindRemediationComplete:
		next.Role = agentsig.RoleHealthAuditor
	case s.Kind == agentsig.KindHealthUnhealthy && over(w.Round, l.RemediationRounds):
		next.Cause = CauseRemediation
	case s.Kind == agentsig.KindHealthUnhealthy:
		next.Role, next.Round = agentsig.RoleRemediation, w.Round+1
	case need != nil:
		next.Cause = need.Cause
	}
	return next
}

// ended is what the end of a session does to an item that stands alone, before the item moves.
func (i Item) ended(e ledger.Event, seq uint64, p outcome) (Item, error) {
	i.Count.Unknown, i.Format = 0, false
	switch helped := i.Wait != nil && i.Lease != nil; {
	case p.Waits != nil:
		r, err := payload[Result](e)
		if err != nil {
			return i, err
		}
		if i.Wait == nil {
			i.Asked++
		}
		i.Wait = i.asked(r, seq, e.Time)
		i.Count.note(p)
	case helped && p.NextPhase != agentsig.PhaseBlocked:
		i = i.replied(string(i.Lease.Role), p.Body)
	case p.Signal == agentsig.KindTaskIncomplete:
		i.Count.note(p)
	case p.NextPhase != agentsig.PhaseBlocked:
		i.Count = Count{}
	}
	if p.NextPhase == agentsig.PhaseCIPending {
		i.Claim = p.NoChange
	}
	return i, nil
}

// note counts what may not happen for ever.
func (c *Count) note(p outcome) {
	switch p.Signal {
	case agentsig.KindTaskIncomplete, agentsig.KindInfraBlocked, agentsig.KindAuditBlocked:
		c.Obstacles++
	case agentsig.KindExpertRequest:
		c.Experts++
	}
}

// asked is what the item waits for after a session that ended so. Who helps and can't goes on with the same question.
func (i Item) asked(r Result, seq uint64, at time.Time) *Wait {
	w := &Wait{ID: r.Waits.ID, Role: r.Waits.Role, Cause: r.Waits.Cause, Round: r.Waits.Round, Seq: seq, At: at}
	if i.Wait == nil {
		n := r.asks()
		w.Text, w.Context = Cut(n.Text, maxText), Cut(n.Context, maxText)
		return w
	}
	w.Text, w.Context = i.Wait.Text, i.Wait.Context
	said := orSome(r.Body, r.Text())
	if n := r.Need(); n != nil {
		w.Text, said = n.Text, n.Context+"\nBefore: "+i.Wait.Text
	}
	w.Context = Cut(said, maxText/2) + "\n" + Cut(w.Context, maxText/2)
	return w
}

// replied notes what came of the item's question.
func (i Item) replied(from, text string) Item {
	all := append(slices.Clone(i.Replies), Reply{i.Wait.ID, i.Wait.Text, from, text})
	i.Replies = all[max(0, len(all)-maxReplies):]
	return i
}

// body is what a signal says below its line and behind its name, where that is what another agent has to read.
func body(s agentsig.Signal) string {
	switch s.Kind {
	case agentsig.KindExpertRequest, agentsig.KindExpertAdvice, agentsig.KindExpertUnsuccessful,
		agentsig.KindRemediationComplete, agentsig.KindHealthHealthy, agentsig.KindHealthUnhealthy:
		return Cut(strings.TrimSpace(strings.TrimSpace(s.Note)+"\n"+s.Payload), maxPayload)
	}
	return ""
}

// Answer is a person's answer to what the item waits for. It takes the item away from who was to help.
type Answer struct{ Actor, Question, Choice, Text, Key string }

// Events implements [Command].
func (Answer) Events() []string { return []string{QuestionAnswered} }

func (c Answer) decide(i Item) (Event, error) {
	switch n, ok := i.question(c.Question); {
	case !validActor(c.Actor):
		return Event{}, ErrBadActor
	case !ok || n > i.Asked:
		return Event{}, ErrNoQuestion
	case i.Wait == nil || i.Wait.ID != c.Question:
		return Event{}, fmt.Errorf("%s: %w", c.Question, ErrAnswered)
	}
	choice, text, err := Choose([]string{ChooseRetry}, c.Choice, c.Text)
	if err != nil {
		return Event{}, err
	}
	return Event{Type: QuestionAnswered, Actor: c.Actor, Key: c.Key, Payload: Answered{c.Question, choice, text, i.back()}}, nil
}

// question returns the number of a question of this item.
func (i Item) question(id string) (int, bool) {
	number, ok := strings.CutPrefix(id, i.ID+"-Q")
	n, err := strconv.Atoi(number)
	return n, ok && err == nil && n > 0 && strconv.Itoa(n) == number
}

// Choose reads an answer to a question that has these choices: one of them, or words.
func Choose(choices []string, choice, text string) (chosen, words string, err error) {
	text = Cut(strings.TrimSpace(text), maxText)
	if word := strings.ToLower(text); choice == "" && slices.Contains(choices, word) {
		choice, text = word, ""
	}
	switch {
	case choice != "" && !slices.Contains(choices, choice):
		return "", "", fmt.Errorf("%w: there is %s", ErrNoAnswer, orSome(strings.Join(choices, ", "), "no choice"))
	case choice == "" && text == "":
		return "", "", ErrNoAnswer
	}
	return choice, text, nil
}

// Cut shortens a text on a rune, so that it takes no more than most bytes of JSON and a few.
func Cut(s string, most int) string {
	n := 0
	for i, c := range s {
		switch {
		case strings.ContainsRune("\"\\\n\r\t", c):
			n += 2
		case c < ' ' || strings.ContainsRune("<>&\u2028\u2029\ufffd", c):
			n += len(`\u0000`)
		default:
			n += utf8.RuneLen(c)
		}
		if n > most {
			return s[:i] + "…"
		}
	}
	return s
}
