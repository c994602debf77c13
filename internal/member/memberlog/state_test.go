package memberlog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var someState = State{ID: 9, Term: 7, Vote: 3, Commit: 40, At: Mark{38, 6, 30}, Taken: 12, Members: Members{Voters: []uint64{3, 9}, Outgoing: []uint64{3, 5}, Learners: []uint64{11}},
	Heard: []Heard{{3, 7, 41, 7}, {5, 6, 39, 6}}}

// A state's text is read as it was written, and nothing else is.
func TestStateText(t *testing.T) {
	for _, s := range []State{someState, Joining(4), Founding(1, 0), Founding(1001, 1000)} {
		text, err := s.AppendText(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseState(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		for i := range text {
			if text[i] < ' ' || text[i] > '~' {
				t.Errorf("%q has byte %d, which is not printable", text, text[i])
			}
		}
	}
	text, _ := someState.AppendText(nil)
	for _, wrong := range []string{
		"", " ", string(text) + " ", string(text) + " 1", strings.Replace(string(text), "term 7", "term 07", 1), strings.Replace(string(text), "term 7", "term  7", 1),
		strings.Replace(string(text), "voters 3 9", "voters 9 3", 1), strings.Replace(string(text), "voters 3 9", "voters 3 3", 1), strings.Replace(string(text), "voters 3 9", "voters", 1),
		strings.Replace(string(text), "learners 11", "learners 9", 1), strings.Replace(string(text), "commit 40", "commit 37", 1), strings.Replace(string(text), "5:6:39:6", "5:6:39", 1),
		strings.Replace(string(text), "5:6:39:6", "3:6:39:6", 1), strings.Replace(string(text), "member 9", "member 0", 1), strings.Replace(string(text), "heard", "heard"+strings.Repeat(" 1:1:1:1", 70), 1),
		strings.Repeat("1 ", 20_000),
	} {
		if got, err := ParseState([]byte(wrong)); err == nil {
			t.Errorf("%.100q is read as %+v", wrong, got)
		}
	}
}

func FuzzState(f *testing.F) {
	text, _ := someState.AppendText(nil)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseState(text)
		if err != nil {
			return
		}
		if again, _ := s.AppendText(nil); string(again) != string(text) {
			t.Errorf("%q is written as %q", text, again)
		}
	})
}
