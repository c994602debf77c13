package safetext

import "strings"

// ShellWord writes text as one word of a command line, for a person to paste into a shell: quoted unless it is plain, and
// escaped as [Escape] does it.
func ShellWord(text string) string {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
	}
	if text != "" && strings.IndexFunc(text, special) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(Escape(text), "'", `'\''`) + "'"
}
