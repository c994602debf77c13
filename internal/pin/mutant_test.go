package pin_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of who is let in, dropped, is noticed.
func TestMutants(t *testing.T) {
	const file = "pin.go"
	mutant.All(t, mutant.By("TestMembers|TestPinned|TestOtherBox|TestUnknownRunner|TestBrowser|TestKeyAlone|TestRefusedHandshakes|TestOpenKey", []mutant.Mutant{
		{Name: "a runner speaks to any box", File: file, Old: "return Same(hash, box)", New: "return true"},
		{Name: "any runner is known", File: file, Old: "verify(runner, errStranger)", New: "verify(func(string) bool { return true }, errStranger)"},
		{Name: "any member is known", File: file, Old: "verify(member, errNoMember)", New: "verify(func(string) bool { return true }, errNoMember)"},
		{Name: "a runner is a member", File: file, Old: "verify(member, errNoMember)", New: "verify(func(hash string) bool { return member(hash) || runner(hash) }, errNoMember)"},
		{Name: "a member is asked as a runner", File: file, Old: "client(k, other, MemberALPN)", New: "client(k, other, ALPN)"},
		{Name: "a member is asked as who joins", File: file, Old: "client(k, other, MemberALPN)", New: "client(k, other, JoinALPN)"},
		{Name: "who joins is known", File: file, Old: "client(k, box, JoinALPN)", New: "client(k, box, ALPN)"},
		{Name: "everybody is asked for a certificate", File: file, Old: "\t\treturn nil, nil\n", New: "\t\treturn joining, nil\n"},
		{Name: "a key need not be shown", File: file, Old: "tls.RequireAnyClientCert,", New: "tls.RequestClientCert,"},
		{Name: "a certificate is looked at", File: file, Old: "tls.RequireAnyClientCert,", New: "tls.RequireAndVerifyClientCert,"},
		{Name: "a runner is shown the user's certificate", File: file, Old: "\tothers.GetConfigForClient", New: "\trunners.Certificates = others.Certificates\n\tothers.GetConfigForClient"},
		{Name: "old versions are spoken to others", File: file, Old: "others := &tls.Config{MinVersion: tls.VersionTLS13", New: "others := &tls.Config{MinVersion: tls.VersionTLS12"},
		{Name: "old versions are spoken to runners", File: file, Old: "joining := &tls.Config{\n\t\tMinVersion: tls.VersionTLS13", New: "joining := &tls.Config{\n\t\tMinVersion: tls.VersionTLS12"},
		{Name: "a runner speaks old versions", File: file, Old: "return &tls.Config{\n\t\tMinVersion: tls.VersionTLS13", New: "return &tls.Config{\n\t\tMinVersion: tls.VersionTLS12"},
		{Name: "hashes are compared by their beginning", File: file, Old: "subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1", New: "subtle.ConstantTimeCompare([]byte(a)[:min(len(a), len(b))], []byte(b)) == 1"},
		{Name: "a key before the handshake is over counts", File: file, Old: "!c.HandshakeComplete || ", New: ""},
		{Name: "every error is a refusal", File: file, Old: "errors.As(err, &op) && op.Op == theirAlert && op.Err.Error() == refusedAlert", New: "errors.As(err, &op)"},
		{Name: "another kind of key is taken", File: file, Old: "if err != nil || !ok {", New: "if _ = ok; err != nil {"},
	}))
}
