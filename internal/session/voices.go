package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// A transcript is what was said, byte by byte, and nothing else: its hash is in the ledger. Who said which part of it, and
// when, lies in a file beside it, for people who read it.

const (
	// maxVoices is how many parts a transcript is told to have. The last one has the rest.
	maxVoices = 50_000
	// maxVoice is the longest line of the file, in bytes.
	maxVoice = 64
	// voicePause is how much later something is said that is a part of its own although the same speak.
	voicePause = time.Second
)

// Voice is a part of a transcript, which ends where the next one begins.
type Voice struct {
	Offset int64
	At     time.Time
	From   agentsig.Source
}

// voices is the file that is written.
type voices struct {
	file  *os.File
	count int
	last  Voice
}

func keepVoices(path string) (*voices, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return &voices{file: f}, err
}

// speak notes who speaks from an offset of the transcript on, before it is written there.
func (v *voices) speak(offset int64, from agentsig.Source, now time.Time) error {
	if v.count == maxVoices || v.count > 0 && from == v.last.From && now.Sub(v.last.At) < voicePause {
		return nil
	}
	v.count++
	v.last = Voice{offset, now, from}
	_, err := v.file.WriteString(v.last.Line())
	return err
}

// Line is the voice as a line of the file.
func (v Voice) Line() string { return fmt.Sprintf("%d %d %d\n", v.Offset, v.At.UnixMilli(), v.From) }

// Voices returns the parts of the transcript of a session, as far as they are known; of one of an earlier version
// nothing is. What an agent may have made of the file does no harm.
func Voices(dir string) ([]Voice, error) {
	f, err := regular.OpenItself(filepath.Join(dir, voicesFile))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, regular.ErrIrregular) {
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = regular.ReadAll(f, maxVoices*maxVoice)
	}
	if _, large := errors.AsType[*regular.TooLargeError](err); large {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Voice
	for line := range bytes.Lines(data) {
		var v Voice
		var at int64
		if _, err := fmt.Sscanf(string(line), "%d %d %d\n", &v.Offset, &at, &v.From); err != nil || !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written, or damaged
		}
		if v.At = time.UnixMilli(at); len(all) > 0 && v.Offset < all[len(all)-1].Offset || v.Offset < 0 {
			break
		}
		all = append(all, v)
	}
	return all, nil
}

// Said returns what the agent of a session said itself, in all turns, without what its tools gave it.
func Said(dir string) (string, error) {
	parts, err := Voices(dir)
	if err != nil {
		return "", err
	}
	f, err := regular.OpenItself(filepath.Join(dir, transcriptFile))
	if err != nil {
		return "", err
	}
	text, err := regular.ReadAll(f, MaxTranscript+int64(len(fullLine)))
	if err != nil {
		return "", err
	}
	var own bytes.Buffer
	for i, v := range parts {
		end := int64(len(text))
		if i+1 < len(parts) {
			end = min(end, parts[i+1].Offset)
		}
		if v.From == agentsig.Voice && v.Offset < end {
			own.Write(text[v.Offset:end])
		}
	}
	return own.String(), nil
}
