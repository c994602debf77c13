package delivery_test

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// The id of a conversation is said by a program and becomes an argument of a command.
func TestConversationCheck(t *testing.T) {
	for id, good := range map[string]bool{
		"9b7d9f3f-e617-4dfe-be85-791d2f7da0ce": true, "ses_e1712c34cffemnh9ujk8UB0oXc": true, "1": true, strings.Repeat("x", 128): true,
		"": false, "-c": false, "--resume": false, "_x": false, "a b": false, "a\n": false, "a/../b": false, "a=b": false, "\x1b[31m": false, "\u0661": false, strings.Repeat("x", 129): false,
	} {
		if err := (delivery.Conversation{ID: id}).Check(); (err == nil) != good {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, c := range []delivery.Conversation{{ID: "x", Context: -1}, {ID: "x", Window: 1e13}, {ID: "x", Counted: delivery.Usage{InputTokens: -1}}} {
		if c.Check() == nil {
			t.Errorf("%+v is one", c)
		}
	}
}
