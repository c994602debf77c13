package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// SessionPattern matches the token of a session.
const SessionPattern = sessionPrefix + `[0-9A-Za-z.-]+_[0-9a-f]{64}`

const sessionPrefix = "sbs_"

// SessionToken is the token of a session: 256 bits that nobody can work out without the key, and that are the same whenever the
// session's order is given. It says which session it is.
func SessionToken(key [32]byte, session string) string {
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(session))
	return sessionPrefix + session + "_" + hex.EncodeToString(mac.Sum(nil))
}

// SessionOf returns the session whose process has a token, if it is one that [SessionToken] made with this key; isSession reports whether it
// looks like one.
func SessionOf(key [32]byte, token string) (p Principal, isSession bool, err error) {
	rest, ok := strings.CutPrefix(token, sessionPrefix)
	at := strings.LastIndex(rest, "_")
	if !ok || at < 1 {
		return Principal{}, false, nil
	}
	session := rest[:at]
	if !hmac.Equal([]byte(token), []byte(SessionToken(key, session))) {
		return Principal{}, true, ErrUnknown
	}
	return Principal{Kind: Session, Session: session}, true, nil
}
