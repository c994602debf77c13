package ledger

// maxPlainDepth is how deep a payload may be nested to be read plainly.
const maxPlainDepth = 32

// compact reports whether data is JSON without blanks between its parts, and not
// nested deeply. It is [json.Valid] for what nearly all payloads are, in one pass.
func compact(data []byte) bool {
	rest, ok := cutValue(data, maxPlainDepth)
	return ok && len(rest) == 0
}

// cutValue takes a value off the data.
func cutValue(data []byte, depth int) (rest []byte, ok bool) {
	if len(data) == 0 || depth == 0 {
		return nil, false
	}
	switch c := data[0]; {
	case c == '{':
		return cutList(data[1:], '}', depth, cutMember)
	case c == '[':
		return cutList(data[1:], ']', depth, cutValue)
	case c == '"':
		return cutString(data)
	case c == '-' || isDigit(c):
		return cutNumber(data)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if len(data) >= len(word) && string(data[:len(word)]) == word {
			return data[len(word):], true
		}
	}
	return nil, false
}

// cutList takes the rest of an object or an array off the data, after its first
// byte.
func cutList(data []byte, end byte, depth int, cut func([]byte, int) ([]byte, bool)) (rest []byte, ok bool) {
	if len(data) > 0 && data[0] == end {
		return data[1:], true
	}
	for {
		if data, ok = cut(data, depth-1); !ok || len(data) == 0 {
			return nil, false
		}
		switch data[0] {
		case end:
			return data[1:], true
		case ',':
			data = data[1:]
		default:
			return nil, false
		}
	}
}

func cutMember(data []byte, depth int) (rest []byte, ok bool) {
	if data, ok = cutString(data); !ok || len(data) == 0 || data[0] != ':' {
		return nil, false
	}
	return cutValue(data[1:], depth)
}

func cutString(data []byte) (rest []byte, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return nil, false
	}
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return data[i+1:], true
		case c < ' ':
			return nil, false
		case c == '\\':
			n := escape(data[i:])
			if n == 0 {
				return nil, false
			}
			i += n - 1
		}
	}
	return nil, false
}

// escape returns how long the escape is that data begins with, or 0.
func escape(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(data) >= 6 && isHex(data[2]) && isHex(data[3]) && isHex(data[4]) && isHex(data[5]) {
			return 6
		}
	}
	return 0
}

func cutNumber(data []byte) (rest []byte, ok bool) {
	if data[0] == '-' {
		data = data[1:]
	}
	whole := digits(data)
	if whole == 0 || whole > 1 && data[0] == '0' {
		return nil, false
	}
	data = data[whole:]
	if len(data) > 0 && data[0] == '.' {
		n := digits(data[1:])
		if n == 0 {
			return nil, false
		}
		data = data[1+n:]
	}
	if len(data) > 0 && (data[0] == 'e' || data[0] == 'E') {
		data = data[1:]
		if len(data) > 0 && (data[0] == '+' || data[0] == '-') {
			data = data[1:]
		}
		n := digits(data)
		if n == 0 {
			return nil, false
		}
		data = data[n:]
	}
	return data, true
}

// digits returns how many digits data begins with.
func digits(data []byte) int {
	n := 0
	for n < len(data) && isDigit(data[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
