package runner

import "path/filepath"

// SessionFiles is where the files of a session lie in a box's directory.
func SessionFiles(box, session string) string {
	return filepath.Join(box, sessionsDir, filepath.Base(session))
}

// ChecksLog is where what the checks printed is kept in a box's directory: on the work of a session, or on what has that name. By hand says
// that the work is no task of a run.
func ChecksLog(box, name string, byHand bool) string {
	dir := runLogs
	if byHand {
		dir = HandLogs
	}
	return filepath.Join(box, gatesDir, dir, filepath.Base(name)+logSuffix)
}

// runLogs is the name of the directory of the logs of runs.
const runLogs = "log"
