package archive

// Putting says whether a blob is being put: none is unlinked then.
func (a *Archive) Putting() bool {
	if a.leaving.files.TryLock() {
		a.leaving.files.Unlock()
		return false
	}
	return true
}
