package toolbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Arguments returns the arguments of a call as the tool gets them, a JSON object, or says what is
// wrong with them. None of its objects has a name twice: whoever looks at such arguments before the
// call would see one value, and the tool perhaps another.
func Arguments(tool string, arguments json.RawMessage) (json.RawMessage, error) {
	if len(arguments) > maxArguments {
		return nil, fmt.Errorf("the arguments of %s have %d bytes of at most %d: call it with less", tool, len(arguments), maxArguments)
	}
	object := strings.TrimSpace(string(arguments))
	if object == "" || object == "null" {
		object = "{}"
	}
	if object[0] != '{' || !json.Valid([]byte(object)) {
		return nil, fmt.Errorf("the arguments of %s are a JSON object, not %s", tool, quote(object))
	}
	if name, twice := repeated([]byte(object)); twice {
		return nil, fmt.Errorf("the arguments of %s have the name %s twice: call it with each name once", tool, quote(name))
	}
	return json.RawMessage(object), nil
}

// repeated returns a name that an object in valid JSON has twice, if there is one.
func repeated(data []byte) (name string, twice bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()              // a number of any size is valid
	var open []map[string]bool // the names of each object that is open; nil for a list
	isName := false            // the next text is a name
	for {
		token, err := d.Token()
		if err != nil {
			return "", false // the end
		}
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
		case string:
			if isName {
				names := open[len(open)-1]
				if names[t] {
					return t, true
				}
				names[t], isName = true, false
				continue
			}
		}
		isName = len(open) > 0 && open[len(open)-1] != nil
	}
}
