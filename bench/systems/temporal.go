package systems

import (
	"context"
	"crypto/rand"
	"debug/buildinfo"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/signalbox-dev/signalbox/bench/handoff"
	"github.com/signalbox-dev/signalbox/bench/process"
)

// An item is a workflow in Temporal, and each phase is an activity of it.

// temporalDev is the development server of Temporal's command line, with SQLite in a file.
type temporalDev struct {
	dir string
	temporalWorkers
}

func (temporalDev) Name() string { return "Temporal, dev server" }

// temporalPostgres is Temporal's server on PostgreSQL.
type temporalPostgres struct {
	dir string
	temporalWorkers
}

func (temporalPostgres) Name() string { return "Temporal, PostgreSQL" }

type temporalInstance struct {
	temporalWorkers
	cluster  *cluster // or nil
	process  *process.Process
	dir      string
	client   client.Client
	version  string
	settings string

	mu    sync.Mutex
	queue string // that the workers wait for
	added []string
}

const (
	temporalMissing   = "bench/temporal/install builds it"
	temporalNamespace = "default"
)

// temporalWorkers is how the workers are set: see [Options].
type temporalWorkers struct {
	pollers int
	lost    time.Duration
}

func (w temporalWorkers) text() string {
	return fmt.Sprintf("an item is a workflow of %d activities, StartToCloseTimeout %s, %d pollers of each kind, SDK %s, all else by default",
		handoff.Phases, w.lost, w.pollers, moduleVersion("go.temporal.io/sdk"))
}

// TemporalDir returns where bench/temporal/install puts Temporal's programs, if it did.
func TemporalDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(cache, "signalbox-temporal")
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

func (s temporalDev) Start(ctx context.Context) (_ handoff.Instance, err error) {
	program, err := find(s.dir, "temporal", temporalMissing)
	if err != nil {
		return nil, err
	}
	version, err := process.Run(exec.CommandContext(ctx, program, "--version"))
	if err != nil {
		return nil, err
	}
	i := &temporalInstance{version: versionIn(version, builtVersion(program)), settings: "temporal server start-dev, SQLite in a file, journal_mode=wal, synchronous=full; " + s.text(), temporalWorkers: s.temporalWorkers}
	defer i.stopIf(&err)
	if i.dir, err = tempDir("temporal"); err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(port), "--log-level", "error",
		"--db-filename", filepath.Join(i.dir, "temporal.db"), "--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=full")
	cmd.Dir = i.dir
	if i.process, err = process.Start(cmd, syscall.SIGTERM); err != nil {
		return nil, err
	}
	return i, i.connect(ctx, port)
}

// versionIn takes the version out of what "temporal --version" prints, such as
// "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)". One that go install has built does not know its
// own version, but the program's file does.
func versionIn(text, built string) string {
	text = strings.TrimPrefix(text, "temporal version ")
	cli, rest, ok := strings.Cut(text, " (Server ")
	if !ok {
		return text
	}
	if v, ok := strings.CutPrefix(built, "v"); ok && strings.HasSuffix(cli, "-DEV") {
		cli = v
	}
	server, _, _ := strings.Cut(rest, ",")
	return "CLI " + cli + ", server " + strings.TrimSuffix(server, ")")
}

// builtVersion returns the version of the module that a program was built from, if its file says so.
func builtVersion(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return ""
	}
	return info.Main.Version
}

func (s temporalPostgres) Start(ctx context.Context) (_ handoff.Instance, err error) {
	server, err := find(s.dir, "temporal-server", temporalMissing)
	if err != nil {
		return nil, err
	}
	tool, err := find(s.dir, "temporal-sql-tool", temporalMissing)
	if err != nil {
		return nil, err
	}
	version, err := process.Run(exec.CommandContext(ctx, server, "--version"))
	if err != nil {
		return nil, err
	}
	i := &temporalInstance{temporalWorkers: s.temporalWorkers}
	defer i.stopIf(&err)
	if i.cluster, err = startCluster(ctx); err != nil {
		return nil, err
	}
	i.version = strings.TrimPrefix(version, "temporal version ") + ", PostgreSQL " + i.cluster.version
	i.settings = clusterText() + "; one process with all four services, numHistoryShards 4 (as its development-postgres12.yaml), " + s.text()
	if i.dir, err = tempDir("temporal"); err != nil {
		return nil, err
	}
	for database, schema := range map[string]string{"temporal": "temporal", "temporal_visibility": "visibility"} {
		if err := i.makeSchema(ctx, tool, database, "postgresql/v12/"+schema); err != nil {
			return nil, err
		}
	}
	port, config, err := i.config(ctx)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(i.dir, "server.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), server, "--config-file", path, "--allow-no-auth", "start")
	cmd.Dir = i.dir
	if i.process, err = process.Start(cmd, syscall.SIGTERM); err != nil {
		return nil, err
	}
	return i, i.connect(ctx, port)
}

// makeSchema has Temporal's own tool make a database and its tables.
func (i *temporalInstance) makeSchema(ctx context.Context, tool, database, schema string) error {
	for _, args := range [][]string{{"create"}, {"setup-schema", "-v", "0.0"}, {"update-schema", "--schema-name", schema}} {
		cmd := exec.CommandContext(ctx, tool, append([]string{
			"--plugin", "postgres12", "--endpoint", "127.0.0.1", "--port", strconv.Itoa(i.cluster.port),
			"--user", "handoff", "--database", database,
		}, args...)...)
		cmd.Env = append(os.Environ(), "SQL_PASSWORD="+i.cluster.password)
		cmd.Dir = i.dir
		if _, err := process.Run(cmd); err != nil {
			return err
		}
	}
	return nil
}

// config is that of Temporal's repository for development on PostgreSQL, without metrics and archives.
func (i *temporalInstance) config(ctx context.Context) (frontend int, yaml string, err error) {
	var ports [9]any
	for n := range ports {
		port, err := freePort(ctx)
		if err != nil {
			return 0, "", err
		}
		ports[n] = port
	}
	store := func(database string, conns int) string {
		return fmt.Sprintf(`
      sql:
        pluginName: postgres12
        databaseName: %s
        connectAddr: %q
        connectProtocol: tcp
        user: handoff
        password: %q
        maxConns: %d
        maxIdleConns: %[4]d
        maxConnLifetime: 1h`, database, loopback(i.cluster.port), i.cluster.password, conns)
	}
	yaml = "log: {stdout: true, level: error}\npersistence:\n  defaultStore: default\n  visibilityStore: visibility\n  numHistoryShards: 4\n  datastores:\n    default:" +
		store("temporal", 20) + "\n    visibility:" + store("temporal_visibility", 2) + fmt.Sprintf(`
global:
  membership: {maxJoinDuration: 30s, broadcastAddress: "127.0.0.1"}
services:
  frontend: {rpc: {grpcPort: %d, membershipPort: %d, httpPort: %d, bindOnLocalHost: true}}
  matching: {rpc: {grpcPort: %d, membershipPort: %d, bindOnLocalHost: true}}
  history: {rpc: {grpcPort: %d, membershipPort: %d, bindOnLocalHost: true}}
  worker: {rpc: {grpcPort: %d, membershipPort: %d, bindOnLocalHost: true}}
clusterMetadata:
  enableGlobalNamespace: false
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation:
    active: {enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: "127.0.0.1:%[1]d"}
dcRedirectionPolicy: {policy: noop}
`, ports[:]...)
	return ports[0].(int), yaml, nil
}

// connect waits until the server has the namespace and takes workflows.
func (i *temporalInstance) connect(ctx context.Context, port int) error {
	options := client.Options{
		HostPort: loopback(port), Namespace: temporalNamespace,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)), // what fails is returned, and cancelled requests are no news
	}
	return i.process.Ready(ctx, func(ctx context.Context) error {
		if i.client == nil {
			c, err := client.DialContext(ctx, options)
			if err != nil {
				return err
			}
			i.client = c
		}
		if i.cluster != nil {
			if err := i.register(ctx); err != nil {
				return err
			}
		}
		_, err := i.client.DescribeTaskQueue(ctx, "any", enumspb.TASK_QUEUE_TYPE_WORKFLOW)
		return err
	})
}

// register makes the namespace. It may be there.
func (i *temporalInstance) register(ctx context.Context) error {
	_, err := i.client.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: temporalNamespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	var there *serviceerror.NamespaceAlreadyExists
	if errors.As(err, &there) {
		return nil
	}
	return err
}

func (i *temporalInstance) Version() string { return i.version }

func (i *temporalInstance) Settings() string { return i.settings }

func (i *temporalInstance) Add(ctx context.Context, item string) error {
	i.mu.Lock()
	queue := i.queue
	i.mu.Unlock()
	_, err := i.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: item, TaskQueue: queue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, handOver, item, i.lost)
	if err == nil {
		i.mu.Lock()
		i.added = append(i.added, item)
		i.mu.Unlock()
	}
	return err
}

const activityName = "phase"

// handOver is the workflow: one phase after the other.
func handOver(ctx workflow.Context, item string, lost time.Duration) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: lost})
	for phase := 1; phase <= handoff.Phases; phase++ {
		if err := workflow.ExecuteActivity(ctx, activityName, item, phase).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func (i *temporalInstance) Work(ctx context.Context, w handoff.Workers, agent handoff.Agent, _ func(handoff.Task), ready func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	i.mu.Lock()
	i.queue = rand.Text() // the server may still give tasks of the last one to a worker that has gone
	queue := i.queue
	i.mu.Unlock()
	wk := worker.New(i.client, queue, worker.Options{
		MaxConcurrentActivityExecutionSize: w.Held, MaxConcurrentActivityTaskPollers: i.pollers, MaxConcurrentWorkflowTaskPollers: i.pollers,
		OnFatalError: func(err error) { cancel(err) },
	})
	wk.RegisterWorkflow(handOver)
	wk.RegisterActivityWithOptions(func(_ context.Context, item string, phase int) error {
		err := agent(ctx, handoff.Task{Item: item, Phase: phase})
		if err != nil {
			cancel(err)
		}
		return err
	}, activity.RegisterOptions{Name: activityName})
	if err := wk.Start(); err != nil {
		return err
	}
	ready()
	<-ctx.Done()
	wk.Stop()
	if cause := context.Cause(ctx); !errors.Is(cause, handoff.ErrEnough) {
		return cause
	}
	return nil
}

// Await waits until workflows have completed: a worker is not told.
func (i *temporalInstance) Await(ctx context.Context, items []string) error {
	return handoff.Each(ctx, i.pollers, items, func(ctx context.Context, item string) error {
		return i.client.GetWorkflow(ctx, item, "").Get(ctx, nil)
	})
}

// Ended asks for each workflow that was started: there is no other way to be sure than its history.
func (i *temporalInstance) Ended(ctx context.Context) (map[string]int, error) {
	all := map[string]int{}
	return all, handoff.Each(ctx, i.pollers, i.added, func(ctx context.Context, item string) error {
		d, err := i.client.DescribeWorkflow(ctx, item, "")
		if err != nil {
			return err
		}
		if d.Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			i.mu.Lock()
			all[item]++
			i.mu.Unlock()
		}
		return nil
	})
}

func (i *temporalInstance) Processes() []int {
	all := []int{i.process.ID()}
	if i.cluster != nil {
		all = append(all, i.cluster.Processes()...)
	}
	return all
}

func (i *temporalInstance) stopIf(err *error) {
	if *err != nil {
		*err = errors.Join(*err, i.Stop())
	}
}

func (i *temporalInstance) Stop() error {
	var err error
	if i.client != nil {
		i.client.Close()
	}
	if i.process != nil {
		err = i.process.Stop()
	}
	if i.cluster != nil {
		err = errors.Join(err, i.cluster.Stop())
	}
	return errors.Join(err, os.RemoveAll(i.dir))
}
