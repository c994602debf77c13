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

// Invitation is what a machine needs to join a box as a runner, or as a box of its cluster: where the box listens, which key it has, and a secret that is good once. It is
// written as one word ([Invitation.String], [Invitation.ClusterString]), for a shell's command line.
type Invitation struct {
	Box    []string `json:"box"`    // addresses, such as 192.0.2.7:7443; the first that answers is taken
	Key    string   `json:"key"`    // the SHA-256 of the box's public key, in hexadecimal digits
	Secret string   `json:"secret"` // [InvitationSecret]
}

// InvitationPattern matches an invitation.
const InvitationPattern = `sb[rc]1_[0-9A-Za-z_-]{100,}`

// What an invitation begins with: a runner's, and that of a box.
const (
	invitationPrefix = "sbr1_"
	clusterPrefix    = "sbc1_"
)

// MaxAddresses is how many addresses an invitation has at most.
const (
	MaxAddresses  = 16
	maxAddress    = 300     // bytes
	maxInvitation = 8 << 10 // bytes
)

// Why a text is no invitation.
var (
	ErrBadInvitation        = errors.New("this is no invitation: give the whole word that `signalbox runner invite` printed, which begins with " + invitationPrefix)
	ErrBadClusterInvitation = errors.New("this is no invitation to a cluster: give the whole word that `signalbox cluster invite` printed, which begins with " + clusterPrefix)
)

// InvitationSecret makes the secret of an invitation out of 256 random bits.
func InvitationSecret(bits [32]byte) string { return hex.EncodeToString(bits[:]) }

// String writes a runner's invitation as one word of letters, digits, '_' and '-'.
func (i Invitation) String() string { return i.word(invitationPrefix) }

// ClusterString writes a box's invitation likewise.
func (i Invitation) ClusterString() string { return i.word(clusterPrefix) }

func (i Invitation) word(prefix string) string {
	text, _ := json.Marshal(i) // it has texts alone: it never fails
	return prefix + base64.RawURLEncoding.EncodeToString(text)
}

// ParseInvitation reads what [Invitation.String] writes, also if it was broken on the way: into lines, or by blanks.
func ParseInvitation(word string) (Invitation, error) {
	return parseInvitation(word, invitationPrefix, ErrBadInvitation)
}

// ParseClusterInvitation reads what [Invitation.ClusterString] writes.
func ParseClusterInvitation(word string) (Invitation, error) {
	return parseInvitation(word, clusterPrefix, ErrBadClusterInvitation)
}

func parseInvitation(word, prefix string, bad error) (i Invitation, err error) {
	if len(word) > maxInvitation {
		return Invitation{}, bad
	}
	rest, ok := strings.CutPrefix(strings.Join(strings.Fields(word), ""), prefix)
	if !ok {
		return Invitation{}, bad
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err != nil || json.Unmarshal(text, &i) != nil {
		return Invitation{}, bad
	}
	var sum ledger.Hash
	if len(i.Box) == 0 || len(i.Box) > MaxAddresses || slices.ContainsFunc(i.Box, badAddress) ||
		sum.UnmarshalText([]byte(i.Key)) != nil || sum.UnmarshalText([]byte(i.Secret)) != nil {
		return Invitation{}, bad
	}
	return i, nil
}

func badAddress(address string) bool {
	return address == "" || len(address) > maxAddress || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' })
}
