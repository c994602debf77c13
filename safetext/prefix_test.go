package safetext_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/safetext"
)

// A message has room for so many bytes, and for no half of a character.
func ExamplePrefix() {
	prefix, whole := safetext.Prefix("prêt à porter", 3)
	fmt.Println(prefix, whole)
	// Output: pr false
}

func TestPrefix(t *testing.T) {
	stray := strings.Repeat("\x80", 10)
	for _, c := range []struct {
		text   string
		bytes  int
		prefix string
		whole  bool
	}{
		{"abc", 3, "abc", true}, {"abc", 2, "ab", false}, {"abc", 0, "", false}, {"abc", -1, "", false}, {"", 0, "", true}, {"", -1, "", true},
		{"abc", math.MaxInt, "abc", true}, {"日本", 6, "日本", true}, {"日本", 5, "日", false}, {"日本", 4, "日", false}, {"日本", 3, "日", false}, {"日本", 2, "", false},
		{"a🎉", 4, "a", false}, {"🎉", 3, "", false}, {stray, 9, stray[:9], false}, {stray, 2, stray[:2], false}, {stray, 0, "", false}, {"é" + stray, 3, "é\x80", false},
	} {
		if prefix, whole := safetext.Prefix(c.text, c.bytes); prefix != c.prefix || whole != c.whole {
			t.Errorf("%d bytes of %q: %q, all of it: %v; want %q, %v", c.bytes, c.text, prefix, whole, c.prefix, c.whole)
		}
	}
}
