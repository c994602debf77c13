package agentsig

import (
	"slices"
	"strings"
)

// DelegationPrompt is the field of an expert request that holds what stands
// between the lines DELEGATION PROMPT START and DELEGATION PROMPT END.
const DelegationPrompt = "Delegation Prompt"

// payloadFields reads the "Key: value" lines of a payload, each with the
// lines that follow it: its list, its table, its further text. A value whose
// lines are all list items is a list. Lines in a code fence belong to the
// value before them, whatever they look like. A key that comes again adds to
// its value. A delegation prompt is a field of its own.
func payloadFields(payload string) Fields {
	var fields Fields
	var values [][]string
	current := -1
	begin := func(key string) {
		current = slices.IndexFunc(fields, func(f Field) bool { return f.Name == key })
		if current < 0 {
			current = len(fields)
			fields, values = append(fields, Field{Name: key}), append(values, nil)
		}
	}
	var open fence
	delegation := false
	for line := range strings.Lines(payload) {
		line = strings.TrimRight(line, "\r\n \t")
		if delegation {
			if isDelegation([]byte(line), delegationEnd) {
				delegation, current = false, -1
				continue
			}
		} else if open.length > 0 {
			if open.closedBy([]byte(line)) {
				open = fence{}
			}
		} else if f, opens := openFence([]byte(line)); opens {
			open = f
		} else if isDelegation([]byte(line), delegationStart) {
			delegation = true
			begin(DelegationPrompt)
			continue
		} else if key, value, ok := keyLine(line); ok {
			begin(key)
			line = value
		}
		if current >= 0 {
			values[current] = append(values[current], line)
		}
	}
	for i := range fields {
		fields[i].Value = fieldValue(values[i])
	}
	return fields
}

const maxKey = 40

// keyLine reads "Key: value", the key in bold or not. A key starts with a
// letter and is made of at most five words of letters, digits, '-' and '/'.
func keyLine(line string) (key, value string, ok bool) {
	rest, bold := strings.CutPrefix(line, "**")
	words := 1
	for i := 0; i < len(rest) && i <= maxKey; i++ {
		switch c := rest[i]; {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '/'):
		case i > 0 && c == ' ':
			if words++; words > 5 {
				return "", "", false
			}
		case i > 0 && c == ':':
			key, value = strings.TrimRight(rest[:i], " "), rest[i+1:]
			if bold {
				value = strings.TrimPrefix(value, "**")
			} else if value != "" && value[0] != ' ' && value[0] != '\t' {
				return "", "", false // a URL, a time, a path
			}
			return key, strings.TrimSpace(value), true
		case i > 0 && bold && strings.HasPrefix(rest[i:], "**:"):
			return rest[:i], strings.TrimSpace(rest[i+3:]), true
		default:
			return "", "", false
		}
	}
	return "", "", false
}

func fieldValue(lines []string) any {
	var items []string
	list := true
	for _, l := range lines {
		text := strings.TrimSpace(l)
		if text == "" {
			continue
		}
		n := listMarker([]byte(text))
		if n == 0 {
			list = false
			break
		}
		items = append(items, strings.TrimSpace(text[n:]))
	}
	if list && len(items) > 0 {
		return items
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
