package conversation

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Exchange is what was asked in a conversation, and what was answered.
type Exchange struct {
	ID        string  `json:"id"`
	Question  string  `json:"question"`
	Continues string  `json:"continues,omitempty"` // the conversation that it goes on from
	UserID    string  `json:"user_id,omitempty"`
	ProjectID string  `json:"project_id,omitempty"`
	Outcome   Outcome `json:"outcome,omitempty"` // none as long as it has not ended
	Answer    *string `json:"answer,omitempty"`  // nil if the ledger does not have it
	Cut       bool    `json:"cut,omitempty"`     // the answer was longer
	Removed   bool    `json:"removed,omitempty"` // the answer was recorded, and is not kept any longer
}

// Continuable says why a question of this user and project can't go on from the exchange, and what
// can be done instead; nil if it can.
func (x Exchange) Continuable(user, project string) error {
	id := safetext.Escape(x.ID)
	switch {
	case x.UserID != user || x.ProjectID != project:
		return fmt.Errorf("%s can't be continued: %w. Ask %s, or begin anew", id, ErrOthers, x.owner())
	case x.Outcome == "":
		return fmt.Errorf("%s can't be continued: %w. Wait for its answer, or name an earlier one: `signalbox ask --list` lists them. If its process was stopped, it has no end: `signalbox tree resume FILE` goes on with it if it was recorded (ask --record); else ask anew", id, ErrOpen)
	case x.Removed:
		return fmt.Errorf("%s can't be continued: %w any more, since outputs are kept for some time only (the setting archive.keep). Ask anew, and say what it is about", id, ErrNoAnswer)
	case x.Answer == nil:
		return fmt.Errorf("%s can't be continued: %w, since the version that recorded it kept none. Ask anew, and say what it is about", id, ErrNoAnswer)
	}
	return nil
}

// owner says by which flags the exchange's user and project are asked for.
func (x Exchange) owner() string {
	var flags []string
	for _, f := range []struct{ name, value string }{{"--user", x.UserID}, {"--project", x.ProjectID}} {
		if f.value == "" {
			flags = append(flags, "without "+f.name)
		} else {
			flags = append(flags, "with "+f.name+" "+safetext.Escape(f.value))
		}
	}
	return strings.Join(flags, " and ")
}
