package tui_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/signalbox-dev/signalbox/internal/tui"
)

// wait stands for the time that an escape is held.
const wait = "wait"

// What terminals send, in one piece or in several.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name string
		sent []string
		want string
	}{
		{"characters", []string{"jq?"}, "j q ?"},
		{"arrows", []string{"\x1b[A\x1b[B\x1bOA\x1bOB"}, "up down up down"},
		{"an arrow in two parts", []string{"\x1b[", "A"}, "up"},
		{"pages", []string{"\x1b[5~\x1b[6~\x1b[H\x1b[F\x1b[1~\x1b[4~"}, "page up|page down|home|end|home|end"},
		{"controls", []string{"\r\x03\x1a\x7f\t\x15"}, "enter ctrl+c ctrl+z backspace tab ctrl+u"},
		{"escape", []string{"\x1b", wait}, "escape"},
		{"an escape that may begin something", []string{"\x1b"}, ""},
		{"nothing is held", []string{wait, "x", wait, "\x1b[", wait, "A"}, "x up"},
		{"escape and a key", []string{"\x1b", wait, "x"}, "escape x"},
		{"escape and a key at once", []string{"\x1b", "x"}, "escape x"},
		{"escape twice", []string{"\x1b", "\x1b", wait}, "escape escape"},
		{"escape and a bracket", []string{"\x1b", wait, "[A"}, "escape [ A"},
		{"an arrow after its escape", []string{"\x1b", "[A", "\x1b", "OB"}, "up down"},
		{"a wide character in parts", []string{"\xe6\x97", "\xa5"}, "日"},
		{"unknown", []string{"\x1b[38;5;1mx\x00\xff\x1b[Zy"}, "x y"},
		{"a paste is no keys", []string{"\x1b[200~q\ny\x1b[201~z"}, "paste(q\ny) z"},
		{"a paste in parts", []string{"\x1b[20", "0~ab\x1b[2", "01~c"}, "paste(ab) c"},
		{"a paste after its escape", []string{"\x1b", "[200~x\ry\x1b[201~"}, "paste(x\ry)"},
		{"a paste long after its escape", []string{"\x1b", wait, "[200~x\ry\x1b[201~z"}, "escape paste(x\ry) z"},
		{"a paste that ends in parts", []string{"\x1b[200~x\x1b", wait, "[201~y"}, "paste(x) y"},
		{"no sequence", []string{"\x1b[" + strings.Repeat("1", 40) + "q"}, strings.TrimSpace(strings.Repeat("1 ", 9)) + " q"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k tui.Keyboard
			var got []string
			for _, sent := range c.sent {
				keys := k.Release
				if sent != wait {
					keys = func() []tui.Key { return k.Keys([]byte(sent)) }
				}
				for _, key := range keys() {
					name := key.Name
					if name == tui.KeyPaste {
						name = "paste(" + key.Text + ")"
					}
					got = append(got, name)
				}
			}
			separator := " "
			if strings.Contains(c.want, "|") {
				separator = "|"
			}
			if diff := cmp.Diff(c.want, strings.Join(got, separator)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Anything may be sent: nothing panics, and a paste is bounded.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("\x1b[200~"), []byte("x\x1b[201~"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var k tui.Keyboard
		for _, key := range append(k.Keys(a), k.Keys(b)...) {
			if key.Name == "" || len(key.Text) > 64<<10 {
				t.Fatalf("%q", key)
			}
		}
	})
}
