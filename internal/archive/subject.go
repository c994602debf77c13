package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// subjectOf returns what an event is about. In an event it comes after two numbers,
// so that nothing but the member's own name can be found first.
func subjectOf(stored []byte) ([]byte, error) {
	if _, rest, ok := bytes.Cut(stored, []byte(`"subject":"`)); ok {
		if end := bytes.IndexByte(rest, '"'); end >= 0 && bytes.IndexByte(rest[:end], '\\') < 0 {
			return rest[:end], nil
		}
	}
	var e struct {
		Subject string `json:"subject"`
	}
	if err := json.Unmarshal(stored, &e); err != nil {
		return nil, fmt.Errorf("not an event: %w", err)
	}
	return []byte(e.Subject), nil
}
