package access

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// The types of events on tokens.
const (
	TokenCreated = "TokenCreated"
	TokenRevoked = "TokenRevoked"
)

// Types lists every type of event on tokens, on runners and on the boxes of a cluster.
func Types() []string {
	return slices.Concat([]string{TokenCreated, TokenRevoked}, RunnerTypes(), MemberTypes())
}

// Token is a client's, as the ledger has it: the payload of TokenCreated. Nobody can make the token itself of it.
type Token struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"` // of the client
	Scopes  []Scope     `json:"scopes"`
	Created time.Time   `json:"created_at"`
	Expires time.Time   `json:"expires_at,omitzero"` // never, if it is zero
	SHA256  ledger.Hash `json:"sha256"`              // of the token
}

// Revoked is the payload of TokenRevoked.
type Revoked struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Sentence says what an event on tokens, runners or members is.
func Sentence(e ledger.Event) string {
	if slices.Contains(RunnerTypes(), e.Type) {
		return runnerSentence(e)
	}
	if slices.Contains(MemberTypes(), e.Type) {
		return memberSentence(e)
	}
	var p Token // a revoked one has less of it
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return e.Type + " that can't be read"
	}
	what := fmt.Sprintf("token %s of the client %s", p.ID, p.Name)
	switch e.Type {
	case TokenCreated:
		what = fmt.Sprintf("%s created, for %s", what, Words(p.Scopes, ", "))
		if !p.Expires.IsZero() {
			what += " until " + p.Expires.UTC().Format(time.RFC3339)
		}
	case TokenRevoked:
		what += " revoked"
	}
	return safetext.Escape(what)
}

// RevokedBy returns which token an event has ended.
func RevokedBy(e ledger.Event) (Revoked, error) {
	var p Revoked
	err := json.Unmarshal(e.Payload, &p)
	return p, err
}
