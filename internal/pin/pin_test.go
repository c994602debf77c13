package pin_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/work"
)

func open(t *testing.T) *pin.Key {
	t.Helper()
	k, err := pin.OpenKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// server answers with the hash of the key that it is shown and the protocol that is spoken, and counts what reaches it.
func server(t *testing.T, config *tls.Config) (address string, reached *atomic.Int32) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reached = new(atomic.Int32)
	s := &http.Server{
		Protocols: new(http.Protocols),
		TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached.Add(1)
			hash, _ := pin.PeerHash(r.TLS)
			_, _ = io.WriteString(w, r.Proto+" "+hash)
		}),
	}
	s.Protocols.SetHTTP1(true)
	served := make(chan error, 1)
	go func() { served <- s.ServeTLS(l, "", "") }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), <-served); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String(), reached
}

// ask makes a request, and returns what is answered.
func ask(t *testing.T, address string, config *tls.Config) (string, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func only(keys ...*pin.Key) func(string) bool {
	return func(hash string) bool {
		for _, k := range keys {
			if pin.Same(hash, k.Hash()) {
				return true
			}
		}
		return false
	}
}

// A runner and its box know each other by their keys.
func TestPinned(t *testing.T) {
	box, runner := open(t), open(t)
	address, _ := server(t, pin.Server(box, nil, only(runner), only()))
	for name, config := range map[string]*tls.Config{"a runner": pin.Client(runner, box.Hash()), "who joins": pin.Joining(runner, box.Hash())} {
		if got, err := ask(t, address, config); err != nil || got != "HTTP/1.1 "+runner.Hash() {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A runner does not speak to a box with another key: not to one that a known authority signed, and not if nothing was pinned.
func TestOtherBox(t *testing.T) {
	box, other, runner := open(t), open(t), open(t)
	address, reached := server(t, pin.Server(other, nil, only(runner), only()))
	for _, hash := range []string{box.Hash(), "", strings.ToUpper(other.Hash()), other.Hash()[:63], other.Hash() + "0"} {
		for name, config := range map[string]*tls.Config{"a runner": pin.Client(runner, hash), "a member": pin.Member(runner, hash), "who joins": pin.Joining(runner, hash)} {
			if got, err := ask(t, address, config); !errors.Is(err, pin.ErrOtherBox) {
				t.Errorf("%s pins %q: %q, %v", name, hash, got, err)
			}
		}
	}
	if reached.Load() != 0 {
		t.Error("a request was sent to another box")
	}
}

// A box ends the handshake of who says that it is a runner and shows another key, before it looks at any request; who is about to join has
// any key.
func TestUnknownRunner(t *testing.T) {
	box, runner, other := open(t), open(t), open(t)
	address, reached := server(t, pin.Server(box, nil, only(runner), only()))
	for range 100 { // a connection can break before the reason comes
		got, err := ask(t, address, pin.Client(other, box.Hash()))
		if err == nil {
			t.Fatalf("an unknown runner is answered %q", got)
		}
		if pin.Refused(err) {
			break
		}
	}
	if _, err := ask(t, address, pin.Client(other, box.Hash())); err == nil || reached.Load() != 0 {
		t.Errorf("%d requests of an unknown runner came through: %v", reached.Load(), err)
	}
	if got, err := ask(t, address, pin.Joining(other, box.Hash())); err != nil || got != "HTTP/1.1 "+other.Hash() {
		t.Errorf("who joins: %q, %v", got, err)
	}
	if pin.Refused(nil) || pin.Refused(pin.ErrOtherBox) || pin.Refused(&net.OpError{Op: "dial", Err: errors.New("refused")}) {
		t.Error("something else is taken for a refusal")
	}
}

// The members of a cluster know each other by their keys, both ways: a runner's key is no member's, and a member's no runner's; and a
// member is shown the box's own key, whatever certificate its users are shown.
func TestMembers(t *testing.T) {
	box, member, runner, other := open(t), open(t), open(t), open(t)
	users := certificate(t, ecdsaKey(t), nil, nil)
	address, reached := server(t, pin.Server(box, &users, only(runner), only(member)))
	if got, err := ask(t, address, pin.Member(member, box.Hash())); err != nil || got != "HTTP/1.1 "+member.Hash() {
		t.Errorf("a member: %q, %v", got, err)
	}
	before := reached.Load()
	for name, config := range map[string]*tls.Config{
		"a stranger as a member": pin.Member(other, box.Hash()), "a runner as a member": pin.Member(runner, box.Hash()), "a member as a runner": pin.Client(member, box.Hash()),
	} {
		if got, err := ask(t, address, config); err == nil {
			t.Errorf("%s is answered %q", name, got)
		}
	}
	if _, err := ask(t, address, pin.Member(member, other.Hash())); !errors.Is(err, pin.ErrOtherBox) {
		t.Errorf("a member speaks to another box: %v", err)
	}
	if reached.Load() != before {
		t.Error("a request of one that is no member came through")
	}
}

// handshake makes one, sees it through on both sides, and returns how it was and why it failed.
func handshake(t *testing.T, server, client *tls.Config) (c tls.ConnectionState, ofServer, ofClient error) {
	t.Helper()
	a, b := net.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		s := tls.Server(a, server)
		err := s.HandshakeContext(ctx)
		c = s.ConnectionState()
		done <- errors.Join(err, s.Close())
	}()
	client = client.Clone()
	if client.ServerName == "" {
		client.ServerName = "box"
	}
	conn := tls.Client(b, client)
	ofClient = conn.HandshakeContext(ctx)
	if ofClient == nil {
		_, _ = io.Copy(io.Discard, conn) // until the server has ended it
	}
	_ = b.Close()
	return c, <-done, ofClient
}

// Whoever does not offer a runner's protocol is asked for no certificate, and a certificate that nobody asked for is nobody's.
func TestBrowser(t *testing.T) {
	box, runner := open(t), open(t)
	asked := false
	browser := &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked = true
			return new(tls.Certificate), nil
		},
	}
	users := certificate(t, ecdsaKey(t), nil, nil)
	config := pin.Server(box, &users, only(runner), only())
	c, err, of := handshake(t, config, browser)
	if asked || err != nil || of != nil {
		t.Errorf("a browser was asked: %t, %v, %v", asked, err, of)
	}
	if hash, ok := pin.PeerHash(&c); ok || hash != "" {
		t.Errorf("a browser has the key %q", hash)
	}
	// It is shown the user's certificate; a runner the key that it has pinned.
	var shown []byte
	browser.VerifyConnection = func(c tls.ConnectionState) error {
		shown = c.PeerCertificates[0].Raw
		return nil
	}
	if _, err, of := handshake(t, config, browser); err != nil || of != nil || string(shown) != string(users.Certificate[0]) {
		t.Errorf("a browser is shown another certificate: %v, %v", err, of)
	}
	if _, err, of := handshake(t, config, pin.Client(runner, box.Hash())); err != nil || of != nil {
		t.Errorf("a runner of a box with the user's certificate: %v, %v", err, of)
	}
	if hash, ok := pin.PeerHash(nil); ok || hash != "" {
		t.Errorf("a connection without TLS has the key %q", hash)
	}
	if hash, ok := pin.PeerHash(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}); ok || hash != "" {
		t.Errorf("before the handshake is over, the key is %q", hash)
	}
}

func ecdsaKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// certificate makes one that ended long ago for a key, signed by an authority, or by itself.
func certificate(t *testing.T, key crypto.Signer, authority *x509.Certificate, signer crypto.Signer) tls.Certificate {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "somebody"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if authority == nil {
		authority, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, authority, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// What a certificate says besides its key makes no difference: not its end, not who signed it, on neither side.
func TestKeyAlone(t *testing.T) {
	keyOf := func(dir string) ed25519.PrivateKey {
		data, err := os.ReadFile(filepath.Join(dir, pin.File))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(data)
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return key.(ed25519.PrivateKey)
	}
	box, dir := open(t), t.TempDir()
	runner, err := pin.OpenKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	key, authority := keyOf(dir), ecdsaKey(t)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Unix(1, 0), KeyUsage: x509.KeyUsageCertSign}
	expired := certificate(t, key, nil, nil)
	foreign := certificate(t, key, root, authority)
	for name, cert := range map[string]tls.Certificate{"one that has expired": expired, "one that somebody else signed": foreign} {
		config := pin.Client(runner, box.Hash())
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
		c, err, of := handshake(t, pin.Server(box, nil, only(runner), only()), config)
		if hash, _ := pin.PeerHash(&c); err != nil || of != nil || hash != runner.Hash() {
			t.Errorf("a runner with %s: %q, %v, %v", name, hash, err, of)
		}
		shows := &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}
		if _, err, of := handshake(t, shows, pin.Client(box, runner.Hash())); err != nil || of != nil {
			t.Errorf("a box with %s: %v, %v", name, err, of)
		}
	}
	// The other way round: a certificate that names the runner's key in words alone, or has it only behind the first, is nobody's.
	other := ecdsaKey(t)
	chain := certificate(t, other, nil, nil)
	chain.Certificate = append(chain.Certificate, expired.Certificate[0])
	config := pin.Client(runner, box.Hash())
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &chain, nil }
	if _, err, _ := handshake(t, pin.Server(box, nil, only(runner), only()), config); err == nil {
		t.Error("a runner's certificate behind another one lets in")
	}
	// And who shows the runner's certificate without having its key fails to prove it.
	stolen := tls.Certificate{Certificate: expired.Certificate, PrivateKey: ed25519.NewKeyFromSeed(make([]byte, 32))}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &stolen, nil }
	if _, err, _ := handshake(t, pin.Server(box, nil, only(runner), only()), config); err == nil {
		t.Error("a runner's certificate lets in who has not its key")
	}
}

// Who offers a runner's protocol shows a key, or the handshake ends; older versions of TLS are not spoken, on either side.
func TestRefusedHandshakes(t *testing.T) {
	box, runner := open(t), open(t)
	all := pin.Server(box, nil, func(string) bool { return true }, func(string) bool { return true })
	for name, client := range map[string]func(*tls.Config){
		"TLS 1.2": func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 },
		"TLS 1.2, which renegotiates": func(c *tls.Config) {
			c.MinVersion, c.MaxVersion, c.Renegotiation = tls.VersionTLS12, tls.VersionTLS12, tls.RenegotiateFreelyAsClient
		},
		"no certificate": func(c *tls.Config) {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return new(tls.Certificate), nil }
		},
		"nothing that is spoken": func(c *tls.Config) { c.NextProtos = c.NextProtos[:1] },
	} {
		for _, config := range []*tls.Config{pin.Client(runner, box.Hash()), pin.Member(runner, box.Hash()), pin.Joining(runner, box.Hash())} {
			client(config)
			if _, err, _ := handshake(t, all, config); err == nil {
				t.Errorf("a runner with %s gets in, offering %s", name, config.NextProtos[0])
			}
		}
	}
	old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}
	if _, err, of := handshake(t, all, old); err == nil || of == nil {
		t.Errorf("a browser with TLS 1.2 gets in: %v, %v", err, of)
	}
	older := all.Clone()
	older.MinVersion, older.MaxVersion, older.GetConfigForClient = tls.VersionTLS12, tls.VersionTLS12, nil
	if _, _, of := handshake(t, older, pin.Client(runner, box.Hash())); of == nil {
		t.Error("a runner speaks TLS 1.2")
	}
}

// A key is its directory's owner's alone, and the same whenever it is read.
func TestOpenKey(t *testing.T) {
	dir := t.TempDir()
	made, err := pin.OpenKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, pin.File)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if again, err := pin.OpenKey(dir); err != nil || again.Hash() != made.Hash() || !pin.IsHash(made.Hash()) {
		t.Errorf("read again: %v", err)
	}
	if open(t).Hash() == made.Hash() {
		t.Error("two directories have one key")
	}
	der, err := x509.MarshalPKCS8PrivateKey(ecdsaKey(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "key", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := pin.OpenKey(dir); !errors.Is(err, pin.ErrBadKey) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", text, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("a file that is no key was changed: %q, %v", got, err)
		}
	}
	if _, err := pin.OpenKey(filepath.Join(dir, "missing")); err == nil {
		t.Error("a directory was made")
	}
	public, signature := made.Sign([]byte("a text"))
	if !ed25519.Verify(public, []byte("a text"), signature) || work.KeySHA256(public) != made.Hash() {
		t.Error("what the key signs is not proven by what it is known by")
	}
	for text, want := range map[string]bool{made.Hash(): true, strings.ToUpper(made.Hash()): false, made.Hash()[:62]: false, made.Hash() + "00": false, "": false, strings.Repeat("x", 64): false} {
		if pin.IsHash(text) != want {
			t.Errorf("%q is a hash: %t", text, !want)
		}
	}
}
