// Package pin is how a box and its runners, and the members of a cluster, know each other over a network: each has an Ed25519 key, and the
// other the SHA-256 of its public part, as ssh has it. There is no authority, and no secret goes over the wire.
//
// TLS wants certificates, so each side makes one for its key when it starts. What stands in a certificate besides the key (names,
// times, who signed it) is not looked at: a wrong clock keeps nobody out, and nobody else's signature lets anybody in. A key is
// proven by the handshake, and compared by its hash alone ([PeerHash]).
//
// A runner or a member says that it is one by a protocol that it offers in its handshake ([ALPN], [MemberALPN], [JoinALPN]): the box asks nobody else for a
// certificate, so that a browser does not ask the person before it which one to take. What is spoken then is HTTP/1.1, which is
// what the box's limits on connections are made for (package httpserver).
package pin

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// What a client offers in its handshake besides what it speaks.
const (
	ALPN       = "signalbox-runner/1" // it is a runner that has joined: a key that the box does not know ends the handshake
	MemberALPN = "signalbox-member/1" // it is a member of the box's cluster: a key that is no member's ends the handshake
	JoinALPN   = "signalbox-join/1"   // it is about to join, as the one or the other, with any key
)

// File is where [OpenKey] keeps a key, in PEM.
const File = "tls.key"

// Key is a key of this machine's, and a certificate for it.
type Key struct {
	certificate tls.Certificate
	hash        string
}

// ErrBadKey is why a key's file is not taken.
var ErrBadKey = errors.New("it holds no Ed25519 key in PEM (PKCS #8)")

// OpenKey reads the key in a directory, or makes one there, for the directory's owner alone. No two processes may do so at once.
func OpenKey(dir string) (*Key, error) {
	k, err := ReadKey(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	data, err := newKey()
	if err == nil {
		err = durable.WriteFile(filepath.Join(dir, File), data)
	}
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// ReadKey reads the key in a directory, and makes none: [fs.ErrNotExist] says that there is none.
func ReadKey(dir string) (*Key, error) {
	file := filepath.Join(dir, File)
	data, err := regular.Read(file, maxKey)
	if err != nil {
		return nil, err
	}
	k, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: put it back from a copy; without the key that it held, who has pinned it has to be invited again", file, err)
	}
	return k, nil
}

const (
	maxKey  = 64 << 10 // bytes of a key's file
	pemType = "PRIVATE KEY"
)

func newKey() ([]byte, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), err
}

func parse(data []byte) (*Key, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != pemType {
		return nil, ErrBadKey
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := any.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, ErrBadKey
	}
	// All but the key is the same always: the certificate is, too.
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280: it has no end
	}
	der, err := x509.CreateCertificate(nil, &template, &template, private.Public(), private)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Key{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf}, hashOf(leaf)}, nil
}

// Hash returns what others know the key by: the SHA-256 of its SubjectPublicKeyInfo, in hexadecimal digits.
func (k *Key) Hash() string { return k.hash }

// Sign signs a text, and returns the key's public part with the signature. The text begins with what says what it is: the same key
// signs handshakes.
func (k *Key) Sign(text []byte) (public, signature []byte) {
	private := k.certificate.PrivateKey.(ed25519.PrivateKey)
	return slices.Clone(private.Public().(ed25519.PublicKey)), ed25519.Sign(private, text)
}

func hashOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// IsHash reports whether a text can be the hash of a key.
func IsHash(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size && hex.EncodeToString(sum) == text
}

// PeerHash returns the hash of the key that the other side of a connection has proven that it has; false if it was not asked, or
// the connection is nil.
func PeerHash(c *tls.ConnectionState) (string, bool) {
	if c == nil || !c.HandshakeComplete || len(c.PeerCertificates) == 0 {
		return "", false
	}
	return hashOf(c.PeerCertificates[0]), true
}

// Why a handshake fails.
var (
	ErrOtherBox  = errors.New("the box has another key than the one that was pinned: this is another box, or somebody between")
	errNoKey     = errors.New("no key was shown")
	errStranger  = errors.New("the key is no runner's of this box")
	errNoMember  = errors.New("the key is no member's of this box's cluster")
	protocols    = []string{"http/1.1"}
	theirAlert   = "remote error"             // as net.OpError says that the other side ended the handshake
	refusedAlert = tls.AlertError(42).Error() // bad_certificate, which follows from what VerifyConnection returns
)

// Server is how a box answers. Runners, members, and who joins, are shown its own key; all others the user's certificate, if there is one. Runner
// says whether a runner has joined with a key, and member whether it is a member's of the cluster; they are asked at each handshake, beside others.
func Server(k *Key, users *tls.Certificate, runner, member func(hash string) bool) *tls.Config {
	others := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: protocols, Certificates: []tls.Certificate{k.certificate}}
	if users != nil {
		others.Certificates = []tls.Certificate{*users}
	}
	joining := &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: protocols, Certificates: []tls.Certificate{k.certificate},
		ClientAuth:             tls.RequireAnyClientCert, // the handshake proves the key; whose it is, nobody else says
		SessionTicketsDisabled: true,                     // a key is proven each time
	}
	runners, members := joining.Clone(), joining.Clone()
	runners.VerifyConnection = verify(runner, errStranger)
	members.VerifyConnection = verify(member, errNoMember)
	others.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		switch {
		case slices.Contains(hello.SupportedProtos, ALPN):
			return runners, nil
		case slices.Contains(hello.SupportedProtos, MemberALPN):
			return members, nil
		case slices.Contains(hello.SupportedProtos, JoinALPN):
			return joining, nil
		}
		return nil, nil
	}
	return others
}

// verify returns what ends a handshake, and why, unless the key that was proven is one that is let in.
func verify(in func(hash string) bool, why error) func(tls.ConnectionState) error {
	return func(c tls.ConnectionState) error {
		if len(c.PeerCertificates) == 0 {
			return errNoKey
		}
		if !in(hashOf(c.PeerCertificates[0])) {
			return why
		}
		return nil
	}
}

// Client is how a runner that has joined asks the box whose key has the hash.
func Client(k *Key, box string) *tls.Config { return client(k, box, ALPN) }

// Member is how a member of a cluster asks another one, whose key has the hash.
func Member(k *Key, other string) *tls.Config { return client(k, other, MemberALPN) }

// Joining is how one asks that is about to join.
func Joining(k *Key, box string) *tls.Config { return client(k, box, JoinALPN) }

func client(k *Key, box, offer string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: append([]string{offer}, protocols...),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &k.certificate, nil },
		InsecureSkipVerify:   true, // there is no authority: VerifyConnection compares the key
		VerifyConnection:     verify(func(hash string) bool { return Same(hash, box) }, ErrOtherBox),
	}
}

// Same compares two hashes of keys. How long it takes says nothing about them.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Refused reports whether the other side ended the handshake because of the key that it was shown: a box that does not know a runner, or a
// member, does. A connection can break before that is heard, so not every refusal is told.
func Refused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == theirAlert && op.Err.Error() == refusedAlert
}
