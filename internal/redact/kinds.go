package redact

// An edge says what may come before a kind's prefix.
type edge int

const (
	word     edge = iota // anything but a letter or a digit
	token                // as word, and neither - nor _: keeps searches from overlapping
	anywhere             // anything
)

// A kind is a form of secret.
type kind struct {
	name     string
	prefixes []string // every match begins with one of them
	fold     bool     // prefixes in upper or lower case
	edge     edge
	pattern  string // from the prefix on; its group, if it has one, is the secret
}

// Parts of patterns. A slash may be escaped, as some JSON encoders do.
const (
	urlSafe   = `[A-Za-z0-9_-]`
	base64    = `(?:[A-Za-z0-9+/]|\\/)`
	quote     = `(?:\\*["']|\\u002[27])?`
	assign    = quote + `\s*[:=,]\s*` + quote
	pemLabel  = `[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`
	pemBody   = `(?:-{0,4}(?:[^"\\-]|\\+[^"\\-]))*`
	pemSpace  = `[^A-Za-z0-9+/="'\\\x1b[-]`
	pemBreak  = `(?:` + pemSpace + `|\\+[nrt])+(?:[0-9]{1,6}` + pemSpace + `+)?` // with a line's number
	pemHeader = pemBreak + `(?:Proc-Type|DEK-Info|Version|Comment): (?:-{0,4}[^\n"\\-])*`
	pemLine   = pemBreak + `[A-Za-z0-9+/=]{16,}`
	pemEnd    = pemBreak + `[A-Za-z0-9+/=]{1,15}\z`
	pemOpen   = `(?:` + pemHeader + `)*(?:(?:` + pemLine + `)+(?:` + pemEnd + `)?|` + pemEnd + `)`
)

// kinds is tried in order: of two that match at the same place, the first counts.
//
// Two rules keep the search linear: a pattern that may fail only after a long way
// must stop at what its own prefix contains or its edge asks for; and a pattern
// that repeats without a limit must match once it has had enough.
var kinds = []kind{
	{
		name:     "aws-key-id",
		prefixes: []string{"AKIA", "ASIA"},
		pattern:  `A[KS]IA[A-Z0-9]{16}\b`,
	},
	{
		name:     "aws-secret-key",
		prefixes: []string{"secret_access_key", "secretaccesskey"},
		fold:     true,
		edge:     anywhere,
		pattern:  `(?i:secret_?access_?key)` + assign + `(` + base64 + `{40,})`,
	},
	{
		name:     "github-token",
		prefixes: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"},
		pattern:  `gh[pousr]_[A-Za-z0-9_]{36,}`,
	},
	{
		name:     "github-token",
		prefixes: []string{"github_pat_"},
		pattern:  `github_pat_[A-Za-z0-9_]{36,}`,
	},
	{
		name: "gitlab-token",
		prefixes: []string{
			"glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glft-", "glimt-", "glagent-", "glcbt-", "gloas-", "glsoat-", "glffct-",
		},
		pattern: `gl[a-z]+-` + urlSafe + `{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?`,
	},
	{
		name:     "slack-token",
		prefixes: []string{"xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"},
		pattern:  `xox[abeoprs]-[A-Za-z0-9-]{10,}`,
	},
	{
		name:     "slack-token",
		prefixes: []string{"xapp-"},
		pattern:  `xapp-[0-9]-[A-Za-z0-9-]{10,}`,
	},
	{
		name:     "slack-webhook",
		prefixes: []string{"hooks.slack.com"},
		edge:     anywhere,
		pattern:  `hooks\.slack\.com\\?/(?:services|workflows|triggers)\\?/((?:[A-Za-z0-9_-]|\\?/){16,})`,
	},
	{
		name:     "google-api-key",
		prefixes: []string{"AIza"},
		pattern:  `AIza` + urlSafe + `{35,}`,
	},
	{
		name:     "google-oauth-token",
		prefixes: []string{"ya29."},
		pattern:  `ya29\.` + urlSafe + `{20,}`,
	},
	{
		name:     "google-oauth-secret",
		prefixes: []string{"GOCSPX-"},
		pattern:  `GOCSPX-` + urlSafe + `{20,}`,
	},
	{
		name:     "stripe-key",
		prefixes: []string{"sk_live_", "rk_live_", "sk_test_", "rk_test_"},
		pattern:  `[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`,
	},
	{
		name:     "anthropic-key",
		prefixes: []string{"sk-ant-"},
		pattern:  `sk-ant-` + urlSafe + `{20,}`,
	},
	{
		name:     "openai-key",
		prefixes: []string{"sk-"},
		pattern:  `sk-(?:(?:proj|svcacct|admin|None|or-v1)-` + urlSafe + `{20,}|[A-Za-z0-9]{32,})`,
	},
	{
		name:     "npm-token",
		prefixes: []string{"npm_"},
		pattern:  `npm_[A-Za-z0-9]{36,}`,
	},
	{
		name:     "pypi-token",
		prefixes: []string{"pypi-AgE"}, // a version 2 macaroon
		pattern:  `pypi-AgE` + urlSafe + `{50,}`,
	},
	{
		name:     "huggingface-token",
		prefixes: []string{"hf_"},
		pattern:  `hf_[A-Za-z0-9]{30,}`,
	},
	{
		name:     "digitalocean-token",
		prefixes: []string{"dop_v1_", "doo_v1_", "dor_v1_"},
		pattern:  `do[opr]_v1_[a-f0-9]{64,}`,
	},
	{
		name:     "sendgrid-key",
		prefixes: []string{"SG."},
		pattern:  `SG\.` + urlSafe + `{20,}\.` + urlSafe + `{30,}`,
	},
	{
		name:     "twilio-key",
		prefixes: []string{"SK"},
		pattern:  `SK[0-9a-f]{32}\b`,
	},
	{
		name:     "age-key",
		prefixes: []string{"AGE-SECRET-KEY-"},
		pattern:  `AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,}`,
	},
	{
		name:     "note-signer-key",
		prefixes: []string{"PRIVATE+KEY+"},
		pattern:  `PRIVATE\+KEY\+[^\s+"\\[]+\+[0-9a-f]{8}\+` + base64 + `{40,}={0,2}`,
	},
	{
		name:     "jwt",
		prefixes: []string{"eyJ"},
		edge:     token,
		pattern:  `eyJ` + urlSafe + `{8,}\.` + urlSafe + `*\.` + urlSafe + `{16,}(?:\.` + urlSafe + `+){0,2}`,
	},
	{
		name:     "private-key",
		prefixes: []string{"-----BEGIN "},
		edge:     anywhere,
		// Closed; or else as far as it looks like a key.
		pattern: `-----BEGIN ` + pemLabel + `(?:` + pemBody + `-----END ` + pemLabel + `|` + pemOpen + `)`,
	},
	{
		name:     "url-password",
		prefixes: []string{"://", `:\/\/`},
		edge:     anywhere,
		pattern: `:(?://|\\/\\/)[^\s/?#@:"'\\<>[` + "`" + `]*:` +
			`((?:[^\s/?#"'\\<>\x00-\x1f` + "`" + `]|\\u[0-9A-Fa-f]{4})+)@`,
	},
	{
		name:     "authorization",
		prefixes: []string{"authorization"},
		fold:     true,
		edge:     anywhere,
		pattern:  `(?i:authorization)` + assign + `(?i:bearer|basic)[ \t]+((?:[A-Za-z0-9._~+/=-]|\\/){8,})`,
	},
}
