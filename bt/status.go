package bt

import "fmt"

// Status is what is known of a node.
type Status uint8

// The statuses.
const (
	Fresh   Status = iota // it has not been ticked
	Running               // it has to be ticked again
	Success
	Failure
)

var statusNames = [...]string{"FRESH", "RUNNING", "SUCCESS", "FAILURE"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// MarshalText returns the status's name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a status's name.
func (s *Status) UnmarshalText(text []byte) error {
	for i, name := range statusNames {
		if name == string(text) {
			*s = Status(i)
			return nil
		}
	}
	return fmt.Errorf("%.20q is no status: it is FRESH, RUNNING, SUCCESS or FAILURE", text)
}

// Finished reports whether the status is SUCCESS or FAILURE.
func (s Status) Finished() bool { return s == Success || s == Failure }
