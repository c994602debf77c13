package agentsig

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

// ExitProtocol and ExitVersion are what an exit record says of itself.
const (
	ExitProtocol = "apm2_agent_exit"
	ExitVersion  = "1.0.0"
)

// Limits of an exit record, in bytes.
const (
	maxExit      = 64 << 10
	maxExitName  = 64
	maxExitRef   = 2 << 10
	maxExitNotes = 10 << 10
)

// ExitSignal is an exit record: an agent's word that it finished a phase of
// work, or cannot. It says nothing about which work: that comes from the
// session it was said in.
type ExitSignal struct {
	Protocol          string     `json:"protocol"`
	Version           string     `json:"version"`
	PhaseCompleted    Phase      `json:"phase_completed"`
	ExitReason        ExitReason `json:"exit_reason"`
	PRURL             string     `json:"pr_url,omitempty"`
	EvidenceBundleRef string     `json:"evidence_bundle_ref,omitempty"`
	Notes             string     `json:"notes,omitempty"`
}

// NewExitSignal makes an exit record of the current protocol version.
func NewExitSignal(phase Phase, reason ExitReason) ExitSignal {
	return ExitSignal{Protocol: ExitProtocol, Version: ExitVersion, PhaseCompleted: phase, ExitReason: reason}
}

// WithPRURL returns a copy of the record with the pull request's URL.
func (e ExitSignal) WithPRURL(u string) ExitSignal { e.PRURL = u; return e }

// WithEvidence returns a copy of the record with a reference to its evidence.
func (e ExitSignal) WithEvidence(ref string) ExitSignal { e.EvidenceBundleRef = ref; return e }

// WithNotes returns a copy of the record with notes for people.
func (e ExitSignal) WithNotes(notes string) ExitSignal { e.Notes = notes; return e }

// ErrExitDisabled is returned where an exit record would be acted upon while
// the protocol is not enabled.
var ErrExitDisabled = errors.New("exit signal validation is disabled (AGENT_EXIT_PROTOCOL_ENABLED=false)")

// ProtocolError says that a record names another protocol.
type ProtocolError struct{ Got string }

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("unknown protocol: expected '%s', got %s", ExitProtocol, quote(e.Got))
}

// VersionError says that a record's version is not a 1.x version.
type VersionError struct{ Got string }

func (e *VersionError) Error() string {
	return "unsupported version: expected '1.x', got " + quote(e.Got)
}

// FieldError says what is wrong with a field of an exit record.
type FieldError struct{ Field, Problem string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Hosts that a pull request's URL may point to, besides the caller's own.
var forges = []string{
	"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com", "git.sr.ht", "dev.azure.com",
}

// Validate checks every field. A pull request's URL must point to a common
// forge or to one of the given hosts (such as that of the repository's origin).
// Whether anything may follow the phase is for [NextPhase] to say.
func (e ExitSignal) Validate(hosts ...string) error {
	if err := e.check(); err != nil || e.PRURL == "" {
		return err
	}
	return checkHost(e.PRURL, hosts)
}

// check checks all but the host of the pull request's URL.
func (e ExitSignal) check() error {
	if e.Protocol != ExitProtocol {
		return &ProtocolError{e.Protocol}
	}
	if !supportedVersion(e.Version) {
		return &VersionError{e.Version}
	}
	if !slices.Contains(Phases(), e.PhaseCompleted) {
		return &FieldError{"phase_completed", fmt.Sprintf("expected one of %s, got %s",
			join(Phases()), quote(string(e.PhaseCompleted)))}
	}
	if !slices.Contains(ExitReasons(), e.ExitReason) {
		return &FieldError{"exit_reason", fmt.Sprintf("expected one of %s, got %s",
			join(ExitReasons()), quote(string(e.ExitReason)))}
	}
	for _, f := range e.fields() {
		v := f.Value.(string)
		switch most := exitLimit(f.Name); {
		case most > 0 && len(v) > most:
			return &FieldError{f.Name, fmt.Sprintf("%d bytes, of which at most %d are allowed", len(v), most)}
		case !utf8.ValidString(v):
			return &FieldError{f.Name, "not valid UTF-8"}
		case strings.ContainsRune(v, 0):
			return &FieldError{f.Name, "contains a NUL character"}
		}
	}
	if e.PRURL != "" {
		if err := cmp.Or(checkPRURL(e.PRURL), checkPort(e.PRURL)); err != nil {
			return err
		}
	}
	if e.EvidenceBundleRef != "" {
		return checkEvidenceRef(e.EvidenceBundleRef)
	}
	return nil
}

func join[S ~string](all []S) string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

func exitLimit(field string) int {
	for _, k := range entryOf(KindExit).Keys {
		if k.Name == field {
			return k.Max
		}
	}
	return 0
}

// supportedVersion accepts 1.minor.patch in ASCII digits without leading zeros.
func supportedVersion(v string) bool {
	if len(v) > maxExitName {
		return false
	}
	parts := strings.Split(v, ".")
	if len(parts) != 3 || parts[0] != "1" {
		return false
	}
	for _, p := range parts[1:] {
		if p == "" || len(p) > 1 && p[0] == '0' || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return true
}

func checkPRURL(raw string) error {
	bad := func(problem string) error { return &FieldError{"pr_url", problem + ": " + quote(raw)} }
	if safetext.Escape(raw) != raw || strings.ContainsAny(raw, " \\") {
		return bad("contains blanks, backslashes or control characters")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return &FieldError{"pr_url", "not a URL"}
	case u.Scheme != "https" || u.Opaque != "":
		return bad("not an https URL")
	case u.User != nil:
		return &FieldError{"pr_url", "carries a user name or a password"} // which is not to be repeated
	case u.Hostname() == "":
		return bad("names no host")
	}
	return nil
}

func checkPort(raw string) error {
	if u, err := url.Parse(raw); err != nil || u.Port() != "" || strings.HasSuffix(u.Host, ":") {
		return &FieldError{"pr_url", "names a port: " + quote(raw)}
	}
	return nil
}

func checkHost(raw string, hosts []string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return &FieldError{"pr_url", "not a URL"}
	}
	for _, h := range slices.Concat(forges, hosts) {
		if h != "" && strings.EqualFold(u.Hostname(), h) {
			return nil
		}
	}
	return &FieldError{"pr_url", "the host is neither a known forge nor the origin's: " + quote(raw)}
}

func checkEvidenceRef(ref string) error {
	bad := func(problem string) error { return &FieldError{"evidence_bundle_ref", problem + ": " + quote(ref)} }
	switch {
	case safetext.Escape(ref) != ref:
		return bad("contains control characters")
	case strings.ContainsRune(ref, '\\'):
		return bad("contains a backslash")
	case strings.HasPrefix(ref, "/"):
		return bad("not a relative path")
	case len(ref) > 1 && ref[1] == ':':
		return bad("names a drive")
	}
	for part := range strings.SplitSeq(ref, "/") {
		if part == ".." {
			return bad("leads upwards")
		}
	}
	return nil
}

// OpenEvidence opens the evidence that the record refers to, below root. A
// reference that leads out of root, also by a symbolic link, is refused.
func (e ExitSignal) OpenEvidence(root *os.Root) (*os.File, error) {
	if e.EvidenceBundleRef == "" {
		return nil, &FieldError{"evidence_bundle_ref", "the record refers to no evidence"}
	}
	if err := checkEvidenceRef(e.EvidenceBundleRef); err != nil {
		return nil, err
	}
	return root.Open(e.EvidenceBundleRef)
}

// NextPhase returns the phase that follows; see [NextPhase].
func (e ExitSignal) NextPhase() (Phase, error) { return NextPhase(e.PhaseCompleted, e.ExitReason) }

// JSON returns the record as one line of JSON. It checks all that
// [ExitSignal.Validate] does but the host of the pull request's URL.
func (e ExitSignal) JSON() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(e)
	if err == nil && len(data) > maxExit {
		err = errExitTooLarge
	}
	return data, err
}

func (e ExitSignal) fields() Fields {
	f := Fields{
		{"protocol", e.Protocol}, {"version", e.Version},
		{"phase_completed", string(e.PhaseCompleted)}, {"exit_reason", string(e.ExitReason)},
		{"pr_url", e.PRURL}, {"evidence_bundle_ref", e.EvidenceBundleRef}, {"notes", e.Notes},
	}
	return slices.DeleteFunc(f, func(x Field) bool { return x.Value == "" })
}

// ParseExit reads an exit record and validates it. It takes no more than one
// object, in strict JSON: no unknown or repeated member, no null, nothing
// behind it. The hosts are those of [ExitSignal.Validate]. A [Scanner] is not as
// strict about them: it leaves out the URL of another host ([Finding.LeftOut]).
func ParseExit(data []byte, hosts ...string) (ExitSignal, error) {
	e, err := parseExit(data)
	if err != nil {
		return ExitSignal{}, err
	}
	if err := e.Validate(hosts...); err != nil {
		return ExitSignal{}, err
	}
	return e, nil
}

// readExit reads an exit record as a scanner does: a pull request's URL of a forge that nobody has named, which is likely
// somebody's own, does not void the record. It is left out.
func readExit(data []byte, hosts []string) (e ExitSignal, leftOut, err error) {
	if e, err = parseExit(data); err != nil {
		return ExitSignal{}, nil, err
	}
	if e.PRURL != "" && checkPRURL(e.PRURL) == nil {
		if leftOut = cmp.Or(checkPort(e.PRURL), checkHost(e.PRURL, hosts)); leftOut != nil {
			e.PRURL = ""
		}
	}
	if err := e.check(); err != nil {
		return ExitSignal{}, nil, err
	}
	return e, leftOut, nil
}

// ParseExitIfEnabled is [ParseExit] for callers that act upon the record: it
// refuses with [ErrExitDisabled] unless the protocol is enabled.
func ParseExitIfEnabled(data []byte, enabled bool, hosts ...string) (ExitSignal, error) {
	if !enabled {
		return ExitSignal{}, ErrExitDisabled
	}
	return ParseExit(data, hosts...)
}

// ExitProtocolVariable is the environment variable that enables the protocol.
const ExitProtocolVariable = "AGENT_EXIT_PROTOCOL_ENABLED"

// ExitProtocolEnabled reports whether exit records may be acted upon: if the
// variable is set, whether it is true, 1 or yes in any case; otherwise what
// the configuration says. Pass [os.LookupEnv].
func ExitProtocolEnabled(lookup func(string) (string, bool), configured bool) bool {
	v, set := lookup(ExitProtocolVariable)
	if !set {
		return configured
	}
	switch strings.ToLower(v) {
	case "true", "1", "yes":
		return true
	}
	return false
}

// AgentSessionCompleted is the event that records an agent's exit.
type AgentSessionCompleted struct {
	Session           string     `json:"session_id"`
	Actor             string     `json:"actor_id"`
	PhaseCompleted    Phase      `json:"phase_completed"`
	ExitReason        ExitReason `json:"exit_reason"`
	NextPhase         Phase      `json:"next_phase"`
	PRURL             string     `json:"pr_url,omitempty"`
	EvidenceBundleRef string     `json:"evidence_bundle_ref,omitempty"`
	Notes             string     `json:"notes,omitempty"`
}

// NewAgentSessionCompleted makes the event from a valid exit record.
func NewAgentSessionCompleted(session, actor string, e ExitSignal) (AgentSessionCompleted, error) {
	next, err := e.NextPhase()
	if err != nil {
		return AgentSessionCompleted{}, err
	}
	return AgentSessionCompleted{
		Session: session, Actor: actor,
		PhaseCompleted: e.PhaseCompleted, ExitReason: e.ExitReason, NextPhase: next,
		PRURL: e.PRURL, EvidenceBundleRef: e.EvidenceBundleRef, Notes: e.Notes,
	}, nil
}
