package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/ledger"
)

// eventSize is the mean of a grant (367 bytes) and a completion (801) as the box
// stores them here.
const eventSize = 584

// logAlone returns how many records the log by itself stores in a second: synced, from as
// many goroutines, on as many subjects, each on the condition that it continues its subject.
func (o Options) logAlone(ctx context.Context, round int) (rate float64, err error) {
	log, end, err := openLog(ctx, filepath.Join(o.Dir, fmt.Sprintf("log%d", round)))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	steps := handoffEvents * len(phases)
	begun := time.Now()
	err = o.each(ctx, o.Items, func(ctx context.Context, i int) error {
		subject := fmt.Sprintf("subject%d", i)
		data := fmt.Appendf(nil, `{"subject":%q,"filler":%q}`, subject, strings.Repeat("x", eventSize))[:eventSize]
		last := uint64(0)
		for range steps {
			seq, err := log.Append(ctx, subject, last, data)
			if err != nil {
				return err
			}
			last = seq
		}
		return nil
	})
	return float64(o.Items*steps) / time.Since(begun).Seconds(), err
}

// openLog opens a log with nothing around it but who knows the last record of each subject.
func openLog(ctx context.Context, dir string) (*archive.Log, func() error, error) {
	signer, verifier, err := ledger.NewKey(ledger.Origin("bench", 1))
	if err != nil {
		return nil, nil, err
	}
	a, err := archive.Open(archive.Dir(dir), archive.Keys{Signer: signer, Verifier: verifier})
	if err != nil {
		return nil, nil, err
	}
	if _, err := a.Start(ctx, 0); err != nil {
		return nil, nil, err
	}
	last := map[string]uint64{} // the log's writer alone asks
	log := archive.NewLog(a, archive.Follower{
		Last: func(subject string) (uint64, error) { return last[subject], nil },
		Fold: func(records []engine.Record) error {
			for _, r := range records {
				last[r.Subject] = r.Seq
			}
			return nil
		},
		Ended: func(error) {},
	})
	return log, func() error { return errors.Join(log.Close(), a.Close()) }, nil
}
