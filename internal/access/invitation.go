package access

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/ledger"
)

// Invitation is what a machine needs to join a box: where the box listens, which key it has, and a secret that is good once. It is
// written as one word ([Invitation.String]), for a shell's command line.
type Invitation struct {
	Box    []string `json:"box"`    // addresses, such as 192.0.2.7:7443; the first that answers is taken
	Key    string   `json:"key"`    // the SHA-256 of the box's public key, in hexadecimal digits
	Secret string   `json:"secret"` // [InvitationSecret]
}

// InvitationPattern matches an invitation.
const InvitationPattern = invitationPrefix + `[0-9A-Za-z_-]{100,}`

const invitationPrefix = "sbr1_"

// MaxAddresses is how many addresses an invitation has at most.
const (
	MaxAddresses  = 16
	maxAddress    = 300     // bytes
	maxInvitation = 8 << 10 // bytes
)

// ErrBadInvitation is why a text is no invitation.
var ErrBadInvitation = errors.New("this is no invitation: give the whole word that `signalbox runner invite` printed, which begins with " + invitationPrefix)

// InvitationSecret makes the secret of an invitation out of 256 random bits.
func InvitationSecret(bits [32]byte) string { return hex.EncodeToString(bits[:]) }

// String writes the invitation as one word of letters, digits, '_' and '-'.
func (i Invitation) String() string {
	text, _ := json.Marshal(i) // it has texts alone: it never fails
	return invitationPrefix + base64.RawURLEncoding.EncodeToString(text)
}

// ParseInvitation reads what [Invitation.String] writes, also if it was broken on the way: into lines, or by blanks.
func ParseInvitation(word string) (i Invitation, err error) {
	if len(word) > maxInvitation {
		return Invitation{}, ErrBadInvitation
	}
	rest, ok := strings.CutPrefix(strings.Join(strings.Fields(word), ""), invitationPrefix)
	if !ok {
		return Invitation{}, ErrBadInvitation
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err != nil || json.Unmarshal(text, &i) != nil {
		return Invitation{}, ErrBadInvitation
	}
	var sum ledger.Hash
	bad := func(address string) bool {
		return address == "" || len(address) > maxAddress || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	if len(i.Box) == 0 || len(i.Box) > MaxAddresses || slices.ContainsFunc(i.Box, bad) ||
		sum.UnmarshalText([]byte(i.Key)) != nil || sum.UnmarshalText([]byte(i.Secret)) != nil {
		return Invitation{}, ErrBadInvitation
	}
	return i, nil
}
