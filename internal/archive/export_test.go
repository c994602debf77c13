package archive

// SegmentLimit is after how many bytes the log goes on in another segment, in tests.
const SegmentLimit = 1 << 17

func init() { segmentLimit = SegmentLimit }

// Putting says whether a blob is being put: none is unlinked then.
func (a *Archive) Putting() bool {
	if a.leaving.files.TryLock() {
		a.leaving.files.Unlock()
		return false
	}
	return true
}
