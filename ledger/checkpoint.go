package ledger

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is what is signed: the size of a tree and its root. It is written
// as a C2SP tlog-checkpoint, a signed note.
type Checkpoint struct {
	Origin string // which ledger, and which epoch of it
	Size   int64  // how many events
	Root   Hash
}

// NewKey makes a key pair for an origin. The signer's key is a secret; the
// verifier's is for everyone who checks.
func NewKey(origin string) (signer, verifier string, err error) {
	return note.GenerateKey(rand.Reader, origin)
}

func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// Sign returns the checkpoint as a signed note.
func (c Checkpoint) Sign(signerKey string) ([]byte, error) {
	signer, err := note.NewSigner(signerKey)
	if err != nil {
		return nil, fmt.Errorf("the signing key: %w", err)
	}
	if c.Origin == "" || strings.ContainsAny(c.Origin, "\n") || c.Size < 0 {
		return nil, errors.New("a checkpoint needs an origin on one line, and a size")
	}
	return note.Sign(&note.Note{Text: c.text()}, signer)
}

// OpenCheckpoint reads a signed note and checks its signature.
func OpenCheckpoint(signed []byte, verifierKey string) (Checkpoint, error) {
	v, err := note.NewVerifier(verifierKey)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the verifier's key: %w", err)
	}
	n, err := note.Open(signed, note.VerifierList(v))
	var unverified *note.UnverifiedNoteError
	if errors.As(err, &unverified) {
		return Checkpoint{}, errors.New("the checkpoint was signed by another key, or changed")
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the checkpoint's signature: %w", err)
	}
	c, err := parseCheckpoint(n.Text)
	if err != nil {
		return Checkpoint{}, err
	}
	if c.Origin != v.Name() {
		return Checkpoint{}, fmt.Errorf("the checkpoint is of %q, and the key of %q", c.Origin, v.Name())
	}
	return c, nil
}

// maxSize is how many events a ledger can have. Whoever holds a key can sign any number: near the largest one,
// arithmetic on trees overflows, and a proof would be computed without end.
const maxSize = 1 << 48

func parseCheckpoint(text string) (Checkpoint, error) {
	bad := errors.New("not a checkpoint: it has three lines, its origin, its size and its root")
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[0] == "" || lines[3] != "" {
		return Checkpoint{}, bad
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return Checkpoint{}, bad
	}
	if size > maxSize {
		return Checkpoint{}, fmt.Errorf("not a checkpoint: it says that there are %d events, and no ledger has more than %d", size, int64(maxSize))
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != len(Hash{}) {
		return Checkpoint{}, bad
	}
	return Checkpoint{lines[0], size, Hash(root)}, nil
}

// signedSize reads the size from a signed note without checking it.
func signedSize(signed []byte) (int64, error) {
	text, _, ok := strings.Cut(string(signed), "\n\n")
	if !ok {
		return 0, errors.New("not a signed checkpoint")
	}
	c, err := parseCheckpoint(text + "\n")
	return c.Size, err
}

// Continues checks by a proof from [Tree.ProveConsistency] that the tree of c
// begins with the tree of the older checkpoint.
func (c Checkpoint) Continues(older Checkpoint, proof []Hash) error {
	switch {
	case c.Origin != older.Origin:
		return fmt.Errorf("checkpoints of two ledgers: %q and %q", older.Origin, c.Origin)
	case older.Size > c.Size:
		return fmt.Errorf("the older checkpoint has %s, and the newer only %d", countEvents(older.Size), c.Size)
	case older.Size == 0:
		return nil
	case older.Size == c.Size && older.Root == c.Root:
		return nil
	}
	err := tlog.CheckTree(treeHashes(proof), c.Size, tlog.Hash(c.Root), older.Size, tlog.Hash(older.Root))
	if err != nil {
		return fmt.Errorf("the ledger of %s does not begin with the one of %d: history was changed", countEvents(c.Size), older.Size)
	}
	return nil
}

func treeHashes(hashes []Hash) []tlog.Hash {
	out := make([]tlog.Hash, len(hashes))
	for i, h := range hashes {
		out[i] = tlog.Hash(h)
	}
	return out
}

// KeyOrigin returns the origin that a verifier's key is for, or why it is no such key.
func KeyOrigin(verifierKey string) (string, error) {
	v, err := note.NewVerifier(verifierKey)
	if err != nil {
		return "", fmt.Errorf("the verifier's key: %w", err)
	}
	return v.Name(), nil
}

// VerifierKey returns the key that verifies what the signer's key signs.
func VerifierKey(signerKey string) (string, error) {
	bad := errors.New("not a signing key")
	name, rest, ok := strings.Cut(strings.TrimPrefix(signerKey, "PRIVATE+KEY+"), "+")
	_, encoded, ok2 := strings.Cut(rest, "+")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || !ok2 || err != nil || len(data) != 1+ed25519.SeedSize {
		return "", bad
	}
	if _, err := note.NewSigner(signerKey); err != nil {
		return "", bad
	}
	public, _ := ed25519.NewKeyFromSeed(data[1:]).Public().(ed25519.PublicKey)
	return note.NewEd25519VerifierKey(name, public)
}
