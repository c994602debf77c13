package agentreply

import (
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/ledger"
)

// ProofSnapshot is an event of the ledger that was proven to be in it.
type ProofSnapshot struct {
	Head
	Sequence int64  `json:"sequence"`
	Event    string `json:"event"`   // its type
	Subject  string `json:"subject"` // the item or run that it is about, by its name in the ledger
	Actor    string `json:"actor"`
	At       string `json:"at"`
	Signed   int64  `json:"signed_events"` // how many events the checkpoint covers
	Hashes   int    `json:"hashes"`        // from the event to the signed root
}

// Proof is the reply about a proof, which holds: the event and the checkpoint are what [ledger.Proof.Verify] returned. The file
// has the proof.
func Proof(p ledger.Proof, e ledger.Event, c ledger.Checkpoint, file agentformat.File) agentformat.Response[ProofSnapshot] {
	s := ProofSnapshot{
		Sequence: p.Index + 1, Event: word(e.Type), Subject: id(e.Subject), Actor: plain(e.Actor, inID+":", maxNamed), At: e.Time.UTC().Format(time.RFC3339),
		Signed: c.Size, Hashes: len(p.Hashes),
	}
	s.Cut = true
	s.flags.add(FlagProven, "event %d is one of the %d that the key has signed", s.Sequence, s.Signed)
	s.Verdict = fmt.Sprintf("event %d (%s) is proven to be in the ledger of %d events that the key has signed", s.Sequence, s.Event, s.Signed)
	s.Next = "nothing: the proof holds; to have it checked elsewhere, give away the file with: signalbox ledger check FILE"
	return respond(agentformat.StatusSuccess, s, file)
}

func (s ProofSnapshot) inRoom(bytes int) ProofSnapshot { s.room = bytes; return s }

// Capped is the snapshot as it is sent: it is never long.
func (s ProofSnapshot) Capped() ProofSnapshot {
	s.fit(func() int { return jsontext.Length(s) }, shorter(&s.Subject, 40))
	return s
}
