package systems

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/signalbox-dev/signalbox/bench/handoff"
)

// plainSystem is a table and two statements. A worker takes the oldest task that is ready and not
// locked; to end a task and to make the next one ready is one statement, and so one transaction.
// Workers that find nothing wait for a notification.
type plainSystem struct{ connections int }

func (plainSystem) Name() string { return "PostgreSQL queue" }

type plainInstance struct {
	*cluster
	plainSystem
	pool *pgxpool.Pool
}

const (
	plainTable = `
CREATE TABLE queue (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	item text NOT NULL,
	phase int NOT NULL,
	state text NOT NULL DEFAULT 'ready',
	since timestamptz NOT NULL DEFAULT now(),
	UNIQUE (item, phase)
);
CREATE INDEX ready ON queue (id) WHERE state = 'ready'`

	plainAdd = `WITH added AS (INSERT INTO queue (item, phase) VALUES ($1, 1) RETURNING id) SELECT pg_notify('ready', '') FROM added`

	plainClaim = `
UPDATE queue SET state = 'running', since = now()
WHERE id = (SELECT id FROM queue WHERE state = 'ready' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1)
RETURNING id, item, phase`

	plainEnd = `
WITH ended AS (UPDATE queue SET state = 'ended', since = now() WHERE id = $1 AND state = 'running' RETURNING item, phase),
next AS (INSERT INTO queue (item, phase) SELECT item, phase + 1 FROM ended WHERE phase < $2 RETURNING id),
told AS (SELECT pg_notify('ready', '') FROM next)
SELECT (SELECT count(*) FROM ended), (SELECT count(*) FROM told)`

	plainEnded = `SELECT item, count(*) FROM queue WHERE state = 'ended' AND phase = $1 GROUP BY item`
)

func (s plainSystem) Start(ctx context.Context) (handoff.Instance, error) {
	c, err := startCluster(ctx)
	if err != nil {
		return nil, err
	}
	i := &plainInstance{cluster: c, plainSystem: s}
	if i.pool, err = c.pool(ctx, s.connections); err == nil {
		_, err = i.pool.Exec(ctx, plainTable)
	}
	if err != nil {
		return nil, errors.Join(err, i.Stop())
	}
	return i, nil
}

func (i *plainInstance) Version() string { return i.version }

func (i *plainInstance) Settings() string {
	return fmt.Sprintf("%s; FOR UPDATE SKIP LOCKED and LISTEN/NOTIFY; a handoff is two commits, one to claim and one to end and make ready; %d connections, pgx %s",
		clusterText(), i.connections, moduleVersion("github.com/jackc/pgx/v5"))
}

func (i *plainInstance) Add(ctx context.Context, item string) error {
	_, err := i.pool.Exec(ctx, plainAdd, item)
	return err
}

func (i *plainInstance) Work(ctx context.Context, w handoff.Workers, agent handoff.Agent, ended func(handoff.Task), ready func()) error {
	conn, err := i.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	listening := conn.Hijack()
	defer func() { _ = listening.Close(context.WithoutCancel(ctx)) }()
	if _, err := listening.Exec(ctx, "LISTEN ready"); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	told := make(chan struct{}, w.Waiting) // what is not taken is worth a look later
	var listener sync.WaitGroup
	listener.Go(func() {
		for {
			if _, err := listening.WaitForNotification(ctx); err != nil {
				cancel(fmt.Errorf("the connection that listens: %w", err))
				return
			}
			select {
			case told <- struct{}{}:
			default:
			}
		}
	})
	ready()
	err = handoff.Pull(ctx, w, agent, ended, func(ctx context.Context) (handoff.Task, func(context.Context) error, error) {
		return i.claim(ctx, told)
	})
	cancel(handoff.ErrEnough)
	listener.Wait()
	return err
}

// claim waits for a task. A query that was sent is waited for, whatever happens: the server may
// carry it out after its client has gone, and the task would be lost until somebody finds it.
func (i *plainInstance) claim(ctx context.Context, told <-chan struct{}) (t handoff.Task, end func(context.Context) error, err error) {
	for {
		var id int64
		err := i.pool.QueryRow(context.WithoutCancel(ctx), plainClaim).Scan(&id, &t.Item, &t.Phase)
		if err == nil {
			return t, func(ctx context.Context) error { return i.end(ctx, id) }, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return t, nil, err
		}
		select {
		case <-told:
		case <-time.After(time.Second): // a notification may get lost with its connection
		case <-ctx.Done():
			return t, nil, context.Cause(ctx)
		}
	}
}

func (i *plainInstance) end(ctx context.Context, id int64) error {
	var ended, told int
	if err := i.pool.QueryRow(ctx, plainEnd, id, handoff.Phases).Scan(&ended, &told); err != nil {
		return err
	}
	if ended != 1 {
		return errors.New("the task was not running any more")
	}
	return nil
}

func (i *plainInstance) Ended(ctx context.Context) (map[string]int, error) {
	return countRows(ctx, i.pool, plainEnded, handoff.Phases)
}

// countRows returns a query's rows, of an item and a number.
func countRows(ctx context.Context, pool *pgxpool.Pool, query string, args ...any) (map[string]int, error) {
	rows, err := pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	all := map[string]int{}
	var item string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&item, &n}, func() error {
		all[item] = n
		return nil
	})
	return all, err
}

func (i *plainInstance) Stop() error {
	if i.pool != nil {
		i.pool.Close()
	}
	return i.cluster.Stop()
}
