package bt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// clipped collects the beginning of a text: at least as much as so many columns show.
type clipped struct {
	begins strings.Builder
	most   int
}

// bytes is how much of the text can show, and more: a column takes 16 bytes at most, a character of
// four with [safetext.MaxMarks] accents.
func (c *clipped) bytes() int { return 16 * (c.most + 1) }

func (c *clipped) full() bool { return c.begins.Len() >= c.bytes() }

// add appends text.
func (c *clipped) add(s string) {
	if !c.full() {
		c.begins.WriteString(s[:min(len(s), c.bytes())])
	}
}

// text is what shows of it. Text that is longer ends in an ellipsis.
func (c *clipped) text() string { return safetext.Cut(c.begins.String(), c.most) }

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// value appends an argument's value.
func (c *clipped) value(value any) {
	if c.full() {
		return
	}
	switch v := value.(type) {
	case nil:
		c.add("nil")
	case bool, int:
		c.add(fmt.Sprint(v))
	case float64:
		c.add(strconv.FormatFloat(v, 'g', -1, 64))
	case string:
		c.add(`"` + quoting.Replace(v[:min(len(v), c.bytes())]) + `"`)
	case []any:
		c.add("[")
		for i, x := range v {
			if c.full() {
				return
			}
			c.add(either(i > 0, ", ", ""))
			c.value(x)
		}
		c.add("]")
	case map[string]any:
		c.add("{")
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if c.full() {
				return
			}
			c.add(either(i > 0, ", ", "") + key + "=")
			c.value(v[key])
		}
		c.add("}")
	default:
		c.add(fmt.Sprintf("%T", v))
	}
}
