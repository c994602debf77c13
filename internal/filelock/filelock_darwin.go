package filelock

// Locks that belong to an open file and not to a process: F_OFD_GETLK and F_OFD_SETLK.
const (
	ofdGetLock = 92
	ofdSetLock = 90
)
