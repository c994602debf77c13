package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// memory is what a teller keeps in its file. It has what is not told yet, and no more of the past than how far it was read.
type memory struct {
	Version int        `json:"version"`
	Origin  string     `json:"origin"`         // of the ledger that it is about
	UpTo    uint64     `json:"up_to"`          // the last event that was looked at
	Anew    bool       `json:"anew,omitempty"` // what waited when it began was not looked at yet
	Taken   []string   `json:"taken"`          // what waits and was made a message of, where that does not follow from how far the events were looked at
	Untold  []*pending `json:"untold"`
	Lost    []string   `json:"lost,omitempty"` // runners that were made a message of and have got no session since
	Dropped int        `json:"dropped"`
}

const (
	memoryVersion = 1
	maxMemory     = 16 << 20
)

// pending is a message, and in which ways it is still to be told.
type pending struct {
	Message
	About string `json:"about,omitempty"` // whose wait it tells of; empty if it tells of an event
	Ways  []Way  `json:"ways"`

	Kept time.Time `json:"kept,omitzero"` // since when it is kept for the case that the box that leads has not told it; zero if it is this one's to tell

	failed  map[Way]int // how often, by this box
	trouble string      // why the last try failed
}

// follows reports whether it follows from how far the events were looked at that something was made a message of: not of a part in a
// task, which may begin to wait later than its number says.
func (m memory) follows(a box.Awaited) bool {
	return a.Kind == api.KindQuestion && a.Seq <= m.UpTo && !m.Anew
}

// Forget removes the memory of what was told: who is told of nothing for a while shall not be told of all of it later.
func Forget(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// recall reads the memory. What is no memory of this ledger, or of an older state of it, is none.
func (t *Teller) recall() (m memory, found bool) {
	data, err := regular.Read(t.o.File, maxMemory)
	if errors.Is(err, fs.ErrNotExist) {
		return memory{}, false
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	switch {
	case err != nil:
	case m.Version != memoryVersion:
		err = fmt.Errorf("it has version %d, and this program knows %d", m.Version, memoryVersion)
	case m.Origin != t.o.Origin || m.UpTo > t.box.UpTo() && t.o.Leads == nil:
		err = errors.New("it is of another ledger, or of a later state of it")
	}
	if err != nil {
		t.o.Logger.Warn("what was told before is not known: all that waits is told again, and nothing else of the past", "file", t.o.File, "error", err)
		return memory{}, false
	}
	ways := t.ways()
	m.Untold = slices.DeleteFunc(m.Untold, func(p *pending) bool {
		if p == nil {
			return true
		}
		p.Ways = slices.DeleteFunc(p.Ways, func(w Way) bool { return !slices.Contains(ways, w) })
		return len(p.Ways) == 0 || !t.tells(p.Kind) || p.About != "" && p.Question == nil
	})
	return m, true
}

// save writes the memory.
func (t *Teller) save() {
	t.saving.Lock()
	defer t.saving.Unlock()
	t.mu.Lock()
	m := memory{Version: memoryVersion, Origin: t.o.Origin, UpTo: t.upTo, Anew: t.anew, Taken: []string{}, Untold: t.untold, Lost: t.lost, Dropped: t.dropped}
	for _, open := range t.open {
		for _, a := range open {
			if !m.follows(a) {
				m.Taken = append(m.Taken, a.ID)
			}
		}
	}
	slices.Sort(m.Taken)
	if m.Untold == nil {
		m.Untold = []*pending{}
	}
	data, err := json.Marshal(m)
	upTo := t.upTo
	t.mu.Unlock()
	if err == nil {
		err = durable.WriteFile(t.o.File, append(data, '\n'))
	}
	if err != nil {
		t.o.Logger.Warn("what was told is not kept: after a restart it may be told again", "file", t.o.File, "error", err)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.saved = upTo
}

// ways returns in which ways somebody is told.
func (t *Teller) ways() (ways []Way) {
	if t.o.Notify.Command != "" {
		ways = append(ways, ByCommand)
	}
	if t.o.Notify.Webhook != "" {
		ways = append(ways, ByWebhook)
	}
	return ways
}

// tells reports whether somebody is told of a kind.
func (t *Teller) tells(kind config.Kind) bool { return slices.Contains(t.o.Notify.Kinds, kind) }
