package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// What lies in a session's directory.
const (
	specFile       = "spec.json"
	lockFile       = "lock"         // held for as long as the session process lives
	sessionFile    = "session.json" // the session's own process, while it lives
	agentFile      = "agent.json"   // the agent's process group, while there is one
	transcriptFile = "transcript"   // what the agent said in all turns
	voicesFile     = "voices"       // who said which part of it, and when
	stderrFile     = "stderr"
	tempDir        = "tmp"        // what the agent may write, removed at the end
	privateDir     = "private"    // what the agent's program may write and its commands can't see, likewise
	nestDir        = "nest"       // what the agent runs commands through
	outboxDir      = "outbox"     // reports that no box has acknowledged
	refusedDir     = "refused"    // reports that no box will ever take, for a person to look at
	endedFile      = "ended.json" // the last report
	logFile        = "log"        // what the session process itself had to say
)

// How long files in a session's directory can be, in bytes. A report has [api.MaxReport].
const (
	maxSpec   = 64 << 20 // a prompt may have a whole plan, and what was said of it
	maxLeader = 4 << 10
)

// killPatience bounds the wait for a session that was killed. It is a variable for tests.
var killPatience = 5 * time.Second

// errUnreadable says that a file has another content than it should have, and will not get it.
var errUnreadable = errors.New("damaged")

// ErrAlive is returned where a session has to be dead and is not.
var ErrAlive = errors.New("the session's process is running")

// leader is the first process of a group, for whoever has to end it.
type leader struct {
	Pid     int    `json:"pid"`
	Started string `json:"started"`
}

// ErrDirectory is returned if a session's directory is not as the session left it: its agent may have
// changed it, if it has no sandbox.
var ErrDirectory = errors.New("the session's directory is damaged")

// marker names the agent's processes in their environment. Two boxes may have sessions
// of one name, and the directory tells them apart: by its path, also when it is not there any more.
func marker(dir, session string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(filepath.Join(parent, filepath.Base(path))))
	return session + "@" + hex.EncodeToString(sum[:8]), nil
}

// ownMarker names the session's own process, likewise.
func ownMarker(marker string) string { return marker + "/session" }

// Alive reports whether a session's process is running.
func Alive(dir string) bool {
	held, err := filelock.Held(filepath.Join(dir, lockFile))
	return err == nil && held
}

// AgentLeft reports whether something may be running of a session's agent.
func AgentLeft(dir string) bool { return exists(filepath.Join(dir, agentFile)) }

// Kill kills a session's process, also one that is stopped and can't be told anything, and
// returns when it is gone. It is found by the session's name too, whatever is left of the directory. What
// is left of its agent is for [Clean]. Another process that has got the same number is left
// alone; that there is nothing to kill is no error.
func Kill(dir, session string) error {
	var l leader
	err := readJSON(filepath.Join(dir, sessionFile), maxLeader, &l)
	if err == nil && l.Started != "" && process.StartedAt(l.Pid) == l.Started {
		process.EndGroup(l.Pid, l.Started, "", 0)
		awaitDead(dir)
	}
	if !Alive(dir) {
		return nil
	}
	mark, err := marker(dir, session)
	if err != nil {
		return err
	}
	for _, m := range []string{ownMarker(mark), mark} { // the agent can hold the lock as well
		if _, err := process.Sweep(m); err != nil {
			return err
		}
	}
	if awaitDead(dir); Alive(dir) {
		return fmt.Errorf("%w: %s is held by a process that is not known as the session's: end it by hand",
			ErrAlive, filepath.Join(dir, lockFile))
	}
	return nil
}

// awaitDead waits for a session that was killed. A child that was about to become the agent
// has the lock until it has.
func awaitDead(dir string) {
	for end := time.Now().Add(killPatience); Alive(dir) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// Clean ends what is left of the agent of a session whose process has died. It can be
// called again, and for a session that has left nothing. The agent is ended whatever became of the
// directory: then it is an error, [ErrDirectory].
func Clean(dir, session string) error {
	if Alive(dir) {
		return fmt.Errorf("%w: %s", ErrAlive, dir)
	}
	mark, err := marker(dir, session)
	if err != nil {
		return err
	}
	spec, damage := readSpec(dir)
	if damage != nil {
		spec = Spec{}.withDefaults()
	}
	var l leader
	err = readJSON(filepath.Join(dir, agentFile), maxLeader, &l)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		damage = errors.Join(damage, err)
		l = leader{}
	}
	process.EndGroup(l.Pid, l.Started, mark, time.Duration(spec.Grace))
	return damaged(errors.Join(damage, os.RemoveAll(filepath.Join(dir, agentFile)), removeTemp(dir)))
}

// removeTemp removes what nobody needs when the agent has gone.
func removeTemp(dir string) error {
	return errors.Join(os.RemoveAll(Temp(dir)), os.RemoveAll(Private(dir)), os.RemoveAll(Nest(dir)))
}

func reportFile(dir string, seq int) string {
	return filepath.Join(dir, outboxDir, fmt.Sprintf("%05d.json", seq))
}

// outbox returns the numbers of the reports that are there.
func outbox(dir string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(dir, outboxDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var numbers []int
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if seq, err := strconv.Atoi(name); ok && err == nil {
			numbers = append(numbers, seq)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// readJSON reads a file of at most so many bytes, which an agent can get at.
func readJSON(path string, most int64, v any) error {
	f, err := regular.OpenItself(path)
	var data []byte
	if err == nil {
		data, err = regular.ReadAll(f, most)
	}
	_, large := errors.AsType[*regular.TooLargeError](err)
	switch {
	case large || errors.Is(err, regular.ErrIrregular):
		return fmt.Errorf("%w: %w: remove it", errUnreadable, err)
	case err != nil:
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %s can't be read: %w", errUnreadable, path, err)
	}
	return nil
}

// writeJSON writes a file that is there as a whole or not at all, also after a power cut.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, data)
}
