package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	for _, s := range []string{"", "SLV", strings.Repeat("W", 32), strings.Repeat("W", 33), strings.Repeat("&", 40), "a\x1b[31m", "\xff\xfe", strings.Repeat("…", 11), "\\\"\\\"", "\u202eabc" + strings.Repeat("é", 20), strings.Repeat("\x00", 40)} {
		got := Shorten(s, 32)
		data, err := json.Marshal(got)
		if err != nil || len(data)-2 > 32 {
			t.Errorf("%q became %s, %d bytes: %v", s, data, len(data)-2, err)
		}
		if cut := strings.HasSuffix(got, "…") && !strings.HasSuffix(s, "…"); len(s) <= 10 && cut {
			t.Errorf("%q was cut to %q", s, got)
		}
	}
	for _, c := range []struct {
		s          string
		most, tail int
		want       string
	}{
		{"ABCDEFGHIJKLMNOP", 16, 5, "ABCDEFGHIJKLMNOP"},
		{"ABCDEFGHIJKLMNOPQ", 16, 5, "ABCDEFGH…MNOPQ"},
		{"ABCDEFGHIJKLMNOPQ", 16, 0, "ABCDEFGHIJKLM…"},
		{"&&&&&&&&&&&&&&&&&", 16, 5, "&…"},
		{strings.Repeat("A", 1000) + "Z", 16, 5, "AAAAAAAA…AAAAZ"},
		{"ééééééééé", 16, 5, "éééé…éé"},
	} {
		if got := ShortenMiddle(c.s, c.most, c.tail); got != c.want {
			t.Errorf("%q became %q, want %q", c.s, got, c.want)
		}
	}
}
