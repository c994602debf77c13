package archive_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/engine/enginetest"
)

// last is the least that can follow a log: the last sequence of each subject.
type last map[string]uint64

func (l last) follower() archive.Follower {
	return archive.Follower{
		Last: func(subject string) (uint64, error) { return l[subject], nil },
		Fold: func(records []engine.Record) error {
			for _, r := range records {
				l[r.Subject] = r.Seq
			}
			return nil
		},
		Ended: func(error) {},
	}
}

func TestConformance(t *testing.T) {
	enginetest.Conformance(t, func(t *testing.T, dir string) engine.Log {
		a, err := archive.Open(archive.Dir(dir), newKeys(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Start(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
		return archive.NewLog(a, last{}.follower())
	})
}
