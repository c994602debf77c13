package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"os"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/session/agent"
	"github.com/signalbox-dev/signalbox/safetext"
)

// MaxTranscript is how much of what an agent says is kept, in bytes.
const MaxTranscript = 64 << 20

const (
	maxStderr  = 8 << 20
	maxTail    = 4 << 10
	maxPreview = 200 // characters
)

const fullLine = "\n[the file is full: what came after this is not kept]\n"

// kept is a file that takes so much and no more, and says so in its last line.
type kept struct {
	file  *os.File
	left  int64
	size  int64
	hash  hash.Hash
	full  bool
	begun bool // the last byte written was not a newline
}

// keep makes the file, which must not be there: a session runs once.
func keep(path string, limit int64) (*kept, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &kept{file: f, left: limit, hash: sha256.New()}, nil
}

// Write keeps what there is room for.
func (k *kept) Write(p []byte) (int, error) {
	n := len(p)
	if k.full || n == 0 {
		return n, nil
	}
	if int64(n) > k.left {
		p = append(bytes.Clone(p[:k.left]), fullLine...)
		k.full = true
	}
	k.left -= int64(min(n, len(p)))
	k.begun = p[len(p)-1] != '\n'
	m, err := k.file.Write(p)
	k.size += int64(m)
	k.hash.Write(p[:m])
	return n, err
}

// sum returns the hash of all that was written.
func (k *kept) sum() string { return hex.EncodeToString(k.hash.Sum(nil)) }

func (k *kept) close() error { return errors.Join(k.file.Sync(), k.file.Close()) }

// tail is the last of a text.
type tail []byte

func (t *tail) write(p []byte) {
	if len(p) >= maxTail {
		*t = append((*t)[:0], p[len(p)-maxTail:]...)
		return
	}
	if over := len(*t) + len(p) - maxTail; over > 0 {
		*t = append((*t)[:0], (*t)[over:]...)
	}
	*t = append(*t, p...)
}

// preview returns the last characters, escaped, and never half of one.
func (t tail) preview() string {
	return safetext.EscapeLines(agent.LastRunes(strings.TrimSpace(string(t)), maxPreview))
}

// line returns the last line that says something, escaped.
func (t tail) line() string {
	text := strings.TrimSpace(string(t))
	text = text[strings.LastIndexAny(text, "\r\n")+1:]
	return safetext.Escape(agent.LastRunes(text, maxPreview))
}

// sequences are what a terminal acts upon: colours, movements, titles.
var sequences = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|\x1b\\][^\a\x1b]*(?:\a|\x1b\\\\)|\x1b[ -/]*[0-Z\\\\^-~]")

// activity returns the beginning of the last line that says something, for people: without what a terminal would act upon, and
// with paths as they are in the worktree.
func (t tail) activity(worktree string) string {
	text := sequences.ReplaceAllString(strings.TrimSpace(string(t)), "")
	text = strings.TrimSpace(text)
	text = text[strings.LastIndexAny(text, "\r\n")+1:]
	if worktree != "" {
		text = strings.ReplaceAll(text, strings.TrimSuffix(worktree, "/")+"/", "")
	}
	if runes := []rune(strings.ToValidUTF8(text, "")); len(runes) > maxPreview {
		text = string(runes[:maxPreview-1]) + "…"
	}
	return safetext.Escape(text)
}

// beforeLast returns what was said before that line.
func (t tail) beforeLast() tail {
	text := bytes.TrimSpace(t)
	return tail(text[:bytes.LastIndexAny(text, "\r\n")+1])
}

// lines returns the last lines, escaped.
func (t tail) lines(n int) string {
	lines := strings.Split(strings.TrimSpace(agent.LastRunes(string(t), maxTail)), "\n")
	return safetext.EscapeLines(strings.Join(lines[max(0, len(lines)-n):], "\n"))
}
