package work

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// What a runner on another machine says of checks that it ran, it signs with the key by which the box knows it. The signature is
// recorded beside the result: who has the ledger alone can hold both against the event by which that runner has joined.

// Signed is a runner's signature of what its checks came to.
type Signed struct {
	Order     string `json:"order"`            // whose result it is
	Key       []byte `json:"key"`              // its Ed25519 key, the public part
	Signature []byte `json:"signature"`        // of [GateStatement.Text]
	Joined    uint64 `json:"joined,omitempty"` // the sequence of RunnerJoined, which has the key's hash: the box's word, and not signed
}

// GateStatement is what a runner signs: what its checks came to, of which work, and whose order they were.
type GateStatement struct {
	Runner string  `json:"runner"`
	Run    string  `json:"run"` // its id
	Task   string  `json:"task"`
	Item   string  `json:"item"` // the task's subject in the ledger
	Order  string  `json:"order"`
	Commit string  `json:"commit"`
	Passed bool    `json:"passed"`
	Checks []Check `json:"checks,omitempty"`
	Files  *int    `json:"files,omitempty"`
	Output string  `json:"output_sha256"` // of what is recorded of what the checks printed
}

// signs begins what is signed. No other text that the same key signs begins so: those of TLS begin with spaces.
const signs = "signalbox gate result 1\n"

// Text is what is signed.
func (s GateStatement) Text() []byte {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // it has nothing that JSON has not
	}
	return append([]byte(signs), data...)
}

// Statement is what the runner has signed, if it said what g says, of a task of a run.
func (g Gate) Statement(run, task, item string, passed bool) GateStatement {
	sum := sha256.Sum256([]byte(g.Output))
	s := GateStatement{
		Runner: g.Runner, Run: run, Task: task, Item: item, Commit: g.Commit, Passed: passed, Checks: g.Checks, Files: g.Files,
		Output: hex.EncodeToString(sum[:]),
	}
	if g.Signed != nil {
		s.Order = g.Signed.Order
	}
	return s
}

// ErrSignature says that a result is not proven to be the runner's that it is said to be of.
var ErrSignature = errors.New("the result of these checks is not signed by the key of the runner that they ran on")

// Check holds a statement against its signature, and the key against its hash, as RunnerJoined has it.
func (s *Signed) Check(said GateStatement, keySHA256 string) error {
	switch {
	case s == nil:
		return fmt.Errorf("%w: it has no signature", ErrSignature)
	case len(s.Key) != ed25519.PublicKeySize || KeySHA256(s.Key) != keySHA256:
		return fmt.Errorf("%w: it is by another key", ErrSignature)
	case !ed25519.Verify(s.Key, said.Text(), s.Signature):
		return fmt.Errorf("%w: the signature is of something else", ErrSignature)
	}
	return nil
}

// ed25519Info is what comes before an Ed25519 key in its SubjectPublicKeyInfo (RFC 8410).
var ed25519Info = []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}

// KeySHA256 is what an Ed25519 key is known by: the SHA-256 of its SubjectPublicKeyInfo, in hexadecimal digits.
func KeySHA256(key []byte) string {
	sum := sha256.Sum256(slices.Concat(ed25519Info, key))
	return hex.EncodeToString(sum[:])
}
