package work

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Statement is what somebody said of a work item: the claim of who worked on it, or what was found when it was sent
// back. A claim is no fact: nobody has checked it.
type Statement struct {
	Sequence   uint64              `json:"sequence"` // of its event
	At         time.Time           `json:"at"`
	By         string              `json:"by"` // the event's actor
	Session    string              `json:"session,omitempty"`
	Signal     agentsig.Kind       `json:"signal,omitempty"`
	Phase      agentsig.Phase      `json:"phase,omitempty"`       // that was left
	ExitReason agentsig.ExitReason `json:"exit_reason,omitempty"` // of a session
	Commit     string              `json:"commit,omitempty"`      // that the gate or a merge speaks of
	Text       string              `json:"text,omitempty"`        // in the words of who said it
	Cut        bool                `json:"cut,omitempty"`         // there was more: the transcript has it
	PRURL      string              `json:"pr_url,omitempty"`
	Evidence   *Evidence           `json:"evidence,omitempty"`
	LeftOut    string              `json:"left_out,omitempty"` // a field that does not count, and why
}

// Evidence is a file that an agent named as its evidence, and what became of it.
type Evidence struct {
	Ref     string      `json:"ref"`               // its path in the agent's worktree
	SHA256  ledger.Hash `json:"sha256,omitzero"`   // of what was kept of it, as a blob of the ledger
	Bytes   int64       `json:"bytes,omitempty"`   //
	Problem string      `json:"problem,omitempty"` // why nothing was
}

// StatementOf reads what an event says: AgentSessionCompleted, GateFailed or MergeFailed.
func StatementOf(seq uint64, e ledger.Event) (Statement, error) {
	s := Statement{Sequence: seq, At: e.Time, By: e.Actor, Session: e.Session}
	switch e.Type {
	case AgentSessionCompleted, LateResultRecorded:
		p, err := payload[Result](e)
		s.Signal, s.Phase, s.ExitReason = p.Signal, p.PhaseCompleted, p.ExitReason
		s.PRURL, s.LeftOut, s.Cut = p.PRURL, p.LeftOut, p.Shortened
		if s.Text = p.Notes; p.Signal != agentsig.KindExit {
			s.Text = p.words()
		}
		if p.EvidenceBundleRef != "" {
			s.Evidence = evidenceOf(p.EvidenceBundleRef, p.Evidence)
		}
		return s, err
	case GateFailed:
		p, err := payload[Gate](e)
		s.Phase, s.Commit, s.Text = agentsig.PhaseCIPending, p.Commit, gateWords(p)
		return s, err
	case MergeFailed:
		p, err := payload[Merge](e)
		s.Phase, s.Commit, s.Text = agentsig.PhaseReadyForMerge, p.Commit, "it can't be merged: "+p.Reason
		if ByOperator(e.Actor) { // who was asked to approve it
			s.Text = p.Reason
		}
		return s, err
	}
	return s, fmt.Errorf("event %d of %s is of the type %s, which says nothing of the work", e.ItemSeq, e.Subject, e.Type)
}

func evidenceOf(ref string, k *Kept) *Evidence {
	e := &Evidence{Ref: ref}
	switch {
	case k == nil:
		e.Problem = "nobody has looked for it"
	case k.Blob != nil:
		e.SHA256, e.Bytes = k.Blob.SHA256, k.Blob.Size
	default:
		e.Problem = k.Problem
	}
	return e
}

// words is what was said below the signal's line, if the transcript is in place, and the signal's fields otherwise.
func (s Said) words() string {
	text := s.Transcript.Text
	if text == "" {
		return strings.TrimSpace(s.Besides(""))
	}
	if end := s.Offset + s.Length; s.Offset >= 0 && s.Length >= 0 && end <= int64(len(text)) && ledger.Hash(sha256.Sum256([]byte(text[s.Offset:end]))) == s.SHA256 {
		return strings.TrimSpace(text[end:])
	}
	_, below, _ := strings.Cut(text, "\n") // of a session's report, which is the signal alone
	return strings.TrimSpace(below)
}

func gateWords(p Gate) string {
	var failed []string
	for _, c := range p.Checks {
		if !c.Passed {
			failed = append(failed, c.Name)
		}
	}
	text := "the gate failed"
	switch {
	case p.Since == SinceStart:
		text = "nothing was changed"
	case p.Since != "":
		text = "nothing was changed since it was sent back"
	case len(failed) > 0:
		text = "these checks failed: " + strings.Join(failed, ", ")
	}
	return strings.TrimSpace(text + "\n" + p.Output)
}
