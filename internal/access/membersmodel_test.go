package access_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// memberModel is what the members should be, as plainly as can be: who has which id and key, and which invitations are out.
type memberModel struct {
	name, secret map[string]string // by a member's key: its name, and the secret that it joined with
	id           map[string]uint64 // by its key
	votes        map[string]bool
	out          map[string]memberInvitation // by its secret
	last         uint64
}

type memberInvitation struct {
	name, replaces string
	until          time.Time
}

// with returns the key of the member with a name.
func (m *memberModel) with(name string) string {
	for key, n := range m.name {
		if n == name {
			return key
		}
	}
	return ""
}

func (m *memberModel) drop(key string) {
	delete(m.name, key)
	delete(m.secret, key)
	delete(m.id, key)
	delete(m.votes, key)
}

func (m *memberModel) add(key, name, secret string, votes bool) {
	m.last++
	m.name[key], m.secret[key], m.id[key], m.votes[key] = name, secret, m.last, votes
}

// settle has all vote that should.
func (m *memberModel) settle() {
	some := false
	for key := range m.name {
		some = some || m.votes[key]
	}
	for key := range m.name {
		m.votes[key] = m.votes[key] || len(m.name) == 1 || len(m.name) == 3 || !some
	}
}

func (m *memberModel) String() string {
	var all []string
	for key, name := range m.name {
		all = append(all, fmt.Sprintf("%02d %s %s %t", m.id[key], name, key[:1], m.votes[key]))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// In random lives of a cluster the members are those of the plain model, and what always holds holds.
func TestMembersModel(t *testing.T) {
	names, keys, secrets := []string{"a", "b", "c", "d"}, []string{key("1"), key("2"), key("3"), key("4"), key("5")}, []string{"s1", "s2", "s3", "s4", "s5", "s6"}
	rapid.Check(t, func(t *rapid.T) {
		model := memberModel{name: map[string]string{}, secret: map[string]string{}, id: map[string]uint64{}, votes: map[string]bool{}, out: map[string]memberInvitation{}}
		var m access.Members
		now := noon
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			name, with, secret := rapid.SampledFrom(names).Draw(t, "name"), rapid.SampledFrom(keys).Draw(t, "key"), rapid.SampledFrom(secrets).Draw(t, "secret")
			var do access.MemberCommand
			var then func()
			here := []string{"a:1"}
			switch rapid.IntRange(0, 11).Draw(t, "command") {
			case 0:
				now = now.Add(rapid.SampledFrom([]time.Duration{time.Minute, 15 * time.Minute}).Draw(t, "pause"))
				continue
			case 1, 2, 3:
				if _, used := model.out[secret]; used || slices.Contains(slices.Collect(mapValues(model.secret)), secret) {
					continue // secrets are random, and never given twice
				}
				replaces := rapid.SampledFrom([]string{"", "", name, "a", "b"}).Draw(t, "in the place of")
				do = invitedMember(name, replaces, secret, now)
				then = func() { model.out[secret] = memberInvitation{name, replaces, now.Add(15 * time.Minute)} }
			case 4, 5, 6, 7:
				do = access.JoinCluster{Secret: access.Sum(secret), With: with, Addresses: here, At: now}
				then = func() {
					i, ok := model.out[secret]
					if !ok || !now.Before(i.until) {
						t.Fatalf("who has no invitation got in: %+v", model)
					}
					votes := model.votes[model.with(i.replaces)]
					if i.replaces != "" {
						model.drop(model.with(i.replaces))
					}
					delete(model.out, secret)
					model.add(with, i.name, secret, votes)
				}
			case 8:
				old := rapid.SampledFrom(keys).Draw(t, "old key")
				do = access.RejoinCluster{Old: old, With: with, Addresses: here, At: now}
				then = func() {
					name, votes := model.name[old], model.votes[old]
					if name == "" {
						t.Fatalf("who was no member came back")
					}
					model.drop(old)
					model.add(with, name, "", votes)
				}
			case 9, 10:
				do = access.LeaveCluster{Name: name, At: now, Actor: work.OperatorActor}
				then = func() {
					for s, i := range model.out {
						if i.name == name && now.Before(i.until) {
							delete(model.out, s)
							return
						}
					}
					for s, i := range model.out {
						if i.replaces == name {
							delete(model.out, s)
						}
					}
					model.drop(model.with(name))
				}
			case 11:
				if len(model.name) > 1 && rapid.IntRange(0, 3).Draw(t, "and it may end") > 0 {
					continue
				}
				do = access.FoundCluster{Name: name, Key: with, Addresses: here, At: now}
				then = func() {
					last := model.last
					model = memberModel{name: map[string]string{}, secret: map[string]string{}, id: map[string]uint64{}, votes: map[string]bool{}, out: map[string]memberInvitation{}, last: last}
					model.add(with, name, "", true)
				}
			}
			after, e, err := onMembers(m, do)
			if err != nil {
				known := false
				for _, why := range refusals {
					known = known || errors.Is(err, why)
				}
				if !known {
					t.Fatalf("%+v: %v", do, err)
				}
				continue
			}
			then()
			model.settle()
			var got []string
			for _, o := range after.All {
				got = append(got, fmt.Sprintf("%02d %s %s %t", o.ID, o.Name, o.Key[:1], o.Votes))
			}
			if strings.Join(got, ", ") != model.String() || after.Last != model.last {
				t.Fatalf("%s: %s up to %d, want %s up to %d", access.Sentence(e), strings.Join(got, ", "), after.Last, model.String(), model.last)
			}
			judgeMembers(t, m, after, now)
			m = after
		}
	})
}

func mapValues[K comparable, V any](m map[K]V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// judgeMembers holds members against what always holds.
func judgeMembers(t *rapid.T, before, after access.Members, now time.Time) {
	named, keyed := map[string]bool{}, map[string]bool{}
	votes := 0
	for i, o := range after.All {
		if named[o.Name] || keyed[o.Key] {
			t.Fatalf("two members have a name or a key: %+v", after.All)
		}
		named[o.Name], keyed[o.Key] = true, true
		if i > 0 && o.ID <= after.All[i-1].ID || o.ID > after.Last {
			t.Fatalf("the ids are not in their order: %+v", after.All)
		}
		if was, there := before.ByID(o.ID); there && was.Votes && !o.Votes {
			t.Fatalf("member %d voted, and learns now", o.ID)
		} else if !there && o.ID <= before.Last {
			t.Fatalf("the id %d was given before", o.ID)
		}
		if o.Votes {
			votes++
		}
	}
	if len(after.All) > access.MaxMembers || len(after.All) > 0 && votes == 0 || len(after.All) != 2 && votes != len(after.All) {
		t.Fatalf("of %d members %d vote", len(after.All), votes)
	}
	own := map[string]bool{}
	for _, p := range after.Open(now) {
		_, taken := after.Named(p.Name)
		_, there := after.Named(p.Replaces)
		if own[p.Name] || taken && p.Name != p.Replaces || p.Replaces != "" && !there {
			t.Fatalf("an invitation for %s in the place of %q, with %+v", p.Name, p.Replaces, after)
		}
		own[p.Name] = true
	}
	if after.Last < before.Last || after.Level < before.Level {
		t.Fatal("the highest id, or the level, has fallen")
	}
}
