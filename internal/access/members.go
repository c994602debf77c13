package access

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// MaxMembers is how many boxes can share a ledger.
const MaxMembers = 3

// Why a command on members, or a member, is refused.
var (
	ErrMemberTaken   = errors.New("there is a box of this name in the cluster, or an invitation for one: `signalbox cluster leave NAME` removes it, `signalbox cluster replace NAME` puts another machine in its place; or take another name")
	ErrManyMembers   = fmt.Errorf("a cluster has %d boxes at most, invited ones among them: `signalbox cluster replace NAME` puts one in another's place", MaxMembers)
	ErrNoMember      = errors.New("the cluster has no such box: `signalbox cluster status` has those that there are")
	ErrMemberGone    = errors.New("the box was taken out of the cluster, or another one has its place, and does not come back with what it has: its directory can go; to have it join anew, `signalbox cluster invite NAME` at a box of the cluster, and `signalbox cluster join` with another directory (--dir)")
	ErrNoCluster     = errors.New("this box stands alone, and is in no cluster: `signalbox cluster init` makes it the first box of one")
	ErrInCluster     = errors.New("this box is in a cluster already: `signalbox cluster status` shows it; if it was taken out of that one, take its directory away, or name another one (--dir), and join with a line from `signalbox cluster invite NAME`")
	ErrLastMember    = errors.New("this is the last box of its cluster: stop it, and `signalbox cluster leave` there makes it a box that stands alone")
	ErrNoPlaceThere  = errors.New("the invitation is none of this cluster's: it has expired, was withdrawn, or is another's; have the owner make another one (`signalbox cluster invite`)")
	ErrPlaceTaken    = errors.New("the invitation was redeemed already, with another key: if that was not you, remove the box at once (`signalbox cluster leave NAME`); have the owner make another invitation")
	ErrMembersKey    = errors.New("this key is that of another box of the cluster: join from a directory of its own")
	ErrBadMembersKey = errors.New("a box's key is known by the SHA-256 of its public part, in 64 hexadecimal digits")
	ErrBadAddresses  = fmt.Errorf("a box of a cluster has 1 to %d addresses at which the others reach it, such as 192.0.2.7:7443", MaxAddresses)
	ErrBadLevel      = errors.New("the ledger's level only rises")

	// ErrMember says that nothing is to be recorded: this key's box is a member by this invitation, or in this box's place.
	ErrMember = errors.New("the box has joined already")
)

// Member is a box of a cluster as the ledger has it. Whether it answers is no part of that.
type Member struct {
	ID        uint64    `json:"id"` // by which the others know it; each is higher than all before
	Name      string    `json:"name"`
	Key       string    `json:"key"` // the SHA-256 of its public key, in hexadecimal digits
	Addresses []string  `json:"addresses"`
	Joined    time.Time `json:"joined_at"`
	Votes     bool      `json:"votes"` // it counts for what is stored; otherwise it gets the log

	Secret ledger.Hash `json:"-"` // the SHA-256 of that of the invitation by which it has joined; zero if it was by none
	Seq    uint64      `json:"-"` // of the event by which it has joined
}

// Place is an invitation to become a member.
type Place struct {
	Name     string
	Replaces string      // the member whose place it is; "" for a place of its own
	Secret   ledger.Hash // the SHA-256 of the invitation's secret
	Expires  time.Time
}

// Members is the fold of the events on the boxes of a cluster: one subject of the ledger, in the manner of [Runners]. A box that stands alone
// has none.
type Members struct {
	work.Chain
	All     []Member // in the order of their ids
	Places  []Place
	Founder string // the name of the first box of the cluster
	Last    uint64 // the highest id that any box ever had
	Level   int    // of the ledger: what every box's program knows at least
	Begun   bool   // the last event began a cluster
}

// The types of events on members.
const (
	MemberInvited  = "MemberInvited"
	MemberJoined   = "MemberJoined"
	MemberLeft     = "MemberLeft"
	MemberReplaced = "MemberReplaced"
	LevelRaised    = "LevelRaised"
)

// MemberTypes lists every type of event on members.
func MemberTypes() []string {
	return []string{MemberInvited, MemberJoined, MemberLeft, MemberReplaced, LevelRaised}
}

// MemberEvent is the payload of all events on members; each has some of it.
type MemberEvent struct {
	Name      string       `json:"name,omitempty"`
	ID        uint64       `json:"id,omitempty"`            // joined, left, replaced
	Key       *ledger.Hash `json:"key_sha256,omitempty"`    // joined, replaced
	Addresses []string     `json:"addresses,omitempty"`     // joined, replaced
	Secret    *ledger.Hash `json:"secret_sha256,omitempty"` // invited, joined, replaced: of the invitation
	At        time.Time    `json:"at,omitzero"`
	Expires   time.Time    `json:"expires_at,omitzero"` // invited
	Replaces  string       `json:"replaces,omitempty"`  // invited, replaced: the name of the box in whose place it comes
	Old       uint64       `json:"old_id,omitempty"`    // replaced: the id of that box, which never comes back
	Founds    bool         `json:"founds,omitempty"`    // joined: it is the first box of a cluster
	Level     int          `json:"level,omitempty"`     // raised
}

// MemberCommand is what can be asked for.
type MemberCommand interface {
	// Events returns the types of events that it can lead to.
	Events() []string
	decide(Members) (work.Event, error)
}

// DecideMembers says which event a command leads to, or why it is refused, as [Decide] does for tokens.
func DecideMembers(m Members, do MemberCommand) (work.Event, error) { return do.decide(m) }

// CheckAddresses refuses what can't be the addresses of a member: a name or an IP address each, and a port.
func CheckAddresses(all []string) error {
	if len(all) == 0 || len(all) > MaxAddresses {
		return ErrBadAddresses
	}
	for i, a := range all {
		colon := strings.LastIndexByte(a, ':')
		if colon <= 0 || badAddress(a) || !isHost(a[:colon]) || !isPort(a[colon+1:]) || slices.Contains(all[:i], a) {
			return fmt.Errorf("%w, not %.60q", ErrBadAddresses, a)
		}
	}
	return nil
}

// isHost says whether a text is a name, or an IP address that somebody else can dial: an IPv6 one in brackets. What stands for all of a machine's
// addresses ("0.0.0.0") is where a box listens, and leads its others to themselves.
func isHost(text string) bool {
	inner, six := strings.CutPrefix(text, "[")
	if six {
		if inner, six = strings.CutSuffix(inner, "]"); !six {
			return false
		}
	}
	if ip, err := netip.ParseAddr(inner); err == nil {
		return ip.Is6() == six && !ip.IsUnspecified()
	}
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == ""
}

// isPort says whether a text is the number of a port that can be dialed.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// FoundCluster makes a box that stands alone the first of a cluster. What was said is said again ([ErrMember]) for as long as nothing has followed. After a cluster
// that has ended, the same box begins another one, under a new id.
type FoundCluster struct {
	Name      string
	Key       string // the hash of its key
	Addresses []string
	At        time.Time
}

// Events implements [MemberCommand].
func (FoundCluster) Events() []string { return []string{MemberJoined} }

func (c FoundCluster) decide(m Members) (work.Event, error) {
	key, err := keyHash(c.Key)
	if err = errors.Join(CheckName(c.Name), CheckAddresses(c.Addresses), err); err != nil {
		return work.Event{}, err
	}
	if m.Begun && m.All[0].Key == c.Key && m.All[0].Name == c.Name && slices.Equal(m.All[0].Addresses, c.Addresses) {
		return work.Event{}, ErrMember
	}
	return work.Event{Type: MemberJoined, Actor: work.OperatorActor, Payload: MemberEvent{
		Name: c.Name, ID: m.Last + 1, Key: &key, Addresses: c.Addresses, At: c.At, Founds: true,
	}}, nil
}

// InviteMember has a box of a name be let in, once, by who has a secret: in a place of its own, or in that of another.
type InviteMember struct {
	Name     string
	Replaces string // the name of a member; may be Name
	At       time.Time
	TTL      time.Duration
	Secret   ledger.Hash // its SHA-256
	Actor    string
	Key      string
}

// Events implements [MemberCommand].
func (InviteMember) Events() []string { return []string{MemberInvited} }

func (c InviteMember) decide(m Members) (work.Event, error) {
	if len(m.All) == 0 {
		return work.Event{}, ErrNoCluster
	}
	if err := CheckName(c.Name); err != nil {
		return work.Event{}, err
	}
	_, replaced := m.Named(c.Replaces)
	_, taken := m.Named(c.Name)
	open := m.Open(c.At)
	own := slices.DeleteFunc(slices.Clone(open), func(p Place) bool { return p.Replaces != "" })
	switch {
	case c.TTL < MinTTL || c.TTL > MaxInvitationTTL:
		return work.Event{}, ErrBadInviteTTL
	case c.Replaces != "" && !replaced:
		return work.Event{}, noMember(c.Replaces)
	case taken && c.Name != c.Replaces, slices.ContainsFunc(open, func(p Place) bool { return p.Name == c.Name || c.Replaces != "" && p.Replaces == c.Replaces }):
		return work.Event{}, fmt.Errorf("%s: %w", c.Name, ErrMemberTaken)
	case c.Replaces == "" && len(m.All)+len(own) >= MaxMembers:
		return work.Event{}, ErrManyMembers
	}
	return work.Event{Type: MemberInvited, Actor: c.Actor, Key: c.Key, Payload: MemberEvent{
		Name: c.Name, Replaces: c.Replaces, At: c.At, Expires: c.At.Add(c.TTL), Secret: &c.Secret,
	}}, nil
}

// JoinCluster redeems an invitation with a key. The same key may do so again ([ErrMember]): an answer can be lost.
type JoinCluster struct {
	Secret    ledger.Hash // the SHA-256 of the invitation's secret
	With      string      // the hash of the key
	Addresses []string
	At        time.Time
}

// Events implements [MemberCommand].
func (JoinCluster) Events() []string { return []string{MemberJoined, MemberReplaced} }

func (c JoinCluster) decide(m Members) (work.Event, error) {
	key, err := keyHash(c.With)
	if err = errors.Join(CheckAddresses(c.Addresses), err); err != nil {
		return work.Event{}, err
	}
	if used, redeemed := m.redeemed(c.Secret); redeemed {
		if subtle.ConstantTimeCompare([]byte(used.Key), []byte(c.With)) == 1 {
			return work.Event{}, ErrMember
		}
		return work.Event{}, ErrPlaceTaken
	}
	place, ok := m.place(c.Secret)
	switch other, taken := m.ByKey(c.With); {
	case !ok || !c.At.Before(place.Expires):
		return work.Event{}, ErrNoPlaceThere
	case taken:
		return work.Event{}, fmt.Errorf("%s: %w", other.Name, ErrMembersKey)
	}
	p := MemberEvent{Name: place.Name, ID: m.Last + 1, Key: &key, Addresses: c.Addresses, Secret: &c.Secret, At: c.At}
	e := work.Event{Type: MemberJoined, Actor: work.BoxActor}
	if place.Replaces != "" {
		old, there := m.Named(place.Replaces)
		if !there {
			return work.Event{}, noMember(place.Replaces)
		}
		e.Type, p.Replaces, p.Old = MemberReplaced, old.Name, old.ID
	} else if len(m.All) >= MaxMembers {
		return work.Event{}, ErrManyMembers
	}
	e.Payload = p
	return e, nil
}

// RejoinCluster has a member come back under a new id and with a new key, as its disk was lost, emptied or put back. It is for who has its old key.
type RejoinCluster struct {
	Old       string // the hash of the key that it had
	With      string // the hash of its new key
	Addresses []string
	At        time.Time
}

// Events implements [MemberCommand].
func (RejoinCluster) Events() []string { return []string{MemberReplaced} }

func (c RejoinCluster) decide(m Members) (work.Event, error) {
	key, err := keyHash(c.With)
	if err = errors.Join(CheckAddresses(c.Addresses), err); err != nil {
		return work.Event{}, err
	}
	old, ok := m.ByKey(c.Old)
	switch other, taken := m.ByKey(c.With); {
	case taken && (!ok || other.ID == old.ID):
		return work.Event{}, ErrMember
	case !ok:
		return work.Event{}, ErrMemberGone
	case taken:
		return work.Event{}, fmt.Errorf("%s: %w", other.Name, ErrMembersKey)
	}
	return work.Event{Type: MemberReplaced, Actor: work.BoxActor, Payload: MemberEvent{
		Name: old.Name, ID: m.Last + 1, Key: &key, Addresses: c.Addresses, At: c.At, Replaces: old.Name, Old: old.ID,
	}}, nil
}

// LeaveCluster takes a box out of its cluster, or withdraws its invitation.
type LeaveCluster struct {
	Name  string
	At    time.Time
	Actor string
	Key   string
}

// Events implements [MemberCommand].
func (LeaveCluster) Events() []string { return []string{MemberLeft} }

func (c LeaveCluster) decide(m Members) (work.Event, error) {
	one, there := m.Named(c.Name)
	invited := slices.ContainsFunc(m.Open(c.At), func(p Place) bool { return p.Name == c.Name })
	switch {
	case len(m.All) == 0:
		return work.Event{}, ErrNoCluster
	case invited: // a member of this name stays, which it was to replace
		one.ID = 0
	case !there:
		return work.Event{}, noMember(c.Name)
	case len(m.All) == 1:
		return work.Event{}, ErrLastMember
	}
	return work.Event{Type: MemberLeft, Actor: c.Actor, Key: c.Key, Payload: MemberEvent{Name: c.Name, ID: one.ID, At: c.At}}, nil
}

// RaiseLevel says that the programs of all boxes that vote know a level.
type RaiseLevel struct{ To int }

// Events implements [MemberCommand].
func (RaiseLevel) Events() []string { return []string{LevelRaised} }

func (c RaiseLevel) decide(m Members) (work.Event, error) {
	if c.To <= m.Level {
		return work.Event{}, ErrBadLevel
	}
	return work.Event{Type: LevelRaised, Actor: work.BoxActor, Payload: MemberEvent{Level: c.To}}, nil
}

func noMember(name string) error {
	return fmt.Errorf("%s: %w", safetext.Escape(work.Cut(name, maxName)), ErrNoMember)
}

func keyHash(text string) (key ledger.Hash, err error) {
	if key.UnmarshalText([]byte(text)) != nil {
		err = ErrBadMembersKey
	}
	return key, err
}

// FoldMembers takes the next event on members, as [Fold] does for tokens.
func FoldMembers(m Members, seq uint64, e ledger.Event, stored []byte) (Members, error) {
	tip, err := m.Tip.Next(e, stored)
	if err != nil {
		return m, err
	}
	next, err := EvolveMembers(m, seq, e)
	if err != nil {
		return m, err
	}
	next.Tip = tip
	return next, nil
}

// EvolveMembers returns the members after an event, and changes nothing of what was given.
func EvolveMembers(m Members, seq uint64, e ledger.Event) (Members, error) {
	m.Reach(seq, e.Key)
	m.Subject = e.Subject
	if !slices.Contains(MemberTypes(), e.Type) {
		return m, fmt.Errorf("event %d of %s is of the type %q, which this version does not know", e.ItemSeq, e.Subject, e.Type)
	}
	var p MemberEvent
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return m, fmt.Errorf("the payload of %s, event %d of %s: %w", e.Type, e.ItemSeq, e.Subject, err)
	}
	m.Begun = false
	switch {
	case e.Type == MemberInvited && p.Secret != nil:
		m.Places = append(m.Open(p.At), Place{Name: p.Name, Replaces: p.Replaces, Secret: *p.Secret, Expires: p.Expires})
	case (e.Type == MemberJoined || e.Type == MemberReplaced) && p.Key != nil && p.ID > m.Last:
		m.join(seq, p)
	case e.Type == MemberLeft && p.ID == 0:
		m.Places = slices.DeleteFunc(slices.Clone(m.Places), func(o Place) bool { return o.Name == p.Name })
	case e.Type == MemberLeft:
		m.All = slices.DeleteFunc(slices.Clone(m.All), func(o Member) bool { return o.ID == p.ID })
		m.Places = slices.DeleteFunc(slices.Clone(m.Places), func(o Place) bool { return o.Replaces == p.Name })
	case e.Type == LevelRaised:
		m.Level = max(m.Level, p.Level)
	}
	m.count()
	return m, nil
}

// join takes a member in. One that comes in another's place votes if that one did.
func (m *Members) join(seq uint64, p MemberEvent) {
	if p.Founds {
		m.All, m.Places, m.Founder, m.Begun = nil, nil, p.Name, true
	}
	one := Member{ID: p.ID, Name: p.Name, Key: p.Key.String(), Addresses: p.Addresses, Joined: p.At, Seq: seq}
	if p.Secret != nil {
		one.Secret = *p.Secret
		m.Places = slices.DeleteFunc(slices.Clone(m.Places), func(o Place) bool { return o.Secret == *p.Secret })
	}
	m.All = slices.DeleteFunc(slices.Clone(m.All), func(o Member) bool {
		one.Votes = one.Votes || o.ID == p.Old && o.Votes
		return o.ID == p.Old
	})
	m.All, m.Last = append(m.All, one), p.ID
}

// JoinedBy returns the box that an event on members says has joined, alone or in another's place.
func JoinedBy(e ledger.Event) (Member, bool) {
	var p MemberEvent
	if e.Type != MemberJoined && e.Type != MemberReplaced || json.Unmarshal(e.Payload, &p) != nil || p.Key == nil {
		return Member{}, false
	}
	return Member{ID: p.ID, Name: p.Name, Key: p.Key.String(), Addresses: p.Addresses, Joined: p.At}, true
}

// Withdrawn says whether an event on members withdraws an invitation.
func Withdrawn(e ledger.Event) bool {
	var p MemberEvent
	return e.Type == MemberLeft && json.Unmarshal(e.Payload, &p) == nil && p.ID == 0
}

// count says who votes. Two boxes are no better than one: if either dies the other one can't go on. So the second box learns, until there
// is a third; and who votes goes on to, as a voter is not made a learner again.
func (m *Members) count() {
	voting := slices.ContainsFunc(m.All, func(o Member) bool { return o.Votes })
	if len(m.All) != 2 || !voting {
		m.All = slices.Clone(m.All)
		for i := range m.All {
			m.All[i].Votes = true
		}
	}
}

// Wanted returns the ids of those who are to vote, and of those who are to learn.
func (m Members) Wanted() (voters, learners []uint64) {
	for _, o := range m.All {
		if o.Votes {
			voters = append(voters, o.ID)
		} else {
			learners = append(learners, o.ID)
		}
	}
	return voters, learners
}

// Named returns the member with a name.
func (m Members) Named(name string) (Member, bool) {
	for _, o := range m.All {
		if o.Name == name {
			return o, true
		}
	}
	return Member{}, false
}

// ByID returns the member with an id.
func (m Members) ByID(id uint64) (Member, bool) {
	for _, o := range m.All {
		if o.ID == id {
			return o, true
		}
	}
	return Member{}, false
}

// ByKey returns the member with a key. How long it takes says nothing about keys.
func (m Members) ByKey(hash string) (found Member, ok bool) {
	for _, o := range m.All {
		if subtle.ConstantTimeCompare([]byte(o.Key), []byte(hash)) == 1 {
			found, ok = o, true
		}
	}
	return found, ok
}

// Open returns the invitations that are good at a time, as a list of the caller's own.
func (m Members) Open(now time.Time) []Place {
	return slices.DeleteFunc(slices.Clone(m.Places), func(p Place) bool { return !now.Before(p.Expires) })
}

// place returns the invitation with this SHA-256. How long it takes says nothing about secrets.
func (m Members) place(secret ledger.Hash) (found Place, ok bool) {
	for _, p := range m.Places {
		if subtle.ConstantTimeCompare(p.Secret[:], secret[:]) == 1 {
			found, ok = p, true
		}
	}
	return found, ok
}

// redeemed returns who has joined by an invitation with this SHA-256.
func (m Members) redeemed(secret ledger.Hash) (found Member, ok bool) {
	for _, o := range m.All {
		if o.Secret != (ledger.Hash{}) && subtle.ConstantTimeCompare(o.Secret[:], secret[:]) == 1 {
			found, ok = o, true
		}
	}
	return found, ok
}

// memberSentence says what an event on members is.
func memberSentence(e ledger.Event) string {
	var p MemberEvent
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return e.Type + " that can't be read"
	}
	what := "box " + p.Name
	switch {
	case e.Type == MemberInvited:
		what += " invited to the cluster"
		if p.Replaces != "" {
			what += " in the place of " + p.Replaces
		}
		what += ", until " + p.Expires.UTC().Format(time.RFC3339)
	case e.Type == MemberJoined && p.Founds:
		what += fmt.Sprintf(" began a cluster, as member %d at %s", p.ID, strings.Join(p.Addresses, " "))
	case e.Type == MemberJoined:
		what += fmt.Sprintf(" joined the cluster, as member %d at %s", p.ID, strings.Join(p.Addresses, " "))
	case e.Type == MemberReplaced:
		what += fmt.Sprintf(" joined the cluster in the place of %s, as member %d instead of %d, at %s", p.Replaces, p.ID, p.Old, strings.Join(p.Addresses, " "))
	case e.Type == MemberLeft && p.ID == 0:
		what += " is not invited to the cluster any more"
	case e.Type == MemberLeft:
		what += fmt.Sprintf(" left the cluster; it was member %d", p.ID)
	case e.Type == LevelRaised:
		what = fmt.Sprintf("the ledger has level %d from here on: programs that do not know it do not start", p.Level)
	}
	return safetext.Escape(what)
}
