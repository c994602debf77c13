package ledger_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/ledger"
)

// signed returns a ledger of so many events, and its signed checkpoint.
func signed(t testing.TB, events int) (*book, []byte) {
	t.Helper()
	b := newBook(t)
	for n := range events {
		b.add(t, event("W-1", n))
	}
	_, note := b.seal(t)
	return b, note
}

// What is written on lines proves the same as before, for every event of trees of
// many sizes.
func TestLines(t *testing.T) {
	for _, size := range []int{1, 2, 3, 8, 21} {
		b, note := signed(t, size)
		line, err := ledger.CheckpointLine(note)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ledger.ParseCheckpointLine(line)
		if err != nil || !bytes.Equal(again, note) {
			t.Fatalf("%q: %v", again, err)
		}
		for n := range size {
			proof, err := b.tree.Prove(int64(n), b.stored[n], note)
			if err != nil {
				t.Fatal(err)
			}
			read, err := ledger.ParseProofLine(proof.Line(), proof.Index, again)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(proof, read, cmp.Transformer("hashes", func(h []ledger.Hash) int { return len(h) })); diff != "" {
				t.Error(diff)
			}
			if _, _, err := read.Verify(b.key); err != nil {
				t.Errorf("event %d of %d: %v", n+1, size, err)
			}
		}
	}
}

// Whatever differs from the one way to write a line is refused.
func TestOddLines(t *testing.T) {
	b, note := signed(t, 5)
	line, err := ledger.CheckpointLine(note)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Split(line, " ")
	for _, odd := range []string{
		"", " ", line + " ", " " + line, line + "\n", strings.ReplaceAll(line, " ", "  "), strings.ReplaceAll(line, " ", "\t"),
		strings.Join(fields[:3], " "), line + " more", strings.Replace(line, " 5 ", " 05 ", 1), strings.Replace(line, " 5 ", " +5 ", 1),
		strings.Replace(line, " 5 ", " -5 ", 1), strings.TrimSuffix(line, "="), strings.Replace(line, fields[3], fields[3][:8]+"\n"+fields[3][8:], 1),
		strings.Replace(line, fields[2], fields[2][:8]+"\r"+fields[2][8:], 1), strings.Join([]string{fields[0], fields[1], fields[2], ""}, " "),
		"other\nline" + line, strings.Replace(line, "=", "==", 1),
	} {
		if _, err := ledger.ParseCheckpointLine(odd); err == nil {
			t.Errorf("taken for a checkpoint: %q", odd)
		}
	}
	proof, err := b.tree.Prove(4, b.stored[4], note)
	if err != nil {
		t.Fatal(err)
	}
	line = proof.Line()
	for _, odd := range []string{
		"", " ", line + " ", " " + line, line + "\n", strings.Replace(line, " ", "", 1), strings.Replace(line, " ", "  ", 1),
		line[:8] + "\n" + line[8:], line[:len(line)-4], strings.Repeat("A", 64<<10) + " ", "QQ== " + strings.Repeat("A", 96*32/3*4),
	} {
		if _, err := ledger.ParseProofLine(odd, 4, note); err == nil {
			t.Errorf("taken for a proof: %q", odd)
		}
	}
}

// A checkpoint that somebody else has signed, or signed too, has no line.
func TestForeignSignature(t *testing.T) {
	_, note := signed(t, 3)
	for _, other := range [][]byte{
		bytes.Replace(note, []byte("\u2014 "+origin), []byte("\u2014 other"), 1),
		append(bytes.Clone(note), []byte("\u2014 witness.example AAAAAA==\n")...),
		bytes.TrimSuffix(note, []byte("\n")), nil, []byte("\n\n"),
	} {
		if line, err := ledger.CheckpointLine(other); err == nil {
			t.Errorf("%q has the line %q", other, line)
		}
	}
}

// What is read as a line was written in the one way, and what a key opens from a line
// is what was signed.
func FuzzCheckpointLine(f *testing.F) {
	b, note := signed(f, 7)
	line, err := ledger.CheckpointLine(note)
	if err != nil {
		f.Fatal(err)
	}
	want, err := ledger.OpenCheckpoint(note, b.key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add("ledger.example/epoch/1 7 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= AAAAAA==")
	f.Add("a 0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= AA==\n")
	f.Fuzz(func(t *testing.T, text string) {
		read, err := ledger.ParseCheckpointLine(text)
		if err != nil {
			return
		}
		if again, err := ledger.CheckpointLine(read); err != nil || again != text {
			t.Errorf("%q is written %q (%v)", text, again, err)
		}
		if c, err := ledger.OpenCheckpoint(read, b.key); err == nil && c != want {
			t.Errorf("%q opens as %v", text, c)
		}
	})
}

// The same for the way from an event to the root.
func FuzzProofLine(f *testing.F) {
	b, note := signed(f, 7)
	proof, err := b.tree.Prove(6, b.stored[6], note)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(proof.Line())
	f.Add("AA== ")
	f.Add("AA== AAAA\nAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ledger.ParseProofLine(text, 6, note)
		if err != nil {
			return
		}
		if p.Line() != text {
			t.Errorf("%q is written %q", text, p.Line())
		}
		if _, _, err := p.Verify(b.key); err == nil && !bytes.Equal(p.Event, b.stored[6]) {
			t.Errorf("%q proves another event: %q", text, p.Event)
		}
	})
}
