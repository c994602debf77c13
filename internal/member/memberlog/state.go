package memberlog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// State is what a member has to remember besides its entries. It is small, and each batch and each segment's head
// repeats it whole, so a start that reads only the latest segments forgets no vote.
type State struct {
	ID uint64 // of this member: each is higher than all before, and never comes back

	Term, Vote uint64 // the latest term that it knows, and whom it voted for there; 0 for nobody
	Commit     uint64 // the last entry that it knew to be committed

	At      Mark    // up to here Members holds; committed
	Members Members // who takes part

	Taken uint64 // the bundles held at least so many events when the log last began anew

	Heard []Heard // what each member has acknowledged, by id
}

// Heard is the highest that a member acknowledged, as far as the leaders have told.
type Heard struct {
	ID        uint64
	Term      uint64 // of the leader that it acknowledged to
	Index     uint64 // of the last entry that it acknowledged there
	EntryTerm uint64 // of that entry
}

// Most bounds what a state's text holds, so that no file and no message makes it large.
const Most = 64

// AppendText appends the state as one line of printable ASCII. No sector of it is all zeros, so a torn write is not taken
// for one.
func (s State) AppendText(b []byte) ([]byte, error) {
	b = fmt.Appendf(b, "member %d term %d vote %d commit %d at %d %d %d taken %d voters%s outgoing%s learners%s heard", s.ID, s.Term, s.Vote, s.Commit,
		s.At.Index, s.At.Term, s.At.Seq, s.Taken, ids(s.Members.Voters), ids(s.Members.Outgoing), ids(s.Members.Learners))
	for _, h := range s.Heard {
		b = fmt.Appendf(b, " %d:%d:%d:%d", h.ID, h.Term, h.Index, h.EntryTerm)
	}
	return b, nil
}

func ids(of []uint64) string {
	var b strings.Builder
	for _, id := range of {
		fmt.Fprintf(&b, " %d", id)
	}
	return b.String()
}

// ParseState reads what [State.AppendText] wrote, and nothing else.
func ParseState(text []byte) (State, error) {
	bad := func() (State, error) { return State{}, fmt.Errorf("%.80q is not a member's state", text) }
	if len(text) > 32<<10 {
		return bad()
	}
	words := strings.Split(string(text), " ")
	var s State
	take := func(name string, into ...*uint64) bool {
		if len(words) < 1+len(into) || words[0] != name {
			return false
		}
		for i, p := range into {
			n, err := strconv.ParseUint(words[1+i], 10, 64)
			if err != nil {
				return false
			}
			*p = n
		}
		words = words[1+len(into):]
		return true
	}
	list := func(name string, add func(word string) bool) bool {
		if !take(name) {
			return false
		}
		for n := 0; len(words) > 0 && words[0] != "" && words[0][0] <= '9'; n++ {
			if n == Most || !add(words[0]) {
				return false
			}
			words = words[1:]
		}
		return true
	}
	into := func(of *[]uint64) func(string) bool {
		return func(word string) bool {
			id, err := strconv.ParseUint(word, 10, 64)
			*of = append(*of, id)
			return err == nil
		}
	}
	heard := func(word string) bool {
		var n [4]uint64
		parts := strings.Split(word, ":")
		if len(parts) != len(n) {
			return false
		}
		for i, part := range parts {
			var err error
			if n[i], err = strconv.ParseUint(part, 10, 64); err != nil {
				return false
			}
		}
		s.Heard = append(s.Heard, Heard{n[0], n[1], n[2], n[3]})
		return true
	}
	ok := take("member", &s.ID) && take("term", &s.Term) && take("vote", &s.Vote) && take("commit", &s.Commit) &&
		take("at", &s.At.Index, &s.At.Term, &s.At.Seq) && take("taken", &s.Taken) && list("voters", into(&s.Members.Voters)) && list("outgoing", into(&s.Members.Outgoing)) &&
		list("learners", into(&s.Members.Learners)) && list("heard", heard) && len(words) == 0
	if !ok || s.check() != nil {
		return bad()
	}
	if again, err := s.AppendText(nil); err != nil || !bytes.Equal(again, text) {
		return bad()
	}
	return s, nil
}

// check says what no state has.
func (s State) check() error {
	heard := slices.IsSortedFunc(s.Heard, func(a, b Heard) int { return cmp.Compare(a.ID, b.ID) }) && len(s.Heard) <= Most
	for i, h := range s.Heard {
		heard = heard && h.ID != 0 && (i == 0 || s.Heard[i-1].ID != h.ID)
	}
	switch {
	case s.ID == 0:
		return damaged("its state names no member")
	case !s.Members.InOrder() || !heard:
		return damaged("its state's lists of members are not in order")
	case s.At.Index > s.Commit:
		return damaged("its state is that of entry %d, and %d was committed", s.At.Index, s.Commit)
	}
	return nil
}

// follows says whether a state may come after another one, when the log ends at end.
func (s State) follows(before State, end Mark) error {
	if err := s.check(); err != nil {
		return err
	}
	switch {
	case before.ID != 0 && s.ID != before.ID:
		return damaged("member %d wrote after member %d", s.ID, before.ID)
	case s.Term < before.Term, s.Commit < before.Commit, s.At.Index < before.At.Index:
		return damaged("its state goes back: term %d after %d, commit %d after %d", s.Term, before.Term, s.Commit, before.Commit)
	case s.Term == before.Term && before.Vote != 0 && s.Vote != before.Vote:
		return damaged("it has two votes in term %d, for member %d and for %d", s.Term, before.Vote, s.Vote)
	case s.Commit > end.Index:
		return damaged("entry %d was committed, and the log ends at %d", s.Commit, end.Index)
	case end.Term > s.Term:
		return damaged("the log's last entry has term %d, and its state knows term %d only", end.Term, s.Term)
	}
	return nil
}

// Founding is the state of the first member of a cluster, when a single box's log of seq events becomes that of a member.
func Founding(id, seq uint64) State {
	at := Mark{Index: seq + 1, Term: 1, Seq: seq}
	return State{ID: id, Term: at.Term, Commit: at.Index, At: at, Members: Members{Voters: []uint64{id}}}
}

// Joining is the state of a member that has nothing yet.
func Joining(id uint64) State { return State{ID: id} }
