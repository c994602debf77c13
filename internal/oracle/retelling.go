package oracle

import "strings"

// A retelling is what a person is shown of a reply. If an attempt before it broke off, what was
// shown then is not shown again, but for the line that it broke off in; a reply that turns out to
// be another is shown from its beginning.
type retelling struct {
	before string          // what was shown of the reply before
	now    strings.Builder // what has come
	shown  bool            // of it, something
}

// next takes the next piece of the reply, and returns what to show.
func (r *retelling) next(piece string) string {
	at := r.now.Len()
	r.now.WriteString(piece)
	switch {
	case r.shown:
		return piece
	case strings.HasPrefix(r.before[at:], piece):
		return ""
	}
	r.shown = true
	now := r.now.String()
	if strings.HasPrefix(now, r.before) {
		return now[strings.LastIndexByte(r.before, '\n')+1:]
	}
	return now
}

// rest returns what is to be shown of a reply that is whole: all, if it is only the beginning of
// what was shown.
func (r *retelling) rest() string {
	if r.shown || r.now.Len() == len(r.before) {
		return ""
	}
	r.shown = true
	return r.now.String()
}

// soFar is what was shown, for the next attempt.
func (r *retelling) soFar() string {
	switch {
	case r == nil:
		return ""
	case r.shown:
		return r.now.String()
	}
	return r.before
}
