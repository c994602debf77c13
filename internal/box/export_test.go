package box

// OnFiles is for the tests that ask a box over HTTP.
var OnFiles = onFiles

// Entries calls f with all events as they are stored.
func (b *Box) Entries(f func(index int64, stored []byte) error) error { return b.archive.Entries(0, f) }
