package safetext_test

import (
	"fmt"
	"testing"

	"github.com/signalbox-dev/signalbox/safetext"
)

func ExampleShellWord() {
	fmt.Println("answer", safetext.ShellWord("T-1"))
	fmt.Println("answer", safetext.ShellWord("org/repo#12"))
	// Output:
	// answer T-1
	// answer 'org/repo#12'
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"": "''", "T-1.2": "T-1.2", "a/b": "a/b", "#12": "'#12'", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "=ls": "'=ls'", "~": "'~'",
		"a\x1b[2J": `'a\x1b[2J'`,
	} {
		if got := safetext.ShellWord(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
