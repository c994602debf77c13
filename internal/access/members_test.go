package access_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// recordMember records an event on members, as the ledger would.
func recordMember(before access.Members, decided work.Event) (ledger.Event, []byte, error) {
	payload, err := json.Marshal(decided.Payload)
	if err != nil {
		return ledger.Event{}, nil, err
	}
	e := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: "members", ItemSeq: before.Tip.ItemSeq + 1, Prev: before.Tip.Sum,
		Type: decided.Type, Actor: decided.Actor, Key: decided.Key, Time: noon, Payload: payload,
	}
	stored, err := e.Encode()
	return e, stored, err
}

// onMembers decides a command, records the event and folds it. It is an error if what was given has changed.
func onMembers(before access.Members, command access.MemberCommand) (access.Members, ledger.Event, error) {
	decided, err := access.DecideMembers(before, command)
	if err != nil {
		if decided.Type != "" {
			return before, ledger.Event{}, fmt.Errorf("it is refused, and leads to %s: %w", decided.Type, err)
		}
		return before, ledger.Event{}, err
	}
	if !slices.Contains(command.Events(), decided.Type) || decided.Actor == "" {
		return before, ledger.Event{}, fmt.Errorf("%T leads to %s by %q, and says %q", command, decided.Type, decided.Actor, command.Events())
	}
	e, stored, err := recordMember(before, decided)
	if err != nil {
		return before, e, err
	}
	was := fmt.Sprintf("%+v", before)
	after, err := access.FoldMembers(before, before.Seq+1, e, stored)
	if now := fmt.Sprintf("%+v", before); err == nil && now != was {
		err = fmt.Errorf("%s has changed what was given: %s, and now %s", e.Type, was, now)
	}
	return after, e, err
}

// showMembers writes members on one line: "a1 (b2) c?" has a voter, one that learns, and one that is invited; "c?a" is invited in a's place.
func showMembers(m access.Members, now time.Time) string {
	var all []string
	for _, o := range m.All {
		text := o.Name + strconv.FormatUint(o.ID, 10)
		if !o.Votes {
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	for _, p := range m.Open(now) {
		all = append(all, p.Name+"?"+p.Replaces)
	}
	if m.Level > 0 {
		all = append(all, fmt.Sprint("level ", m.Level))
	}
	return strings.Join(all, " ")
}

// refusals are the words of scenarios for errors.
var refusals = map[string]error{
	"taken": access.ErrMemberTaken, "many": access.ErrManyMembers, "no such box": access.ErrNoMember, "gone": access.ErrMemberGone, "no cluster": access.ErrNoCluster, "last": access.ErrLastMember,
	"no invitation": access.ErrNoPlaceThere, "redeemed": access.ErrPlaceTaken, "another's key": access.ErrMembersKey, "no key": access.ErrBadMembersKey,
	"addresses": access.ErrBadAddresses, "level": access.ErrBadLevel, "again": access.ErrMember, "time": access.ErrBadInviteTTL, "name": access.ErrBadName,
}

// memberCommand reads a command of a scenario.
func memberCommand(words []string, now time.Time) (access.MemberCommand, error) {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	full := func(digit string) string { return strings.Repeat(digit, 64) }
	here := []string{"192.0.2.1:7443"}
	switch words[0] {
	case "found": // NAME KEY [ADDRESS]
		if arg(3) != "" {
			here = []string{arg(3)}
		}
		return access.FoundCluster{Name: arg(1), Key: full(arg(2)), Addresses: here, At: now}, nil
	case "invite": // NAME [SECRET]
		return invitedMember(arg(1), "", arg(2), now), nil
	case "replace": // OLD NAME [SECRET]
		return invitedMember(arg(2), arg(1), arg(3), now), nil
	case "join": // SECRET KEY
		return access.JoinCluster{Secret: access.Sum(arg(1)), With: full(arg(2)), Addresses: here, At: now}, nil
	case "rejoin": // OLD-KEY KEY
		return access.RejoinCluster{Old: full(arg(1)), With: full(arg(2)), Addresses: here, At: now}, nil
	case "leave": // NAME
		return access.LeaveCluster{Name: arg(1), At: now, Actor: work.OperatorActor, Key: "leave " + arg(1)}, nil
	case "level": // NUMBER
		n, err := strconv.Atoi(arg(1))
		return access.RaiseLevel{To: n}, err
	}
	return nil, fmt.Errorf("no command: %q", words)
}

func invitedMember(name, replaces, secret string, at time.Time) access.InviteMember {
	if secret == "" {
		secret = name
	}
	return access.InviteMember{Name: name, Replaces: replaces, At: at, TTL: 15 * time.Minute, Secret: access.Sum(secret), Actor: work.OperatorActor, Key: "invite " + secret}
}

// What commands on the boxes of a cluster lead to: each line has a command and the members after it, or in brackets why it is refused.
func TestMembers(t *testing.T) {
	for name, scenario := range map[string]string{
		"one becomes three": `
			invite b               [no cluster]
			leave a                [no cluster]
			found a 1              a1
			invite b               a1 b?
			join b 2               a1 (b2)
			invite c               a1 (b2) c?
			join c 3               a1 b2 c3
			invite d               [many]`,
		"three become one": `
			found a 1              a1
			invite b               a1 b?
			invite c               a1 b? c?
			join c 3               a1 (c2) b?
			join b 2               a1 c2 b3
			leave c                a1 b3
			leave c                [no such box]
			leave a                b3
			leave b                [last]
			invite c               b3 c?
			join c 3               b3 (c4)`,
		"who votes goes on to": `
			found a 1              a1
			invite b               a1 b?
			join b 2               a1 (b2)
			invite c               a1 (b2) c?
			join c 3               a1 b2 c3
			leave a                b2 c3
			replace c d            b2 c3 d?c
			join d 4               b2 d4
			leave b                d4`,
		"the second box learns, and is left": `
			found a 1              a1
			invite b               a1 b?
			join b 2               a1 (b2)
			replace b b            a1 (b2) b?b
			join b 3               [redeemed]
			leave b                a1 (b2)
			leave a                b2`,
		"the one that votes is replaced": `
			found a 1              a1
			invite b               a1 b?
			join b 2               a1 (b2)
			replace a c            a1 (b2) c?a
			join c 3               (b2) c3
			invite d               (b2) c3 d?
			join d 4               b2 c3 d4`,
		"an invitation is good once": `
			found a 1              a1
			invite b               a1 b?
			join x 2               [no invitation]
			join b 2               a1 (b2)
			join b 2               [again]
			join b 3               [redeemed]
			invite c               a1 (b2) c?
			join c 2               [another's key]
			join c 1               [another's key]
			leave b                a1 c?
			join b 2               [no invitation]
			join c 2               a1 (c3)`,
		"and until it expires": `
			found a 1              a1
			invite b               a1 b?
			wait 14m59.999s        a1 b?
			wait 1ms               a1
			join b 2               [no invitation]
			leave b                [no such box]
			invite b b2            a1 b?
			join b 2               [no invitation]
			join b2 2              a1 (b2)`,
		"or is withdrawn": `
			found a 1              a1
			invite b               a1 b?
			leave b                a1
			join b 2               [no invitation]
			leave b                [no such box]
			invite b b2            a1 b?
			wait 15m               a1
			join b2 2              [no invitation]`,
		"a name is given once": `
			found a 1              a1
			invite a               [taken]
			invite b               a1 b?
			invite b again         [taken]
			replace a b            [taken]
			replace x c            [no such box]
			replace a c            a1 b? c?a
			replace a d            [taken]
			invite c               [taken]
			join b 2               a1 (b2) c?a
			replace b a            [taken]
			replace b c            [taken]`,
		"a box is replaced by one of its name": `
			found a 1              a1
			replace a a new        a1 a?a
			invite a               [taken]
			invite b               a1 a?a b?
			invite c               a1 a?a b? c?
			invite d               [many]
			join new 2             a2 b? c?
			join new 2             [again]
			join new 3             [redeemed]
			join b 1               a2 (b3) c?
			rejoin 3 4             [gone]`,
		"the replaced one leaves first": `
			found a 1              a1
			invite b               a1 b?
			join b 2               a1 (b2)
			replace b c            a1 (b2) c?b
			leave b                a1
			join c 3               [no invitation]`,
		"a box comes back": `
			found a 1              a1
			invite b               a1 b?
			join b 2               a1 (b2)
			rejoin 2 3             a1 (b3)
			rejoin 2 3             [again]
			rejoin 3 3             [again]
			rejoin 2 4             [gone]
			rejoin 3 1             [another's key]
			join b 2               [no invitation]
			rejoin 1 5             (b3) a4
			replace a c            (b3) a4 c?a
			rejoin 5 6             (b3) a5 c?a
			join c 7               (b3) c6`,
		"another cluster after one that has ended": `
			found a 1              a1
			found a 1              [again]
			level 2                a1 level 2
			invite b               a1 b? level 2
			join b 2               a1 (b2) level 2
			leave b                a1 level 2
			invite c               a1 c? level 2
			found a 1              a3 level 2
			found a 1              [again]
			join c 3               [no invitation]
			found b 1              b4 level 2
			found b 1 [2001:db8::1]:7443 b5 level 2
			found b 2              b6 level 2`,
		"the level rises": `
			level 1                level 1
			level 1                [level]
			level 3                level 3
			level 2                [level]
			found a 1              a1 level 3`,
	} {
		t.Run(name, func(t *testing.T) {
			var m access.Members
			now := noon
			for line := range strings.Lines(strings.TrimSpace(scenario)) {
				command, want := splitScenario(line)
				if length, ok := strings.CutPrefix(command, "wait "); ok {
					d, err := time.ParseDuration(length)
					if err != nil {
						t.Fatal(err)
					}
					now = now.Add(d)
				} else {
					do, err := memberCommand(strings.Fields(command), now)
					if err != nil {
						t.Fatal(err)
					}
					after, _, err := onMembers(m, do)
					if why, refused := strings.CutPrefix(want, "["); refused {
						if reason := refusals[strings.TrimSuffix(why, "]")]; reason == nil || !errors.Is(err, reason) {
							t.Errorf("%s, with %s: %v, want %s", command, showMembers(m, now), err, want)
						}
						continue
					}
					if err != nil {
						t.Fatalf("%s, with %s: %v", command, showMembers(m, now), err)
					}
					m = after
				}
				if got := showMembers(m, now); got != want {
					t.Fatalf("%s: %s, want %s", command, got, want)
				}
			}
		})
	}
}

// splitScenario splits a line at its wide blank; or, where an address leaves none, before the last known beginning of members.
func splitScenario(line string) (command, want string) {
	line = strings.TrimSpace(line)
	if at := regexp.MustCompile(`  +`).FindStringIndex(line); at != nil {
		return line[:at[0]], line[at[1]:]
	}
	at := strings.Index(line, ":7443 ") + len(":7443")
	return line[:at], strings.TrimSpace(line[at:])
}

// What a member is, field by field: as the events say, and found by its name, id and key; who it was is nobody any more.
func TestMemberIs(t *testing.T) {
	must := func(m access.Members, do access.MemberCommand) access.Members {
		t.Helper()
		after, _, err := onMembers(m, do)
		if err != nil {
			t.Fatal(err)
		}
		return after
	}
	places := []string{"[2001:db8::1]:7443", "b.example.org:7443"}
	m := must(access.Members{}, access.FoundCluster{Name: "a", Key: key("1"), Addresses: []string{"192.0.2.1:7443"}, At: noon})
	m = must(m, invitedMember("b", "", "", noon))
	if p := m.Places; len(p) != 1 || p[0] != (access.Place{Name: "b", Secret: access.Sum("b"), Expires: noon.Add(15 * time.Minute)}) {
		t.Errorf("invited: %+v", p)
	}
	m = must(m, access.JoinCluster{Secret: access.Sum("b"), With: key("2"), Addresses: places, At: noon.Add(time.Minute)})
	want := access.Member{ID: 2, Name: "b", Key: key("2"), Addresses: places, Joined: noon.Add(time.Minute), Secret: access.Sum("b"), Seq: 3}
	for how, find := range map[string]func() (access.Member, bool){
		"name": func() (access.Member, bool) { return m.Named("b") },
		"id":   func() (access.Member, bool) { return m.ByID(2) },
		"key":  func() (access.Member, bool) { return m.ByKey(key("2")) },
	} {
		if got, ok := find(); !ok || !cmp.Equal(got, want) {
			t.Errorf("by its %s: %+v, %t", how, got, ok)
		}
	}
	for _, other := range []string{"", key("3"), key("2")[:63]} {
		if got, ok := m.ByKey(other); ok {
			t.Errorf("the key %q is that of %+v", other, got)
		}
	}
	if voters, learners := m.Wanted(); !cmp.Equal(voters, []uint64{1}) || !cmp.Equal(learners, []uint64{2}) {
		t.Errorf("wanted: %d vote, %d learn", voters, learners)
	}
	if got := m.Recorded("invite b"); !cmp.Equal(got, []uint64{2}) {
		t.Errorf("the invitation's request: %d", got)
	}
	text, err := json.Marshal(m.All)
	if err != nil || strings.Contains(string(text), access.Sum("b").String()) {
		t.Errorf("others are told of an invitation's secret: %s, %v", text, err)
	}
	back := must(m, access.RejoinCluster{Old: key("2"), With: key("3"), Addresses: places[:1], At: noon.Add(time.Hour)})
	if got, _ := back.ByID(3); !cmp.Equal(got, access.Member{ID: 3, Name: "b", Key: key("3"), Addresses: places[:1], Joined: noon.Add(time.Hour), Seq: 4}) {
		t.Errorf("it came back as %+v", got)
	}
	left := must(m, access.LeaveCluster{Name: "b", At: noon, Actor: work.OperatorActor})
	for what, all := range map[string]access.Members{"replaced": back, "gone": left} {
		_, named := all.ByKey(key("2"))
		if _, there := all.ByID(2); named || there {
			t.Errorf("who is %s is a member still: %+v", what, all.All)
		}
	}
	if left.Last != 2 || back.Last != 3 {
		t.Errorf("the highest ids are %d and %d", left.Last, back.Last)
	}
}

func TestMemberRefusals(t *testing.T) {
	m, _, err := onMembers(access.Members{}, access.FoundCluster{Name: "a", Key: key("1"), Addresses: []string{"a:1"}, At: noon})
	if err == nil {
		m, _, err = onMembers(m, invitedMember("b", "", "", noon))
	}
	if err != nil {
		t.Fatal(err)
	}
	lasting := func(ttl time.Duration) access.InviteMember {
		i := invitedMember("c", "", "", noon)
		i.TTL = ttl
		return i
	}
	here := []string{"b:1"}
	for name, c := range map[string]struct {
		do   access.MemberCommand
		want error
	}{
		"founds with no name":           {access.FoundCluster{Key: key("2"), Addresses: here}, access.ErrBadName},
		"founds with a name of blanks":  {access.FoundCluster{Name: "a b", Key: key("2"), Addresses: here}, access.ErrBadName},
		"founds without a key":          {access.FoundCluster{Name: "a", Addresses: here}, access.ErrBadMembersKey},
		"founds nowhere":                {access.FoundCluster{Name: "a", Key: key("2")}, access.ErrBadAddresses},
		"no name":                       {invitedMember("", "", "x", noon), access.ErrBadName},
		"a name with an escape":         {invitedMember("\x1b", "", "", noon), access.ErrBadName},
		"for no time":                   {lasting(0), access.ErrBadInviteTTL},
		"until before it was made":      {lasting(-time.Hour), access.ErrBadInviteTTL},
		"for too long":                  {lasting(access.MaxInvitationTTL + 1), access.ErrBadInviteTTL},
		"in nobody's place":             {invitedMember("c", "\x1b"+strings.Repeat("x", 1000), "", noon), access.ErrNoMember},
		"in the place of who is not in": {invitedMember("c", "b", "", noon), access.ErrNoMember},
		"joins without a secret":        {access.JoinCluster{With: key("2"), Addresses: here, At: noon}, access.ErrNoPlaceThere},
		"joins without a key":           {access.JoinCluster{Secret: access.Sum("b"), Addresses: here, At: noon}, access.ErrBadMembersKey},
		"joins with half a key":         {access.JoinCluster{Secret: access.Sum("b"), With: key("2")[:63], Addresses: here, At: noon}, access.ErrBadMembersKey},
		"joins from nowhere":            {access.JoinCluster{Secret: access.Sum("b"), With: key("2"), At: noon}, access.ErrBadAddresses},
		"rejoins without a key":         {access.RejoinCluster{Old: key("1"), Addresses: here, At: noon}, access.ErrBadMembersKey},
		"rejoins from nowhere":          {access.RejoinCluster{Old: key("1"), With: key("2"), At: noon}, access.ErrBadAddresses},
		"rejoins as nobody":             {access.RejoinCluster{With: key("2"), Addresses: here, At: noon}, access.ErrMemberGone},
		"removes nobody":                {access.LeaveCluster{At: noon}, access.ErrNoMember},
		"removes a text":                {access.LeaveCluster{Name: "\x1b" + strings.Repeat("x", 1000), At: noon}, access.ErrNoMember},
		"no level":                      {access.RaiseLevel{}, access.ErrBadLevel},
	} {
		_, _, err := onMembers(m, c.do)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		} else if len(err.Error()) > 600 || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %q", name, err)
		}
	}
}

// An address is what the other boxes can dial.
func TestMemberAddresses(t *testing.T) {
	many := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("b%d:7443", i))
		}
		return all
	}
	for _, good := range [][]string{
		{"192.0.2.7:7443"}, {"[::1]:7443"}, {"[2001:db8::7]:1", "b.example.org:65535"}, {"b:7443", "b:7444"}, {"box_1.lan:7443"}, {"[fe80::1%eth0]:7443"}, many(access.MaxAddresses),
	} {
		if err := access.CheckAddresses(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range [][]string{
		nil, {""}, {"b"}, {":7443"}, {"b:"}, {"b:0"}, {"b:65536"}, {"b:-1"}, {"b:+1"}, {"b:http"}, {"b:7443 "}, {" b:7443"}, {"b c:7443"}, {"b:7443", "b:7443"}, {"b:7443", ""},
		{"::1:7443"}, {"[::1]"}, {"[::1]7443"}, {"[::1:7443"}, {"::1]:7443"}, {"[[::1]]:7443"}, {"[b]:7443"}, {"[]:7443"}, {"[192.0.2.7]:7443"}, {"b]:7443"},
		{"0.0.0.0:7443"}, {"[::]:7443"}, {"https://b:7443"}, {"b/c:7443"}, {"me@b:7443"}, {"\x1b[31m:7443"}, {"bücher.example:7443"}, {strings.Repeat("b", 301) + ":7443"}, many(access.MaxAddresses + 1),
		{"[fe80::1%\n\x1b[2J]:7443"}, {"[fe80::1%eth 0]:7443"}, {"[fe80::1%é]:7443"},
	} {
		if err := access.CheckAddresses(bad); !errors.Is(err, access.ErrBadAddresses) {
			t.Errorf("%q: %v", bad, err)
		} else if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) || len(err.Error()) > 500 {
			t.Errorf("%q: it is said as %q", bad, err)
		}
	}
}

// Events that no command leads to change nothing, or are refused.
func TestMemberFoldRefuses(t *testing.T) {
	one, _, err := onMembers(access.Members{}, access.FoundCluster{Name: "a", Key: key("1"), Addresses: []string{"a:1"}, At: noon})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*work.Event, *access.Members){
		"an unknown type":                  func(e *work.Event, _ *access.Members) { e.Type = "MemberEaten" },
		"a runner's":                       func(e *work.Event, _ *access.Members) { e.Type = access.RunnerInvited },
		"what can't be read":               func(e *work.Event, _ *access.Members) { e.Payload = 1 },
		"what does not continue the chain": func(_ *work.Event, of *access.Members) { of.Tip.ItemSeq++ },
	} {
		decided, err := access.DecideMembers(one, invitedMember("b", "", "", noon))
		if err != nil {
			t.Fatal(err)
		}
		of := one
		change(&decided, &of)
		e, stored, err := recordMember(of, decided)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := access.FoldMembers(one, 2, e, stored); err == nil {
			t.Errorf("%s is folded", name)
		}
	}
	for _, c := range []struct{ kind, payload string }{
		{access.MemberInvited, `{"name":"b"}`}, {access.MemberJoined, `{"name":"b","id":7}`},
		{access.MemberJoined, `{"name":"b","id":1,"key_sha256":"` + key("2") + `"}`}, // an id that was given
		{access.MemberReplaced, `{"name":"b","id":0,"old_id":1,"key_sha256":"` + key("2") + `"}`},
		{access.MemberLeft, `{"name":"a","id":9}`}, {access.MemberLeft, `{"name":"a"}`}, {access.LevelRaised, `{"level":-1}`}, {access.LevelRaised, `{}`},
	} {
		next, err := access.EvolveMembers(one, 2, ledger.Event{Type: c.kind, Payload: json.RawMessage(c.payload)})
		if err != nil || !cmp.Equal(next.All, one.All) || len(next.Places) != 0 || next.Last != 1 || next.Level != 0 {
			t.Errorf("%s %s: %+v, %v", c.kind, c.payload, next, err)
		}
	}
}

// A cluster's invitation is none for a runner, and the other way round; both are taken out of texts.
func TestInvitationKinds(t *testing.T) {
	in := access.Invitation{Box: []string{"192.0.2.7:7443"}, Key: key("a"), Secret: access.InvitationSecret([32]byte{7})}
	runner, cluster := in.String(), in.ClusterString()
	if got, err := access.ParseClusterInvitation(cluster); err != nil || !cmp.Equal(got, in) {
		t.Errorf("a cluster's: %+v, %v", got, err)
	}
	if got, err := access.ParseClusterInvitation(cluster[:60] + "\n  " + cluster[60:] + "\r\n"); err != nil || !cmp.Equal(got, in) {
		t.Errorf("a cluster's that was broken on the way: %+v, %v", got, err)
	}
	if _, err := access.ParseClusterInvitation(runner); !errors.Is(err, access.ErrBadClusterInvitation) || !strings.Contains(err.Error(), "cluster invite") || strings.Contains(err.Error(), runner[10:30]) {
		t.Errorf("a runner's, for a cluster: %v", err)
	}
	if _, err := access.ParseInvitation(cluster); !errors.Is(err, access.ErrBadInvitation) || !strings.Contains(err.Error(), "runner invite") {
		t.Errorf("a cluster's, for a runner: %v", err)
	}
	whole := regexp.MustCompile("^" + access.InvitationPattern + "$")
	if !whole.MatchString(runner) || !whole.MatchString(cluster) {
		t.Error("an invitation is not known in a text")
	}
	for _, other := range []string{"", "sbc1_", "sbx1_" + cluster[5:], strings.ToUpper(cluster), cluster + "=", "sbc1_" + strings.Repeat("A", 1<<20)} {
		if got, err := access.ParseClusterInvitation(other); !errors.Is(err, access.ErrBadClusterInvitation) {
			t.Errorf("%.40q: %+v, %v", other, got, err)
		}
	}
}

// A box's key is for what boxes say to each other alone, and nobody else may say that.
func TestPeerMay(t *testing.T) {
	rights := []access.Right{
		access.ToRead, access.ToAnswer, access.ToOperate, access.ToMetrics, access.ToOwn, access.ToAttend, access.ToReport, access.ToPass, access.ToRun, access.ToJoin, access.ToShare,
	}
	for _, peer := range []access.Principal{
		{Kind: access.Peer, Name: "b", Member: 2, Hash: key("2")},
		{Kind: access.Peer, Name: "b", Member: 2, Hash: key("2"), Session: "S", Scopes: access.Scopes()},
	} {
		for _, right := range rights {
			if err := peer.May(right, "S"); right == access.ToShare && err != nil || right != access.ToShare && !errors.Is(err, access.ErrPeer) {
				t.Errorf("a box, %s: %v", right, err)
			}
		}
	}
	for who, want := range map[access.Kind]error{
		access.Owner: access.ErrShare, access.Client: access.ErrShare, access.Gate: access.ErrShare, access.Session: access.ErrShare,
		access.Runner: access.ErrRunner, access.Guest: access.ErrGuest,
	} {
		if err := (access.Principal{Kind: who, Session: "S", Scopes: access.Scopes()}).May(access.ToShare, "S"); !errors.Is(err, want) {
			t.Errorf("%s shares: %v, want %v", who, err, want)
		}
	}
	for _, s := range access.ToShare.Scopes() {
		if slices.Contains(access.Scopes(), s) {
			t.Errorf("a token shares with %q", s)
		}
	}
}

// Each event on members is a sentence, with nothing in it that a terminal would obey.
func TestMemberSentences(t *testing.T) {
	var m access.Members
	var got []string
	for _, line := range []string{"found a 1", "invite b", "join b 2", "replace b c", "join c 3", "rejoin 3 4", "invite d", "leave d", "leave c", "level 2"} {
		do, err := memberCommand(strings.Fields(line), noon)
		if err != nil {
			t.Fatal(err)
		}
		var e ledger.Event
		if m, e, err = onMembers(m, do); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, access.Sentence(e))
	}
	want := []string{
		"box a began a cluster, as member 1 at 192.0.2.1:7443",
		"box b invited to the cluster, until 2026-01-02T12:15:00Z",
		"box b joined the cluster, as member 2 at 192.0.2.1:7443",
		"box c invited to the cluster in the place of b, until 2026-01-02T12:15:00Z",
		"box c joined the cluster in the place of b, as member 3 instead of 2, at 192.0.2.1:7443",
		"box c joined the cluster in the place of c, as member 4 instead of 3, at 192.0.2.1:7443",
		"box d invited to the cluster, until 2026-01-02T12:15:00Z",
		"box d is not invited to the cluster any more",
		"box c left the cluster; it was member 4",
		"the ledger has level 2 from here on: programs that do not know it do not start",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, kind := range access.MemberTypes() {
		if s := access.Sentence(ledger.Event{Type: kind, Payload: json.RawMessage(`{"name":"\u001b[31m","replaces":"\u001b","addresses":["\u001b"]}`)}); strings.Contains(s, "\x1b") {
			t.Errorf("%s: %q", kind, s)
		}
		if s := access.Sentence(ledger.Event{Type: kind, Payload: json.RawMessage(`1`)}); s != kind+" that can't be read" {
			t.Errorf("%s: %q", kind, s)
		}
		if !slices.Contains(access.Types(), kind) {
			t.Errorf("%s is no type of this package's", kind)
		}
	}
}
