package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/redact"
)

// A long log is passed on whole, in its order, less its secrets, and not kept in memory until its end.
func TestWithoutSecrets(t *testing.T) {
	secrets, err := redact.New([]string{`ACME-[0-9]{8}`})
	if err != nil {
		t.Fatal(err)
	}
	var got, want bytes.Buffer
	w := &withoutSecrets{to: &got, secrets: secrets}
	line := strings.Repeat("x", 99) + "\n"
	for range 3 * heldText / len(line) {
		for _, part := range []string{"ACME-", "12345678 ", line} {
			if _, err := w.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		want.WriteString("[redacted:listed] " + line)
		if len(w.held) > heldText+len(line) {
			t.Fatalf("%d bytes are kept", len(w.held))
		}
	}
	if err := w.flush(); err != nil || got.String() != want.String() {
		t.Errorf("%d bytes, want %d; %v", got.Len(), want.Len(), err)
	}
}
