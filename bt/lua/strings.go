package lua

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	rt "github.com/arnodel/golua/runtime"
)

// stringFunctions are the string library. The interpreter's own does not count what
// patterns, byte and select cost, and fails on format's %p.
var stringFunctions = map[string]builtin{
	"byte":    byteOf,
	"char":    char,
	"find":    func(a *arguments) ([]rt.Value, error) { return a.search(true) },
	"format":  format,
	"gmatch":  gmatch,
	"gsub":    gsub,
	"len":     textLen,
	"lower":   func(a *arguments) ([]rt.Value, error) { return a.mapText(strings.ToLower) },
	"match":   func(a *arguments) ([]rt.Value, error) { return a.search(false) },
	"rep":     rep,
	"reverse": func(a *arguments) ([]rt.Value, error) { return a.mapText(reverse) },
	"sub":     sub,
	"upper":   func(a *arguments) ([]rt.Value, error) { return a.mapText(strings.ToUpper) },
}

// bounds turns Lua's first and last position into Go's, clipped to the text.
func bounds(first, last, length int) (from, to int) {
	if first < 0 {
		first = max(length+first+1, 1)
	}
	if last < 0 {
		last = length + last + 1
	}
	from, to = max(first, 1)-1, min(last, length)
	if from >= to {
		return 0, 0
	}
	return from, to
}

func (a *arguments) slice(last int) (text string, from, to int, err error) {
	if text, err = a.text(0); err != nil {
		return "", 0, 0, err
	}
	i, err := a.integerOr(1, 1)
	if err != nil {
		return "", 0, 0, err
	}
	if last == 0 {
		last = i
	}
	j, err := a.integerOr(2, last)
	from, to = bounds(i, j, len(text))
	return text, from, to, err
}

func byteOf(a *arguments) ([]rt.Value, error) {
	text, from, to, err := a.slice(0)
	if err != nil {
		return nil, err
	}
	a.r.RequireBytes(valueSize * (to - from))
	defer a.release(valueSize * (to - from))
	values := make([]rt.Value, 0, to-from)
	for _, b := range []byte(text[from:to]) {
		values = append(values, rt.IntValue(int64(b)))
	}
	return values, nil
}

func sub(a *arguments) ([]rt.Value, error) {
	text, from, to, err := a.slice(-1)
	if err != nil {
		return nil, err
	}
	return one(a.newText(strings.Clone(text[from:to]))), nil
}

func char(a *arguments) ([]rt.Value, error) {
	text := make([]byte, len(a.v))
	for i := range a.v {
		n, err := a.integer(i)
		if err != nil {
			return nil, err
		}
		if n < 0 || n > 255 {
			return nil, a.bad(i, "value out of range")
		}
		text[i] = byte(n)
	}
	return one(a.newText(string(text))), nil
}

func textLen(a *arguments) ([]rt.Value, error) {
	text, err := a.text(0)
	return one(rt.IntValue(int64(len(text)))), err
}

// mapText is for functions whose result is about as long as the text.
func (a *arguments) mapText(f func(string) string) ([]rt.Value, error) {
	text, err := a.text(0)
	if err != nil {
		return nil, err
	}
	a.r.RequireBytes(len(text))
	a.r.RequireCPU(uint64(len(text)))
	return one(rt.StringValue(f(text))), nil
}

func reverse(text string) string {
	b := []byte(text)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

func rep(a *arguments) ([]rt.Value, error) {
	text, err := a.text(0)
	if err != nil {
		return nil, err
	}
	n, err := a.integer(1)
	if err != nil {
		return nil, err
	}
	separator := ""
	if !a.get(2).IsNil() {
		if separator, err = a.text(2); err != nil {
			return nil, err
		}
	}
	if n <= 0 || len(text)+len(separator) == 0 {
		return one(rt.StringValue("")), nil
	}
	if n > math.MaxInt32 || len(text)+len(separator) > math.MaxInt32 {
		return nil, a.bad(1, "resulting string too large")
	}
	size := uint64(n) * uint64(len(text)+len(separator))
	a.r.RequireMem(size)
	a.r.RequireCPU(size / 16)
	return one(rt.StringValue(strings.Repeat(text+separator, n-1) + text)), nil
}

// matching prepares to match the pattern, which is the second argument.
func (a *arguments) matching() (*matcher, error) {
	text, err := a.text(0)
	if err != nil {
		return nil, err
	}
	source, err := a.text(1)
	if err != nil {
		return nil, err
	}
	a.r.RequireCPU(uint64(len(source)))
	p, err := parsePattern(source)
	if err != nil {
		return nil, err
	}
	return &matcher{pattern: p, text: text, count: func(steps int) {
		a.r.RequireCPU(uint64(steps))
		a.poll()
	}}, nil
}

// capture returns the value of a capture; without captures, the first is the whole match.
func (a *arguments) capture(m *matcher, i, start, end int) rt.Value {
	s := span{start, end}
	if m.captures > 0 {
		s = m.spans[i]
	}
	if s.end < 0 {
		return rt.IntValue(int64(s.start + 1))
	}
	return a.newText(strings.Clone(m.text[s.start:s.end]))
}

func (a *arguments) captures(m *matcher, start, end int) []rt.Value {
	var values []rt.Value
	for i := range max(m.captures, 1) {
		values = append(values, a.capture(m, i, start, end))
	}
	return values
}

// search is find and match.
func (a *arguments) search(find bool) ([]rt.Value, error) {
	text, err := a.text(0)
	if err != nil {
		return nil, err
	}
	first, err := a.integerOr(2, 1)
	if err != nil {
		return nil, err
	}
	if first < 0 {
		first = max(len(text)+first+1, 1)
	}
	from := max(first, 1) - 1
	if from > len(text) {
		return one(rt.NilValue), nil
	}
	if find && rt.Truth(a.get(3)) {
		return a.searchPlain(text, from)
	}
	m, err := a.matching()
	if err != nil {
		return nil, err
	}
	start, end, ok := m.find(from)
	m.count(m.steps)
	switch {
	case !ok:
		return one(rt.NilValue), nil
	case !find:
		return a.captures(m, start, end), nil
	}
	found := []rt.Value{rt.IntValue(int64(start + 1)), rt.IntValue(int64(end))}
	if m.captures > 0 {
		found = append(found, a.captures(m, start, end)...)
	}
	return found, nil
}

func (a *arguments) searchPlain(text string, from int) ([]rt.Value, error) {
	part, err := a.text(1)
	if err != nil {
		return nil, err
	}
	a.r.RequireCPU(uint64(len(text) - from))
	i := strings.Index(text[from:], part)
	if i < 0 {
		return one(rt.NilValue), nil
	}
	return []rt.Value{rt.IntValue(int64(from + i + 1)), rt.IntValue(int64(from + i + len(part)))}, nil
}

func gmatch(a *arguments) ([]rt.Value, error) {
	m, err := a.matching()
	if err != nil {
		return nil, err
	}
	from, last := 0, -1 // last is where the match before has ended
	return one(a.function("gmatch", func(a *arguments) ([]rt.Value, error) {
		for from <= len(m.text) {
			start, end, ok := m.find(from)
			m.count(m.steps)
			m.steps = 0
			if !ok {
				break
			}
			if end == last { // nothing, right after a match
				from++
				continue
			}
			from, last = end, end
			return a.captures(m, start, end), nil
		}
		from = len(m.text) + 1
		return one(rt.NilValue), nil
	})), nil
}

func gsub(a *arguments) ([]rt.Value, error) {
	m, err := a.matching()
	if err != nil {
		return nil, err
	}
	replace, err := a.replacement(m)
	if err != nil {
		return nil, err
	}
	most, err := a.integerOr(3, math.MaxInt)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	write := func(text string) {
		a.r.RequireBytes(len(text))
		b.WriteString(text)
	}
	at, last, n := 0, -1, 0
	for n < most {
		m.step(1)
		end := m.match(0, at)
		switch {
		case end >= 0 && end != last:
			n++
			text, err := replace(at, end)
			if err != nil {
				return nil, err
			}
			write(text)
			at, last = end, end
		case at < len(m.text):
			write(m.text[at : at+1])
			at++
		default:
			at++
		}
		if at > len(m.text) || m.anchored {
			break
		}
	}
	if at < len(m.text) {
		write(m.text[at:])
	}
	m.count(m.steps)
	return []rt.Value{rt.StringValue(b.String()), rt.IntValue(int64(n))}, nil
}

// replacement returns what gives the text for a match.
func (a *arguments) replacement(m *matcher) (func(start, end int) (string, error), error) {
	v := a.get(2)
	var value func(start, end int) (rt.Value, error)
	switch v.Type() {
	case rt.StringType, rt.IntType, rt.FloatType:
		template, _ := v.ToString()
		return func(start, end int) (string, error) { return a.expand(m, template, start, end) }, nil
	case rt.TableType:
		value = func(start, end int) (rt.Value, error) { return rt.Index(a.t, v, a.capture(m, 0, start, end)) }
	case rt.FunctionType:
		value = func(start, end int) (rt.Value, error) { return a.callValue(v, a.captures(m, start, end)...) }
	default:
		return nil, a.want(2, "string, function or table")
	}
	return func(start, end int) (string, error) {
		result, err := value(start, end)
		switch {
		case err != nil:
			return "", err
		case !rt.Truth(result):
			return m.text[start:end], nil
		}
		text, ok := result.ToString()
		if !ok {
			return "", fmt.Errorf("invalid replacement value (a %s)", result.TypeName())
		}
		return text, nil
	}, nil
}

// expand fills a template's %0 to %9.
func (a *arguments) expand(m *matcher, template string, start, end int) (string, error) {
	m.step(len(template))
	if !strings.Contains(template, "%") {
		return template, nil
	}
	var b strings.Builder
	for i := 0; i < len(template); i++ {
		if template[i] != '%' {
			b.WriteByte(template[i])
			continue
		}
		i++
		switch {
		case i < len(template) && template[i] == '%':
			b.WriteByte('%')
		case i < len(template) && template[i] == '0':
			a.r.RequireBytes(end - start)
			b.WriteString(m.text[start:end])
		case i < len(template) && isDigit(template[i]) && int(template[i]-'1') < max(m.captures, 1):
			text, _ := a.capture(m, int(template[i]-'1'), start, end).ToString()
			b.WriteString(text)
		default:
			return "", fmt.Errorf("invalid use of '%%' in replacement string")
		}
	}
	return b.String(), nil
}

// format knows %c %d %e %f %g %i %o %s %u %x and %%, with flags, a width and a precision
// of at most two digits each.
func format(a *arguments) ([]rt.Value, error) {
	template, err := a.text(0)
	if err != nil {
		return nil, err
	}
	a.r.RequireCPU(uint64(len(template)))
	var b strings.Builder
	write := func(text string) {
		a.r.RequireBytes(len(text))
		b.WriteString(text)
	}
	next := 0
	for {
		before, rest, found := strings.Cut(template, "%")
		write(before)
		if !found {
			return one(rt.StringValue(b.String())), nil
		}
		if template, found = strings.CutPrefix(rest, "%"); found {
			write("%")
			continue
		}
		d, rest, err := parseDirective(rest)
		if err != nil {
			return nil, err
		}
		next++
		text, err := a.formatOne(d, next)
		if err != nil {
			return nil, err
		}
		write(text)
		template = rest
	}
}

// directive is one % of a format.
type directive struct {
	flags            string
	width, precision int // -1 without
	verb             byte
}

func parseDirective(text string) (d directive, rest string, err error) {
	rest = strings.TrimLeft(text, "-+ #0")
	d.flags = text[:len(text)-len(rest)]
	number := func() int {
		n := 0
		for n < 2 && n < len(rest) && isDigit(rest[n]) {
			n++
		}
		value, _ := strconv.Atoi(rest[:n])
		rest = rest[n:]
		return value
	}
	d.width, d.precision = number(), -1
	if strings.HasPrefix(rest, ".") {
		rest = rest[1:]
		d.precision = number()
	}
	if rest == "" || len(d.flags) > 5 || strings.IndexByte("cdeEfFgGiosuxX", rest[0]) < 0 {
		return d, "", fmt.Errorf("invalid conversion '%%%.8s' to 'format'", text)
	}
	d.verb = rest[0]
	return d, rest[1:], nil
}

func (a *arguments) formatOne(d directive, i int) (string, error) {
	if _, err := a.any(i); err != nil {
		return "", err
	}
	layout := "%" + d.flags
	if d.width > 0 {
		layout += strconv.Itoa(d.width)
	}
	if d.precision >= 0 {
		layout += "." + strconv.Itoa(d.precision)
	}
	switch d.verb {
	case 's':
		text, err := a.textOf(a.v[i])
		if d.precision >= 0 {
			text = text[:min(d.precision, len(text))]
		}
		return d.pad(text), err
	case 'c':
		n, err := a.integer(i)
		return d.pad(string([]byte{byte(n)})), err
	case 'd', 'i':
		n, err := a.integer(i)
		return fmt.Sprintf(layout+"d", n), err
	case 'o', 'u', 'x', 'X':
		n, err := a.integer(i)
		return fmt.Sprintf(layout+strings.Replace(string(d.verb), "u", "d", 1), uint64(n)), err
	}
	x, ok := rt.ToFloat(a.v[i])
	switch {
	case !ok:
		return "", a.want(i, "number")
	case math.IsNaN(x):
		return d.pad("nan"), nil
	case math.IsInf(x, 0):
		return d.pad(strings.ToLower(strings.TrimPrefix(fmt.Sprint(x), "+"))), nil
	case d.precision < 0:
		layout += ".6"
	}
	return fmt.Sprintf(layout+string(d.verb), x), nil
}

// pad fills up to the width, in bytes.
func (d directive) pad(text string) string {
	blanks := strings.Repeat(" ", max(0, d.width-len(text)))
	if strings.Contains(d.flags, "-") {
		return text + blanks
	}
	return blanks + text
}
