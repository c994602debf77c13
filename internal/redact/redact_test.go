package redact

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Samples are put together here, so that no scanner takes this file for a leak.
var (
	hex32 = strings.Repeat("0a1b2c3d", 4)
	b64   = strings.Repeat("aB3dE6gH", 12)
	line  = b64[:64]
	dash  = strings.Repeat("-", 5)
)

func begin(label string) string { return dash + "BEGIN " + label + dash }
func end(label string) string   { return dash + "END " + label + dash }

// samples has at least one secret of each kind, alone.
var samples = []struct{ kind, secret string }{
	{"aws-key-id", "AK" + "IA" + "IOSFODNN7EXAMPLE"},
	{"aws-key-id", "AS" + "IA" + "IOSFODNN7EXAMPLE"},
	{"github-token", "ghp" + "_" + strings.Repeat("a1B2", 9)},
	{"github-token", "gho" + "_" + strings.Repeat("a1B2", 9)},
	{"github-token", "ghu" + "_" + strings.Repeat("a1B2", 9)},
	{"github-token", "ghs" + "_" + strings.Repeat("a1B2", 9)},
	{"github-token", "ghr" + "_" + strings.Repeat("a1B2", 19)},
	{"github-token", "github" + "_pat_" + b64[:22] + "_" + b64[:59]},
	{"gitlab-token", "glpat" + "-" + b64[:20]},
	{"gitlab-token", "glpat" + "-" + b64[:27] + ".01.0a1b2c3d4"},
	{"gitlab-token", "glrt" + "-" + b64[:20]},
	{"slack-token", "xoxb" + "-123456789012-123456789012-" + b64[:24]},
	{"slack-token", "xoxp" + "-123456789012-" + hex32},
	{"slack-token", "xapp" + "-1-A0123456789-1234567890123-" + hex32},
	{"google-api-key", "AI" + "za" + b64[:35]},
	{"google-oauth-token", "ya29" + "." + b64 + "-_" + b64},
	{"google-oauth-secret", "GOCSPX" + "-" + b64[:28]},
	{"stripe-key", "sk" + "_live_" + b64[:24]},
	{"stripe-key", "rk" + "_live_" + b64[:24]},
	{"stripe-key", "sk" + "_test_" + b64[:24]},
	{"anthropic-key", "sk" + "-ant-api03-" + b64 + "-AA"},
	{"openai-key", "sk" + "-" + b64[:48]},
	{"openai-key", "sk" + "-proj-" + b64 + "_-" + b64},
	{"npm-token", "npm" + "_" + b64[:36]},
	{"pypi-token", "pypi" + "-AgEIcHlwaS5vcmc" + b64 + "-_"},
	{"huggingface-token", "hf" + "_" + b64[:34]},
	{"digitalocean-token", "dop" + "_v1_" + hex32 + hex32},
	{"sendgrid-key", "SG" + "." + b64[:22] + "." + b64[:43]},
	{"twilio-key", "SK" + hex32},
	{"age-key", "AGE-SECRET" + "-KEY-1" + strings.Repeat("QPZRY9X8", 8)[:58]},
	{"note-signer-key", "PRIVATE" + "+KEY+ledger.example/epoch/1+0a1b2c3d+" + b64[:44]},
	{"jwt", "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0." + b64[:43]},
	{"jwt", "eyJ" + "hbGciOiJkaXIifQ" + ".." + b64[:16] + "." + b64[:20] + "." + b64[:22]},
	{"private-key", begin("PRIVATE KEY") + "\n" + line + "\n" + line + "\nabc=\n" + end("PRIVATE KEY")},
	{"private-key", begin("RSA PRIVATE KEY") + "\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,0A1B\r\n\r\n" + line + "\r\n" + end("RSA PRIVATE KEY")},
	{"private-key", begin("PGP PRIVATE KEY BLOCK") + "\n\n" + line + "\n=abcd\n" + end("PGP PRIVATE KEY BLOCK")},
	{"private-key", begin("OPENSSH PRIVATE KEY") + `\n` + line + `\nabc=\n` + end("OPENSSH PRIVATE KEY")},
	{"private-key", begin("EC PRIVATE KEY") + `\\n` + line + `\\n` + end("EC PRIVATE KEY")},
	{"private-key", begin("PRIVATE KEY") + "\n     2\t" + line + "\n     3\t" + end("PRIVATE KEY")},
	{"private-key", begin("PRIVATE KEY") + "\n" + line + "\n" + line}, // cut off
	{"private-key", begin("RSA PRIVATE KEY") + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n" + line + "\n" + line[:30]},
	{"private-key", begin("PRIVATE KEY") + `\n` + line + `\n` + line},
	{"private-key", begin("PRIVATE KEY") + "\n     2\t" + line + "\n     3\t" + line},
}

func redactor(t testing.TB, extra ...string) *Redactor {
	t.Helper()
	r, err := New(extra)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func check(t *testing.T, r *Redactor, in, want string) {
	t.Helper()
	got := r.Text(in)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Text(%q) (-want +got):\n%s", in, diff)
	}
	if again := r.Text(got); again != got {
		t.Errorf("Text(%q) changes to %q when redacted again", got, again)
	}
	if b := string(r.Bytes([]byte(in))); b != got {
		t.Errorf("Bytes(%q) = %q, and Text gives %q", in, b, got)
	}
}

func TestEveryKindHasASample(t *testing.T) {
	seen := map[string]bool{"aws-secret-key": true, "slack-webhook": true, "url-password": true, "authorization": true} // in TestContextStays
	for _, s := range samples {
		seen[s.kind] = true
	}
	for _, k := range kinds {
		if !seen[k.name] {
			t.Errorf("no sample of %s", k.name)
		}
	}
}

func TestSecrets(t *testing.T) {
	r := redactor(t)
	for _, s := range samples {
		mark := "[redacted:" + s.kind + "]"
		for _, around := range []string{
			"%s", "KEY=%s", "a token: %s\nand text", "(%s)", "'%s'", `{"a":"%s"}`, `{"a":"x\n%s\"y\""}`, `x\u0026%s`,
			"\x1b[1;32m%s\x1b[0m", "https://example.com/?q=%%3D%s", "%[1]s %[1]s", "“%s”", "[redacted:listed]%s", "日本%s",
		} {
			if strings.Contains(s.secret, "BEGIN") && !strings.Contains(s.secret, "END") && strings.Contains(around, "[1]s ") {
				continue // the first goes on in the second
			}
			check(t, r, fmt.Sprintf(around, s.secret), fmt.Sprintf(around, mark))
		}
	}
}

func TestContextStays(t *testing.T) {
	r := redactor(t)
	key, pat := b64[:18]+"/+"+b64[:20], "ghp"+"_"+strings.Repeat("a1B2", 9)
	for _, c := range []struct{ in, want string }{
		{"aws_secret_access_key = " + key, "aws_secret_access_key = [redacted:aws-secret-key]"},
		{"export AWS_SECRET_ACCESS_KEY='" + key + "'", "export AWS_SECRET_ACCESS_KEY='[redacted:aws-secret-key]'"},
		{`{"SecretAccessKey": "` + key + `"}`, `{"SecretAccessKey": "[redacted:aws-secret-key]"}`},
		{`"{\"SecretAccessKey\":\"` + key + `\"}"`, `"{\"SecretAccessKey\":\"[redacted:aws-secret-key]\"}"`},
		{`"secret_access_key=\u0022` + key + `\u0022"`, `"secret_access_key=\u0022[redacted:aws-secret-key]\u0022"`},
		{`"secret_access_key=\/` + key + `"`, `"secret_access_key=[redacted:aws-secret-key]"`},

		{"https://hooks.slack.com/services/T01234567/B01234567/" + b64[:24], "https://hooks.slack.com/services/[redacted:slack-webhook]"},
		{`"https:\/\/hooks.slack.com\/services\/T01234567\/B01234567\/` + b64[:24] + `"`, `"https:\/\/hooks.slack.com\/services\/[redacted:slack-webhook]"`},

		{"postgres://app:s3cr3t@db:5432/x", "postgres://app:[redacted:url-password]@db:5432/x"},
		{"redis://:p@ss[w]ord@cache", "redis://:[redacted:url-password]@cache"},
		{`"amqp:\/\/u:a\u0026b@h"`, `"amqp:\/\/u:[redacted:url-password]@h"`},
		{"https://x:" + pat + "@github.com/a/b", "https://x:[redacted:url-password]@github.com/a/b"},
		{"https://" + pat + "@github.com/a/b", "https://[redacted:github-token]@github.com/a/b"},
		{"https://" + pat + ":x-oauth-basic@github.com", "https://[redacted:github-token]:[redacted:url-password]@github.com"},
		{"https://u:[redacted:listed]@h", "https://u:[redacted:listed]@h"},
		{"https://u:x" + begin("PRIVATE KEY") + line + end("PRIVATE KEY") + "@h", "https://u:[redacted:url-password]@h"},

		{"Authorization: Bearer abcdef0123456789", "Authorization: Bearer [redacted:authorization]"},
		{"authorization: basic dXNlcjpwYXNzd29yZA==\r\n", "authorization: basic [redacted:authorization]\r\n"},
		{"curl -H 'Proxy-Authorization: Bearer " + b64 + "' x", "curl -H 'Proxy-Authorization: Bearer [redacted:authorization]' x"},
		{`{"Authorization":"Bearer ` + b64 + `"}`, `{"Authorization":"Bearer [redacted:authorization]"}`},
		{`h.Set("Authorization", "Bearer ` + b64 + `")`, `h.Set("Authorization", "Bearer [redacted:authorization]")`},

		// The n belongs to the escape, or might.
		{`"a\npm` + "_" + b64[:36] + `"`, `"a\n[redacted:npm-token]"`},
		// What is cut off ends where it no longer looks like a key.
		{begin("PRIVATE KEY") + "\n" + line + "\n$ go test ./...\nok", "[redacted:private-key]\n$ go test ./...\nok"},
		{`{"a":"` + begin("PRIVATE KEY") + `\n` + line + `","b":"c"}`, `{"a":"[redacted:private-key]","b":"c"}`},
		{begin("PRIVATE KEY") + "\n" + begin("PRIVATE KEY") + "\n" + line + "\n" + end("PRIVATE KEY"), begin("PRIVATE KEY") + "\n[redacted:private-key]"},
	} {
		check(t, r, c.in, c.want)
	}
}

var leftAlone = []string{
	"", "a", "sk", "ordinary prose, with a task-force and a risk-free desk-top; ask-me-anything",
	"READY_FOR_REVIEW: T-1", `<signal kind="done" task="T-1">all tests pass</signal>`,
	`{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"IMPLEMENTATION","exit_reason":"completed","pr_url":"https://github.com/a/b/pull/1"}`,
	"commit 84e1557b0f1d5b8a7c6d5e4f3a2b1c0d9e8f7a6b", "sha256:" + hex32 + hex32, strings.ToUpper(hex32), "SK" + hex32 + hex32,
	"123e4567-e89b-12d3-a456-426614174000", "01ARZ3NDEKTSV4RRFFQ69G5FAV", b64 + "+/" + b64 + "==",
	"h1:" + b64[:43] + "=", "ledger.example+0a1b2c3d+" + b64[:44], "— ledger.example " + b64,
	"sk-learn sk-SK sk-ip-to-main-content-of-this-page-and-then-some-more", "mask-proj-" + b64, "SG.1 SK-EU SKU 12345",
	"npm_config_registry npm_lifecycle_event hf_hub_download_with_a_long_name ghp_short", "pypi-publish-a-package-with-a-long-name-and-some-more-words",
	"AKIAIO ASIAN MARKETS ASIA-PACIFIC", "eyJ.eyJ.eyJ eyJhbGciOiJIUzI1NiJ9 x.eyJhbGciOiJIUzI1NiJ9.b",
	begin("CERTIFICATE") + "\n" + line + "\n" + end("CERTIFICATE"), begin("PUBLIC KEY") + "\n" + line + "\n" + end("PUBLIC KEY"),
	"A file with " + begin("RSA PRIVATE KEY") + " at its top is secret.\nREADY_FOR_REVIEW: T-1\n",
	"https://example.com:8080/a@b?c=d:e@f http://localhost:3000 git@github.com:a/b.git ssh://git@host:22/x proxy.golang.org:443/m/@v/list",
	"https://proxy.golang.org:443/golang.org/x/mod/@v/list", "Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "Authorization is required: bearer tokens",
	"AWS_SECRET_ACCESS_KEY=$(cat key)", "https://hooks.slack.com/services/", "PRIVATE+KEY+name", "AGE-SECRET-KEY-1...", "[redacted:github-token] [redacted:jwt]",
}

func TestLeftAlone(t *testing.T) {
	r := redactor(t)
	for _, s := range leftAlone {
		check(t, r, s, s)
	}
}

func TestRandomDataIsLeftAlone(t *testing.T) {
	r := redactor(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []string{"0123456789abcdef", "0123456789ABCDEFGHJKMNPQRSTVWXYZ\n", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"} {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		if s := string(b); r.Text(s) != s {
			t.Errorf("random data of %q was changed", alphabet)
		}
	}
}

func TestListed(t *testing.T) {
	pat := "ghp" + "_" + strings.Repeat("a1B2", 9)
	for _, c := range []struct{ pattern, in, want string }{
		{`ACME-[0-9]{4}`, "x ACME-1234 ACME-12345", "x [redacted:listed] [redacted:listed]5"},
		{`(?i)password: \S+`, "Password: " + pat + " x", "[redacted:listed] x"},
		{`secret.*`, "a secret " + pat + " tail\nnext", "a [redacted:listed]\nnext"},
		{`[a-z]+`, "abc 1 def", "[redacted:listed] 1 [redacted:listed]"},
		{`.+`, "abc", "[redacted:listed]"},
		{`x.{4}`, "x[redacted:jwt] y", "[redacted:listed] y"}, // never half a mark
		{`a$|b`, "aab", "aa[redacted:listed]"},
		{`XYZ`, "https://u:abcXYZ@h", "https://u:[redacted:url-password]@h"},
		{`日+`, "a日日b", "a[redacted:listed]b"},
	} {
		check(t, redactor(t, c.pattern), c.in, c.want)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, pattern := range []string{"(", "a*", "", "a?", `\b`, "^$", "a|b*", "(a*)+", "a{0,3}", "(?:)", "x*y*", `\pX`} {
		_, err := New([]string{"fine", pattern})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("secret pattern 2, %q", pattern)) {
			t.Errorf("New(%q): %v", pattern, err)
		}
	}
	for _, pattern := range []string{"a+", `\ba`, "a|b", "(a*b)+", "a{2}", "x*y", "."} {
		redactor(t, pattern)
	}
}

func TestNothingAllocatedWithoutASecret(t *testing.T) {
	r := redactor(t)
	prose := strings.Repeat("ordinary prose about a global ghost. ", 100)
	plain := []byte(strings.Repeat("ordinary prose about nothing much. ", 100))
	if n := testing.AllocsPerRun(100, func() { r.Text(prose); r.Bytes(plain) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
