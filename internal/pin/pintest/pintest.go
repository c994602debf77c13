// Package pintest makes, for tests, a certificate as a user has one: an authority has signed it, and it has names.
package pintest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificate is one of a user's, in files.
type Certificate struct {
	Cert, Key string // files in PEM
	Leaf      *x509.Certificate
	Roots     *x509.CertPool // the authority
}

// New makes one for names and IP addresses, by an authority of its own.
func New(t *testing.T, names ...string) Certificate {
	t.Helper()
	authority, signer, err := sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	leaf, key, err := sign(c, authority, signer)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	made := Certificate{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), leaf, x509.NewCertPool()}
	made.Roots.AddCert(authority)
	err = errors.Join(
		os.WriteFile(made.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}), 0o600),
		os.WriteFile(made.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// sign makes a key, and a certificate for it that says what c does. Without an authority it signs itself.
func sign(c, authority *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	if authority == nil {
		authority, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, authority, key.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return leaf, key, err
}
