package access_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// onRunners decides a command on runners and records the event, as the ledger would.
func onRunners(t *testing.T, before access.Runners, command access.RunnerCommand) access.Runners {
	t.Helper()
	decided, err := access.DecideRunners(before, command)
	if err != nil {
		t.Fatalf("%#v: %v", command, err)
	}
	if got := command.Events(); !cmp.Equal(got, []string{decided.Type}) || decided.Actor == "" {
		t.Errorf("%#v leads to %s by %q, and says %q", command, decided.Type, decided.Actor, got)
	}
	was := before.At(time.Time{})
	e, stored := recordRunner(t, before, decided)
	next, err := access.FoldRunners(before, before.Seq+1, e, stored)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(was, before.At(time.Time{})) {
		t.Errorf("%s changed the runners that were given: %+v, and now %+v", decided.Type, was, before.All)
	}
	return next
}

func recordRunner(t *testing.T, before access.Runners, decided work.Event) (ledger.Event, []byte) {
	t.Helper()
	return record(t, access.Tokens{Chain: before.Chain}, decided)
}

func invite(name string, at time.Time, labels ...string) access.Invite {
	return access.Invite{Name: name, Labels: labels, At: at, TTL: 15 * time.Minute, Secret: access.Sum(name), Actor: work.OperatorActor, Key: "invite " + name}
}

func key(digit string) string { return strings.Repeat(digit, 64) }

func runnerNames(all []access.RunnerIdentity) (found []string) {
	for _, o := range all {
		found = append(found, o.Name)
	}
	return found
}

// A runner is invited, joins with a key, is drained, takes work again, is removed; then its name can be given again.
func TestRunners(t *testing.T) {
	all := onRunners(t, access.Runners{}, invite("gpu1", noon, "linux", "gpu"))
	if got, ok := all.ByKey(""); ok {
		t.Errorf("no key is the runner %+v", got)
	}
	all = onRunners(t, all, access.Join{Secret: access.Sum("gpu1"), With: key("a"), At: noon.Add(time.Minute)})
	want := access.RunnerIdentity{
		Name: "gpu1", Labels: []string{"linux", "gpu"}, Secret: access.Sum("gpu1"), Key: key("a"), Invited: noon, Expires: noon.Add(15 * time.Minute), Joined: noon.Add(time.Minute), Event: 2,
	}
	if got, ok := all.ByKey(key("a")); !ok || !cmp.Equal(got, want) {
		t.Errorf("by its key: %+v, %t", got, ok)
	}
	for _, other := range []string{"", key("b"), key("A"), key("a")[:63]} {
		if got, ok := all.ByKey(other); ok {
			t.Errorf("the key %q is the runner %+v", other, got)
		}
	}
	later := noon.AddDate(1, 0, 0)
	if got := runnerNames(all.At(later)); !cmp.Equal(got, []string{"gpu1"}) {
		t.Errorf("a year later there are %q", got)
	}
	all = onRunners(t, all, access.Drain{Name: "gpu1", At: later, Given: time.Hour, Actor: "client:ci"})
	if o := all.All[0]; !o.Drained.Equal(later) || !o.DrainBy.Equal(later.Add(time.Hour)) {
		t.Errorf("drained: %+v", o)
	}
	all = onRunners(t, all, access.Drain{Name: "gpu1", At: later, Back: true, Actor: work.OperatorActor})
	if o := all.All[0]; !o.Drained.IsZero() || !o.DrainBy.IsZero() || o.Key != key("a") {
		t.Errorf("back: %+v", o)
	}
	all = onRunners(t, all, access.Remove{Name: "gpu1", Actor: work.OperatorActor, Key: "remove"})
	if _, ok := all.ByKey(key("a")); ok || len(all.All) != 0 || !cmp.Equal(all.Recorded("remove"), []uint64{5}) {
		t.Errorf("removed: %+v", all)
	}
	all = onRunners(t, all, invite("gpu1", later))
	all = onRunners(t, all, access.Join{Secret: access.Sum("gpu1"), With: key("a"), At: later})
	if o, ok := all.ByKey(key("a")); !ok || !o.Joined.Equal(later) || len(o.Labels) != 0 {
		t.Errorf("after it was invited again: %+v, %t", o, ok)
	}
}

// An invitation is good once and until it expires; the same key hears the same again.
func TestRunnerJoins(t *testing.T) {
	one := onRunners(t, access.Runners{}, invite("one", noon))
	last := one.All[0].Expires.Add(-time.Millisecond)
	refused := func(name string, all access.Runners, do access.Join, want error) {
		t.Helper()
		if e, err := access.DecideRunners(all, do); !errors.Is(err, want) || e.Type != "" {
			t.Errorf("%s: %+v, %v, want %v", name, e, err, want)
		}
	}
	secret := access.Sum("one")
	refused("another secret", one, access.Join{Secret: access.Sum("two"), With: key("a"), At: noon}, access.ErrNoInvitation)
	refused("no secret", one, access.Join{With: key("a"), At: noon}, access.ErrNoInvitation)
	refused("after its end", one, access.Join{Secret: secret, With: key("a"), At: last.Add(time.Millisecond)}, access.ErrNoInvitation)
	for _, k := range []string{"", key("A"), key("x"), key("a")[1:], key("a") + "a"} {
		refused("the key "+k, one, access.Join{Secret: secret, With: k, At: noon}, access.ErrBadRunnersKey)
	}
	joined := onRunners(t, one, access.Join{Secret: secret, With: key("a"), At: last})
	after := last.Add(time.Hour)
	refused("the same key again", joined, access.Join{Secret: secret, With: key("a"), At: after}, access.ErrJoined)
	refused("another key", joined, access.Join{Secret: secret, With: key("b"), At: after}, access.ErrRedeemed)
	two := onRunners(t, joined, invite("two", last))
	refused("a key that is another runner's", two, access.Join{Secret: access.Sum("two"), With: key("a"), At: last}, access.ErrKeyTaken)
	removed := onRunners(t, joined, access.Remove{Name: "one", Actor: work.OperatorActor})
	refused("after it was removed", removed, access.Join{Secret: secret, With: key("a"), At: noon}, access.ErrNoInvitation)
	withdrawn := onRunners(t, one, access.Remove{Name: "one", Actor: work.OperatorActor})
	refused("a withdrawn invitation", withdrawn, access.Join{Secret: secret, With: key("a"), At: noon}, access.ErrNoInvitation)
	expired := onRunners(t, one, invite("one", last.Add(time.Millisecond))) // forgets the other
	if len(expired.All) != 1 || !expired.All[0].Invited.Equal(last.Add(time.Millisecond)) {
		t.Errorf("invited again: %+v", expired.All)
	}
}

func TestRunnerRefusals(t *testing.T) {
	all := onRunners(t, access.Runners{}, invite("invited", noon))
	all = onRunners(t, all, invite("joined", noon))
	all = onRunners(t, all, access.Join{Secret: access.Sum("joined"), With: key("a"), At: noon})
	lasting := func(ttl time.Duration) access.Invite {
		i := invite("x", noon)
		i.TTL = ttl
		return i
	}
	var many []string
	for n := range access.MaxLabels {
		many = append(many, fmt.Sprint(n))
	}
	onRunners(t, all, invite("x", noon, many...))
	for name, c := range map[string]struct {
		do   access.RunnerCommand
		want error
	}{
		"no name":                   {invite("", noon), access.ErrBadName},
		"a name that is none":       {invite("Gpu 1", noon), access.ErrBadName},
		"a label that is none":      {invite("x", noon, "linux", "a b"), access.ErrBadLabel},
		"an empty label":            {invite("x", noon, ""), access.ErrBadLabel},
		"a label twice":             {invite("x", noon, "a", "b", "a"), access.ErrBadLabel},
		"too many labels":           {invite("x", noon, append(many, "more")...), access.ErrBadLabel},
		"a name that is invited":    {invite("invited", noon), access.ErrRunnerTaken},
		"a name that has joined":    {invite("joined", noon.AddDate(1, 0, 0)), access.ErrRunnerTaken},
		"for no time":               {lasting(0), access.ErrBadInviteTTL},
		"until before it was made":  {lasting(-time.Hour), access.ErrBadInviteTTL},
		"for too long":              {lasting(access.MaxInvitationTTL + 1), access.ErrBadInviteTTL},
		"drain what is not there":   {access.Drain{Name: "x", At: noon}, access.ErrNoRunner},
		"drain what has not joined": {access.Drain{Name: "invited", At: noon}, access.ErrNotJoined},
		"drain until before now":    {access.Drain{Name: "joined", At: noon, Given: -1}, access.ErrBadDeadline},
		"drain for too long":        {access.Drain{Name: "joined", At: noon, Given: access.MaxDrain + 1}, access.ErrBadDeadline},
		"remove what is not there":  {access.Remove{Name: "\x1b" + strings.Repeat("x", 1000)}, access.ErrNoRunner},
		"remove nothing":            {access.Remove{}, access.ErrNoRunner},
	} {
		e, err := access.DecideRunners(all, c.do)
		if !errors.Is(err, c.want) || e.Type != "" {
			t.Errorf("%s: %+v, %v, want %v", name, e, err, c.want)
		} else if len(err.Error()) > 400 || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %q", name, err)
		}
	}
}

// There are never more than MaxRunners, and invitations that have expired make room.
func TestManyRunners(t *testing.T) {
	var all access.Runners
	for n := range access.MaxRunners {
		all = onRunners(t, all, invite(fmt.Sprint(n), noon))
	}
	if _, err := access.DecideRunners(all, invite("more", noon)); !errors.Is(err, access.ErrManyRunners) {
		t.Errorf("one more: %v", err)
	}
	all = onRunners(t, all, access.Join{Secret: access.Sum("7"), With: key("a"), At: noon})
	all = onRunners(t, all, invite("more", noon.Add(time.Hour)))
	if got := runnerNames(all.All); !cmp.Equal(got, []string{"7", "more"}) {
		t.Errorf("left: %q", got)
	}
}

func TestRunnerFoldRefuses(t *testing.T) {
	one := onRunners(t, access.Runners{}, invite("one", noon))
	for name, change := range map[string]func(*work.Event, *access.Runners){
		"an unknown type":                  func(e *work.Event, _ *access.Runners) { e.Type = "RunnerEaten" },
		"a token's":                        func(e *work.Event, _ *access.Runners) { e.Type = access.TokenRevoked },
		"what can't be read":               func(e *work.Event, _ *access.Runners) { e.Payload = 1 },
		"what does not continue the chain": func(_ *work.Event, of *access.Runners) { of.Tip.ItemSeq++ },
	} {
		decided, err := access.DecideRunners(one, invite("two", noon))
		if err != nil {
			t.Fatal(err)
		}
		of := one
		change(&decided, &of)
		e, stored := recordRunner(t, of, decided)
		if _, err := access.FoldRunners(one, 2, e, stored); err == nil {
			t.Errorf("%s is folded", name)
		}
	}
	// An event on a runner that is none is a fact like others, and changes nothing.
	for _, kind := range access.RunnerTypes()[1:] {
		next, err := access.EvolveRunners(one, 2, ledger.Event{Type: kind, Payload: json.RawMessage(`{"name":"two"}`)})
		if err != nil || !cmp.Equal(next.All, one.All) {
			t.Errorf("%s of another: %+v, %v", kind, next.All, err)
		}
	}
}

// An invitation is one word for any shell, is recognised in texts, and has one form.
func TestInvitation(t *testing.T) {
	secret := access.InvitationSecret([32]byte{1, 0xff})
	in := access.Invitation{Box: []string{"192.0.2.7:7443", "[2001:db8::1]:7443", "box.example.org:7443"}, Key: key("a"), Secret: secret}
	word := in.String()
	if !regexp.MustCompile("^"+access.InvitationPattern+"$").MatchString(word) || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		t.Errorf("an invitation: %s", word)
	}
	for _, broken := range []string{" " + word + "\n", word[:50] + "\r\n  " + word[50:], word[:50] + " " + word[50:90] + "\t" + word[90:]} {
		if got, err := access.ParseInvitation(broken); err != nil || !cmp.Equal(got, in) {
			t.Errorf("read: %+v, %v", got, err)
		}
	}
	with := func(change func(*access.Invitation)) string {
		other := in
		change(&other)
		return other.String()
	}
	packed := func(text string) string { return "sbr1_" + base64.RawURLEncoding.EncodeToString([]byte(text)) }
	many := make([]string, access.MaxAddresses+1)
	for i := range many {
		many[i] = "a:1"
	}
	for more := range 3 { // so the last letter has none, two or four bits that mean nothing
		longer := with(func(i *access.Invitation) { i.Box = []string{"192.0.2.7:7443" + strings.Repeat("1", more)} })
		for _, last := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-" {
			text := longer[:len(longer)-1] + string(last)
			if got, err := access.ParseInvitation(text); text != longer && err == nil {
				t.Errorf("%s is %+v, and so is %s", longer, got, text)
			}
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "its beginning": word[:len(word)/2], "without its beginning": word[5:], "a token": access.Secret([32]byte{}), "no JSON": packed("{"), "two documents": packed(`{}{}`),
		"what is no object": packed(`[]`), "an empty one": packed(`{}`), "a very long one": "sbr1_" + strings.Repeat("A", 1<<20),
		"no address":             with(func(i *access.Invitation) { i.Box = nil }),
		"an empty address":       with(func(i *access.Invitation) { i.Box = []string{""} }),
		"an address with blanks": with(func(i *access.Invitation) { i.Box = []string{"a b:1"} }),
		"an address to print":    with(func(i *access.Invitation) { i.Box = []string{"a:1", "\x1b[31m:1"} }),
		"a long address":         with(func(i *access.Invitation) { i.Box = []string{strings.Repeat("a", 301)} }),
		"many addresses":         with(func(i *access.Invitation) { i.Box = many }),
		"no key":                 with(func(i *access.Invitation) { i.Key = "" }),
		"half a key":             with(func(i *access.Invitation) { i.Key = key("a")[:32] }),
		"no secret":              with(func(i *access.Invitation) { i.Secret = "" }),
		"a secret of others":     with(func(i *access.Invitation) { i.Secret = strings.ToUpper(secret) }),
	} {
		if got, err := access.ParseInvitation(text); !errors.Is(err, access.ErrBadInvitation) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
