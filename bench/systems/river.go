package systems

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/signalbox-dev/signalbox/bench/handoff"
)

// riverSystem is River on PostgreSQL. A job ends itself and inserts the next one in one transaction.
type riverSystem struct{ connections int }

func (riverSystem) Name() string { return "River" }

type riverInstance struct {
	*cluster
	riverSystem
	pool     *pgxpool.Pool
	inserter *river.Client[pgx.Tx]
}

type phaseArgs struct {
	Item  string `json:"item"`
	Phase int    `json:"phase"`
}

// Kind is the name that River stores.
func (phaseArgs) Kind() string { return "phase" }

// riverCooldown is how long River waits between two looks for jobs at least. It is the smallest that it takes.
const riverCooldown = river.FetchCooldownMin

const riverEnded = `SELECT args->>'item', count(*) FROM river_job WHERE state = 'completed' AND (args->>'phase')::int = $1 GROUP BY 1`

func (s riverSystem) Start(ctx context.Context) (handoff.Instance, error) {
	c, err := startCluster(ctx)
	if err != nil {
		return nil, err
	}
	i := &riverInstance{cluster: c, riverSystem: s}
	if err := i.prepare(ctx); err != nil {
		return nil, errors.Join(err, i.Stop())
	}
	return i, nil
}

func (i *riverInstance) prepare(ctx context.Context) (err error) {
	if i.pool, err = i.cluster.pool(ctx, i.connections); err != nil {
		return err
	}
	driver := riverpgxv5.New(i.pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{})
	i.inserter, err = river.NewClient(driver, &river.Config{Logger: quiet(), FetchCooldown: riverCooldown, Workers: workers})
	return err
}

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

func (i *riverInstance) Version() string {
	return moduleVersion("github.com/riverqueue/river") + ", PostgreSQL " + i.version
}

func (i *riverInstance) Settings() string {
	return fmt.Sprintf("%s; JobCompleteTx and InsertTx in one transaction; FetchCooldown %s (by default %s), %d connections, pgx %s",
		clusterText(), riverCooldown, river.FetchCooldownDefault, i.connections, moduleVersion("github.com/jackc/pgx/v5"))
}

func (i *riverInstance) Add(ctx context.Context, item string) error {
	_, err := i.inserter.Insert(ctx, phaseArgs{item, 1}, nil)
	return err
}

type riverWorker struct {
	river.WorkerDefaults[phaseArgs]
	instance *riverInstance
	agent    handoff.Agent
	ended    func(handoff.Task)
	failed   func(error)
}

// Work is called by River when it has fetched a job.
func (w *riverWorker) Work(ctx context.Context, job *river.Job[phaseArgs]) error {
	t := handoff.Task{Item: job.Args.Item, Phase: job.Args.Phase}
	err := w.agent(ctx, t)
	if err == nil {
		err = w.end(ctx, job)
	}
	if err != nil {
		w.failed(fmt.Errorf("item %s, phase %d: %w", t.Item, t.Phase, err))
		return err
	}
	w.ended(t)
	return nil
}

func (w *riverWorker) end(ctx context.Context, job *river.Job[phaseArgs]) error {
	return pgx.BeginFunc(ctx, w.instance.pool, func(tx pgx.Tx) error {
		if job.Args.Phase < handoff.Phases {
			if _, err := w.instance.inserter.InsertTx(ctx, tx, phaseArgs{job.Args.Item, job.Args.Phase + 1}, nil); err != nil {
				return err
			}
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

func (i *riverInstance) Work(ctx context.Context, w handoff.Workers, agent handoff.Agent, ended func(handoff.Task), ready func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{instance: i, agent: agent, ended: ended, failed: func(err error) { cancel(err) }})
	client, err := river.NewClient(riverpgxv5.New(i.pool), &river.Config{
		Logger: quiet(), Workers: workers, FetchCooldown: riverCooldown, JobTimeout: -1,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: w.Held}},
	})
	if err != nil {
		return err
	}
	// It is stopped below, in order: not by the end of ctx.
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	ready()
	<-ctx.Done()
	stopping, done := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer done()
	err = client.StopAndCancel(stopping)
	if cause := context.Cause(ctx); !errors.Is(cause, handoff.ErrEnough) {
		err = errors.Join(cause, err)
	}
	return err
}

func (i *riverInstance) Ended(ctx context.Context) (map[string]int, error) {
	return countRows(ctx, i.pool, riverEnded, handoff.Phases)
}

func (i *riverInstance) Stop() error {
	if i.pool != nil {
		i.pool.Close()
	}
	return i.cluster.Stop()
}
