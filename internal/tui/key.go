package tui

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Key is what a person did: the name of a key, or the character that it types. A paste has its text.
type Key struct{ Name, Text string }

// The names of keys that type no character.
const (
	KeyUp        = "up"
	KeyDown      = "down"
	KeyPageUp    = "page up"
	KeyPageDown  = "page down"
	KeyHome      = "home"
	KeyEnd       = "end"
	KeyEnter     = "enter"
	KeyEscape    = "escape"
	KeyTab       = "tab"
	KeyBackspace = "backspace"
	KeyInterrupt = "ctrl+c"
	KeySuspend   = "ctrl+z"
	KeyClear     = "ctrl+u"
	KeyPaste     = "paste"
)

// controls are the keys that are one byte.
var controls = map[byte]string{
	'\r': KeyEnter, '\n': KeyEnter, '\t': KeyTab, 0x7f: KeyBackspace, '\b': KeyBackspace,
	0x03: KeyInterrupt, 0x1a: KeySuspend, 0x15: KeyClear,
}

// sequences are the keys that terminals send as an escape sequence, without its beginning.
var sequences = map[string]string{
	"A": KeyUp, "B": KeyDown, "H": KeyHome, "F": KeyEnd,
	"1~": KeyHome, "7~": KeyHome, "4~": KeyEnd, "8~": KeyEnd, "5~": KeyPageUp, "6~": KeyPageDown,
}

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	maxPaste   = 64 << 10 // what is longer is cut
)

// EscapeWait is how long the rest of a sequence may be under way, after which an escape that nothing follows is the Escape key.
const EscapeWait = 50 * time.Millisecond

// Keyboard makes keys of what a terminal sends. A sequence may come in parts, also after its first byte, the escape. It has no
// clock: the caller waits [EscapeWait] while [Keyboard.Held] says so, and then calls [Keyboard.Release].
type Keyboard struct {
	rest     string // the beginning of something
	released bool   // it was an escape, and taken for the key
	pasting  bool
	pasted   strings.Builder
}

// Held reports whether an escape has come, and nothing that follows it.
func (k *Keyboard) Held() bool { return !k.pasting && k.rest == "\x1b" }

// Release returns the Escape key if an escape is held: it begins nothing.
func (k *Keyboard) Release() []Key {
	if !k.Held() {
		return nil
	}
	k.rest, k.released = "", true
	return []Key{{Name: KeyEscape}}
}

// Keys returns the keys that some bytes complete.
func (k *Keyboard) Keys(sent []byte) []Key {
	text := k.rest + string(sent)
	if k.released && strings.HasPrefix(text, pasteBegin[1:]) { // it was a paste that came late: what a page holds is never keys
		text = "\x1b" + text
	}
	k.rest, k.released = "", false
	var keys []Key
	for text != "" {
		if k.pasting {
			text = k.paste(text, &keys)
			continue
		}
		n, key, whole := next(text)
		if !whole {
			k.rest = text
			break
		}
		switch {
		case text[:n] == pasteBegin:
			k.pasting = true
		case key.Name != "":
			keys = append(keys, key)
		}
		text = text[n:]
	}
	return keys
}

// paste takes pasted text, and returns what follows it.
func (k *Keyboard) paste(text string, keys *[]Key) string {
	body, after, ended := strings.Cut(text, pasteEnd)
	if !ended { // the end may have begun
		keep := min(len(text), len(pasteEnd)-1)
		for keep > 0 && !strings.HasPrefix(pasteEnd, text[len(text)-keep:]) {
			keep--
		}
		body, k.rest = text[:len(text)-keep], text[len(text)-keep:]
	}
	k.pasted.WriteString(body[:min(len(body), maxPaste-k.pasted.Len())])
	if ended {
		*keys = append(*keys, Key{KeyPaste, strings.ToValidUTF8(k.pasted.String(), "")})
		k.pasting = false
		k.pasted.Reset()
	}
	return after
}

// next returns the first key of a text, which has n bytes; it has no name if nobody knows it. It is not whole if more of it has
// to come.
func next(text string) (n int, key Key, whole bool) {
	if text[0] != '\x1b' {
		if name, ok := controls[text[0]]; ok {
			return 1, Key{Name: name}, true
		}
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && !utf8.FullRuneInString(text):
			return 0, Key{}, false
		case r == utf8.RuneError || r < ' ':
			return size, Key{}, true
		}
		return size, Key{Name: text[:size], Text: text[:size]}, true
	}
	switch {
	case len(text) == 1:
		return 0, Key{}, false
	case text[1] != '[' && text[1] != 'O':
		return 1, Key{Name: KeyEscape}, true
	}
	for i := 2; i < len(text); i++ {
		if c := text[i]; c >= 0x40 && c <= 0x7e {
			return i + 1, Key{Name: sequences[text[2:i+1]]}, true
		} else if c < 0x20 || i > 32 { // no sequence
			return i, Key{}, true
		}
	}
	return 0, Key{}, false
}
