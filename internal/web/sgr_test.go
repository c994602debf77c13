package web

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shown is spans on a line: [class|text].
func shown(all []shade) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "[%s|%s]", s.Class, s.Text)
	}
	return b.String()
}

func TestColoured(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"plain":                           "[|plain]",
		"a\x1b[31mred\x1b[0mb":            "[|a][f1|red][|b]",
		"\x1b[1;4;92mx\x1b[22;24;39my":    "[bo un f2|x][|y]",
		"\x1b[mx\x1b[0;31my\x1b[;1mz":     "[|x][f1|y][bo|z]",
		"\x1b[41;97mx\x1b[49my\x1b[7mz":   "[f7 b1|x][f7|y][iv f7|z]",
		"\x1b[38;5;9mx\x1b[38;5;196my":    "[f1|xy]",
		"\x1b[38;5;21mx\x1b[38;5;232my":   "[f4|x][f0|y]",
		"\x1b[38;2;10;200;20;1mx":         "[bo f2|x]",
		"\x1b[38:2:10:200:20mx":           "[f2|x]",
		"\x1b[48;2;0;0;255mx":             "[b4|x]",
		"\x1b[38mx\x1b[38;5mx\x1b[38;9mx": "[|x][f0|x][|x]",
		"\x1b[8mhidden":                   "[|hidden]",
		"\x1b[2K\x1b[1A\x1b[?25lx\x1b(By": "[|xy]",
		"\x1b]0;title\ax\x1b]8;;http://e.example\x1b\\link\x1b]8;;\x1b\\": "[|xlink]",
		"\x1b]0;no end\nx":    "[|\x1b]0;no end\nx]",
		"\x1b]0;no end\nx\ay": "[|\x1b]0;no end\nx\ay]",
		"\x1b[31":             "[|\x1b[31]",
		"\x1b[3\x001mx":       "[|\x1b[3\x001mx]",
		"\x1b":                "[|\x1b]",
		"\x1b[99999999999999999999mx\x1b[00031my": "[|x][f1|y]",
	} {
		if got := shown(coloured(in)); got != want {
			t.Errorf("%q is %q; want %q", in, got, want)
		}
	}
}

// Whatever is printed, no letter of it is lost but those of escapes, classes are the page's, and it ends.
func TestColouredKeepsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in, want strings.Builder
		for range rapid.IntRange(0, 20).Draw(t, "pieces") {
			text := rapid.StringMatching(`[ -~\n]{0,8}`).Draw(t, "text")
			in.WriteString(text)
			want.WriteString(text)
			in.WriteString(rapid.SampledFrom([]string{"", "\x1b[0m", "\x1b[1;31m", "\x1b[38;5;200m", "\x1b[2J", "\x1b]0;t\a", "\x1bP+q\x1b\\", "\x1b(0", "\x1b7"}).Draw(t, "escape"))
		}
		var got strings.Builder
		for _, s := range coloured(in.String()) {
			got.WriteString(s.Text)
			if strings.Trim(s.Class, "abefinostuv 01234567") != "" {
				t.Fatalf("the class %q", s.Class)
			}
		}
		if got.String() != want.String() {
			t.Fatalf("%q is %q; want %q", in.String(), got.String(), want.String())
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.SampledFrom([]byte("\x1b[]mP;:013\\\a\nx\xff"))).Draw(t, "bytes")
		for _, s := range coloured(string(in)) {
			if s.Text == "" {
				t.Fatalf("%q has an empty span", in)
			}
		}
	})
}
