//go:build unix

package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// Who said what is known, and when; the transcript stays what was said and nothing else.
func TestVoices(t *testing.T) {
	t.Parallel()
	s := acpSpec(t, "say first\ntool read notes.txt|what it says\nsay READY_FOR_REVIEW: T-1")
	r := start(t, s)
	r.next(api.ReportTurn)
	r.send(api.SessionCommand{ID: "end", Kind: api.CommandEnd})
	r.finish()
	transcript := r.file("transcript")
	voices, err := session.Voices(r.dir)
	if err != nil || len(voices) < 3 {
		t.Fatalf("%v, %v", voices, err)
	}
	if said, err := session.Said(r.dir); err != nil || !strings.Contains(said, "first\n") || !strings.Contains(said, "READY_FOR_REVIEW: T-1") || strings.Contains(said, "notes.txt") || strings.Contains(said, "what it says") {
		t.Errorf("the agent itself said %q, %v", said, err)
	}
	var got []string
	for i, v := range voices {
		end := int64(len(transcript))
		if i+1 < len(voices) {
			end = voices[i+1].Offset
			if v.At.After(voices[i+1].At) {
				t.Errorf("%v comes before %v", voices[i+1].At, v.At)
			}
		}
		got = append(got, map[agentsig.Source]string{agentsig.Voice: "agent: ", agentsig.Tool: "tool: "}[v.From]+transcript[v.Offset:end])
	}
	for _, want := range []string{"agent: first\n", "tool: [read notes.txt]\n", "agent: READY_FOR_REVIEW: T-1"} {
		if !strings.Contains(strings.Join(got, "|"), want) {
			t.Errorf("there is no %q in %q", want, got)
		}
	}
	if voices[0].Offset != 0 || voices[0].At.IsZero() {
		t.Errorf("it begins with %+v", voices[0])
	}
}

// What an agent makes of the file, and what a session of an earlier version lacks, is no error.
func TestVoicesDamaged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		count int
	}{
		"none": {"", 0}, "half a line": {"0 1 0\n7 2", 1}, "words": {"0 1 0\nsome words\n7 2 0\n", 1}, "backwards": {"5 1 0\n3 2 1\n", 1},
		"below": {"-5 1 0\n", 0}, "huge": {"99999999999999999999999 1 0\n", 0}, "no source": {"0 1 999\n", 0}, "escapes": {"0 1 0\n\x1b[2J\n", 1},
		"a file that is too large": {strings.Repeat("0 1 0\n", 1_000_000), 0},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "voices"), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := session.Voices(dir); err != nil || len(got) != c.count {
			t.Errorf("%s: %v, %v; want %d", name, got, err, c.count)
		}
	}
	dir := t.TempDir()
	if got, err := session.Voices(dir); err != nil || got != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "voices")); err != nil {
		t.Fatal(err)
	}
	if got, err := session.Voices(dir); err != nil || got != nil {
		t.Errorf("through a link: %v, %v", got, err)
	}
}
