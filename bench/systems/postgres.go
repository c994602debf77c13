package systems

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/signalbox-dev/signalbox/bench/handoff"
	"github.com/signalbox-dev/signalbox/bench/process"
)

// cluster is a PostgreSQL server of its own, with a database "handoff".
type cluster struct {
	process  *process.Process
	dir      string
	port     int
	password string
	version  string
}

// clusterSettings are those that differ from what initdb writes, or that the comparison rests on.
var clusterSettings = []string{
	"fsync=on", "synchronous_commit=on", "full_page_writes=on", "wal_sync_method=fdatasync", "max_connections=100",
}

func clusterText() string {
	return "PostgreSQL of its own on loopback: " + strings.Join(clusterSettings, ", ") + ", all else as initdb leaves it"
}

// postgresDir returns where PostgreSQL's programs are. Debian keeps them away from PATH.
func postgresDir() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path) // initdb looks for postgres beside itself
		return filepath.Dir(path), err
	}
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(all) == 0 {
		return "", handoff.Missing{What: "no PostgreSQL (Debian: apt-get install postgresql)"}
	}
	newest := slices.MaxFunc(all, func(a, b string) int { return majorOf(a) - majorOf(b) })
	return filepath.Dir(newest), nil
}

// majorOf returns the version in a path such as /usr/lib/postgresql/15/bin/initdb.
func majorOf(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// startCluster makes a cluster and starts it. PostgreSQL refuses to run as root: then it runs as
// the user postgres, or as nobody.
func startCluster(ctx context.Context) (_ *cluster, err error) {
	bin, err := postgresDir()
	if err != nil {
		return nil, err
	}
	c := &cluster{password: rand.Text()}
	if c.dir, err = tempDir("postgres"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if c.port, err = freePort(ctx); err != nil {
		return nil, err
	}
	as, err := unprivileged(c.dir)
	if err != nil {
		return nil, err
	}
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(bin, program), args...)
		cmd.Dir = c.dir
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		return cmd
	}
	data, password := filepath.Join(c.dir, "data"), filepath.Join(c.dir, "password")
	if err := writeFor(as, password, c.password+"\n"); err != nil {
		return nil, err
	}
	if _, err := process.Run(command("initdb", "--pgdata", data, "--username", "handoff", "--auth", "scram-sha-256", "--pwfile", password, "--encoding", "UTF8")); err != nil {
		return nil, err
	}
	args := []string{"-D", data, "-p", strconv.Itoa(c.port), "-h", "127.0.0.1", "-k", ""} // no socket in a directory of all
	for _, s := range clusterSettings {
		args = append(args, "-c", s)
	}
	const fastShutdown = syscall.SIGINT // of PostgreSQL: it does not wait for clients
	if c.process, err = process.Start(command("postgres", args...), fastShutdown); err != nil {
		return nil, err
	}
	return c, c.process.Ready(ctx, c.prepare)
}

// unprivileged returns whom PostgreSQL is to run as, and gives the directory to that user. It is
// nil, the caller, if the caller is not root.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, handoff.Missing{What: "PostgreSQL does not run as root, and there is neither a user postgres nor nobody"}
		}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, uid, gid)
}

// writeFor writes a file that only this user can read.
func writeFor(as *syscall.Credential, path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil || as == nil {
		return err
	}
	return os.Chown(path, int(as.Uid), int(as.Gid))
}

// prepare makes the database and reads what the server says of itself: that it syncs is what the
// comparison rests on.
func (c *cluster) prepare(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var fsync, commit string
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')").Scan(&c.version, &fsync, &commit); err != nil {
		return err
	}
	if fsync != "on" || commit != "on" {
		return fmt.Errorf("PostgreSQL says fsync=%s, synchronous_commit=%s", fsync, commit)
	}
	c.version, _, _ = strings.Cut(c.version, " ")
	_, err = conn.Exec(ctx, "CREATE DATABASE handoff")
	return err
}

func (c *cluster) url(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("handoff", c.password), Host: loopback(c.port), Path: database, RawQuery: "sslmode=disable"}
	return u.String()
}

// pool connects to the database.
func (c *cluster) pool(ctx context.Context, connections int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(c.url("handoff"))
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(connections)
	return pgxpool.NewWithConfig(ctx, config)
}

// Processes returns the server's id.
func (c *cluster) Processes() []int { return []int{c.process.ID()} }

// Stop ends the server, if it runs, and removes its files.
func (c *cluster) Stop() error {
	var err error
	if c.process != nil {
		err = c.process.Stop()
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}
