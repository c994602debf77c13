package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/ledger"
)

// checkRecord says what is wrong with a record that no log takes.
func checkRecord(subject string, data []byte) error {
	if err := engine.CheckRecord(subject, data); err != nil {
		return err
	}
	if about, err := subjectOf(data); err != nil || string(about) != subject {
		return errors.Join(fmt.Errorf("the record for subject %q does not name it", subject), err)
	}
	return nil
}

// CheckMembersRecord says what is wrong with a record that no member's log takes, and which blobs it names.
func CheckMembersRecord(subject string, data []byte) (blobs []ledger.Hash, err error) {
	if err := checkRecord(subject, data); err != nil {
		return nil, err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, fmt.Errorf("the record for subject %q has a byte that is zero, which no event has", subject)
	}
	refs, err := references(0, data)
	if err != nil {
		return nil, fmt.Errorf("the record for subject %q: %w", subject, err)
	}
	for _, ref := range refs {
		blobs = append(blobs, ref.SHA256)
	}
	return blobs, nil
}

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
