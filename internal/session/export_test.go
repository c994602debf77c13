package session

// Marker is for tests that look for processes.
func Marker(dir, name string) (string, error) { return marker(dir, name) }

// SplitTurnEnds gives a text in chunks to turnEnds, and returns what it gives out and how
// many turns it ends.
func SplitTurnEnds(chunks [][]byte) (text string, turns int) {
	var t turnEnds
	say := func(p []byte) { text += string(p) }
	over := func() { turns++ }
	for _, c := range chunks {
		t.split(c, say, over)
	}
	t.end(say, over)
	return text, turns
}
