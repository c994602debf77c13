package gitserver

import (
	"bytes"
	"strings"
	"testing"
)

const (
	trunk = "0123456789012345678901234567890123456789"
	none  = "0000000000000000000000000000000000000000"
)

// Whatever is read as the commands of a push is one command, as git reads it; and no byte is read of what follows.
func FuzzPush(f *testing.F) {
	good := string(pkt(none + " " + trunk + " refs/tasks/a\x00 report-status side-band-64k agent=git/2\n"))
	for _, seed := range []string{
		good + "0000PACK", good + good + "0000", "0000", "", "0004", "0001", "fff1x", "ffff", "00000000", good[:20],
		string(pkt("push-cert\x00x")) + "0000", string(pkt("shallow "+trunk)) + good + "0000", strings.ToUpper(good) + "0000",
		string(pkt(none+" "+trunk+" refs/tasks/a\nx\x00\x00")) + "0000",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bytes.NewReader(data)
		l, err := readList(in)
		if read := len(data) - in.Len(); !bytes.Equal(l.raw.Bytes(), data[:read]) {
			t.Fatalf("git would get %q of %q", l.raw.Bytes(), data[:read])
		}
		if err != nil {
			return
		}
		if !bytes.HasSuffix(l.raw.Bytes(), []byte("0000")) {
			t.Fatalf("a list ends with %q", l.raw.Bytes())
		}
		if len(l.lines) == 0 {
			if l.raw.Len() != 4 {
				t.Fatalf("a list of nothing: %q", l.raw.Bytes())
			}
			return
		}
		p, err := parsePush(l, "sha1")
		if err != nil {
			return
		}
		// The simplest reading: there is nothing but one line, with what was found in its place.
		text := l.raw.String()
		head := none + " " + p.commit + " " + p.ref + "\x00"
		words, ok := strings.CutPrefix(text[4:len(text)-4], head)
		if !ok || p.commit == none || strings.ContainsAny(p.ref+p.commit, "\x00") || strings.ContainsAny(strings.TrimSuffix(words, "\n"), "\x00\n\r") {
			t.Fatalf("%q is no command to make %q at %q", text, p.ref, p.commit)
		}
		if !strings.EqualFold(text[:4], string(pkt(text[4 : len(text)-4])[:4])) {
			t.Fatalf("%q is more than a line", text)
		}
		for _, word := range []string{"push-options", "atomic", "delete-refs", "push-cert"} {
			if strings.Contains(" "+words+" ", " "+word+" ") {
				t.Fatalf("%q asks for %s", text, word)
			}
		}
	})
}

// Whatever is read as wants asks for whole names, and for nothing that is not done.
func FuzzWants(f *testing.F) {
	want := string(pkt("want " + trunk + " multi_ack side-band-64k\n"))
	for _, seed := range []string{
		want + "0000", want + string(pkt("deepen 1")) + "0000", want + string(pkt("filter blob:none")) + "0000", string(pkt("want "+trunk)) + "0000",
		string(pkt("want-ref refs/x")) + "0000", want + string(pkt("shallow "+trunk)) + "0000", "0000",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := readList(bytes.NewReader(data))
		if err != nil {
			return
		}
		wants, err := parseWants(l, "sha1")
		if err != nil {
			return
		}
		found := 0
		for i, line := range l.lines {
			f := strings.Split(string(line), " ")
			switch f[0] {
			case "want":
				if found++; found > len(wants) || f[1] != wants[found-1] || len(f[1]) != len(trunk) || i > 0 && len(f) > 2 {
					t.Fatalf("%q is a want", line)
				}
			case "shallow", "deepen":
			default:
				t.Fatalf("%q goes to git", line)
			}
		}
		if found != len(wants) || bytes.Contains(l.raw.Bytes(), []byte("filter")) || bytes.Contains(l.raw.Bytes(), []byte("include-tag")) {
			t.Fatalf("%q is read as %q", l.raw.Bytes(), wants)
		}
	})
}
