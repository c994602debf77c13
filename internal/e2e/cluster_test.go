//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var (
	clusterKills = flag.Int("clusterkills", 2, "how many plans to have three boxes deliver, one of which is killed in each")
	clusterSeed  = flag.Uint64("clusterseed", 0, "which boxes are killed, and when; 0 for others each time")
)

// clusterAddresses counts the addresses of boxes of clusters.
var clusterAddresses atomic.Int64

// cluster is three boxes, each in a checkout of its own of one repository, and a runner on another machine. Its world is that of the box in whose
// checkout the plan is started.
type cluster struct {
	*world
	boxes  []*member
	home   *member
	runner *outpost
	last   []recorded
}

// member is a box of a cluster.
type member struct {
	*world
	node       *node // nil before it came up
	name, addr string
}

// outpost is a runner on another machine: it has a directory of its own, and nothing else.
type outpost struct {
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	said bytes.Buffer // to be read when it has ended
}

// newCluster has three boxes come up, of which the one with the number is the home of what is delivered.
func newCluster(t *testing.T, home int) *cluster {
	t.Helper()
	first := newWorld(t, "checks: [{name: there, command: test -f README.md}]\nroles: {critic: {labels: [far]}}\n")
	for role, text := range honest {
		first.script(role, "sleep 0.3\n"+text)
	}
	first.script("T-1.critic.1", "sleep 0.3\necho REVIEW_FAILED: T-1 $run\necho Issues Found: it is too short\n")
	first.script("T-1.developer.2", "sleep 0.3\necho more >>T-1.txt\ngit commit -qam more\necho READY_FOR_REVIEW: T-1 $run\n")
	c := &cluster{}
	for i := range 3 {
		w := *first
		if i > 0 {
			w.dir = t.TempDir()
			w.git("clone", "-q", first.dir, ".")
			w.git("remote", "remove", "origin")
			w.git("config", "user.name", "Ann")
			w.git("config", "user.email", "ann@example.org")
		}
		n := clusterAddresses.Add(1) - 1
		w.source = c.events
		c.boxes = append(c.boxes, &member{world: &w, name: string(rune('a' + i)), addr: fmt.Sprintf("127.0.9.%d:%d", n%250+1, 7643+n/250)})
	}
	c.home = c.boxes[home]
	c.world = c.home.world
	c.tasks("T-1", "T-2: T-1", "T-3")
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, b := range c.boxes {
			if b.node != nil {
				b.node.stop()
				t.Logf("%s said:\n%s", b.name, b.node.said.String())
			}
		}
	})
	c.form()
	c.runner = c.invite("far")
	return c
}

// must runs a command that goes well.
func (m *member) must(args ...string) result {
	m.t.Helper()
	r := m.signalbox(args...)
	if r.code != 0 {
		m.t.Fatalf("%s: signalbox %s: %s%s", m.name, strings.Join(args, " "), r.out, r.err)
	}
	return r
}

// start has a box come up.
func (m *member) start() {
	m.t.Helper()
	m.node = m.up("--tls", "--listen", m.addr)
}

// form makes the boxes a cluster.
func (c *cluster) form() {
	c.t.Helper()
	first := c.boxes[0]
	first.must("cluster", "init", "--name", first.name, "--address", first.addr)
	first.start()
	for _, b := range c.boxes[1:] {
		line := strings.TrimSpace(first.must("cluster", "invite", b.name).out)
		b.must("cluster", "join", line, "--address", b.addr)
		b.start()
	}
	c.whole()
}

// whole waits until all boxes answer each other, and each has all that was recorded.
func (c *cluster) whole() {
	c.t.Helper()
	c.until("the boxes are one cluster", func() bool {
		for _, b := range c.boxes {
			s, ok := b.status()
			if !ok || s.Leader == "" || len(s.Members) != len(c.boxes) {
				return false
			}
			for _, m := range s.Members {
				if m.Role != api.RoleVoter || m.Lag > 0 || m.State != api.MemberLeads && m.State != api.MemberFollows {
					return false
				}
			}
		}
		return true
	})
}

// status is how the cluster is by the word of a box, if that answers.
func (m *member) status() (api.ClusterStatus, bool) {
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	s, err := m.node.client.Cluster(ctx)
	return s, err == nil
}

// events returns what is recorded, as the boxes that answer say.
func (c *cluster) events() []recorded {
	for _, b := range c.boxes {
		if b.node == nil || b.node.ended {
			continue
		}
		var all []recorded
		names := map[string]string{}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), patience)
		err := b.node.client.Events(ctx, "", 0, false, func(e api.Event) error {
			one, err := ledger.Decode(e.Event)
			if err == nil {
				all = append(all, withName(one, names))
			}
			return err
		})
		cancel()
		if err == nil {
			c.last = all
			break
		}
	}
	return c.last
}

// invite has a runner with a label join the cluster, and starts it.
func (c *cluster) invite(label string) *outpost {
	c.t.Helper()
	r := &outpost{t: c.t}
	var err error
	if r.dir, err = os.MkdirTemp("", "sbr"); err != nil { // as short as a socket's path has to be
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { cleared(c.t, r.dir) })
	var i api.Invitation
	invited := c.boxes[0].must("runner", "invite", "--name", "r1", "--label", label, "--json")
	if err := json.Unmarshal([]byte(invited.out), &i); err != nil || i.Line == "" {
		c.t.Fatalf("invite: %s%s", invited.out, invited.err)
	}
	if out, err := r.command("join", i.Line).CombinedOutput(); err != nil {
		c.t.Fatalf("join: %v\n%s", err, out)
	}
	r.cmd = r.command()
	r.cmd.Stderr = &r.said
	if err := r.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(r.stop)
	c.until("the runner is there", func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), patience)
		defer cancel()
		all, err := c.boxes[0].node.client.Runners(ctx)
		return err == nil && slices.ContainsFunc(all, func(one api.Runner) bool { return one.Name == "r1" && one.State == api.RunnerPresent })
	})
	return r
}

// command returns a command of the runner's.
func (r *outpost) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), program, append([]string{"runner", "--dir", r.dir}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "HOME="+r.dir) // where nobody is known to git
	return cmd
}

// stop has the runner leave.
func (r *outpost) stop() {
	if r.cmd.ProcessState != nil {
		return
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	if err := r.cmd.Wait(); err != nil || r.t.Failed() {
		r.t.Errorf("the runner ends with %v:\n%s", err, r.said.String())
	}
}

// roleOf returns the box that leads, the home, or one that is neither, if there is one.
func (c *cluster) roleOf(what string) *member {
	c.t.Helper()
	var leads *member
	c.until("a box leads", func() bool {
		s, ok := c.home.status()
		for _, b := range c.boxes {
			if ok && b.name == s.Leader {
				leads = b
			}
		}
		return leads != nil
	})
	switch what {
	case "leader":
		return leads
	case "home":
		return c.home
	}
	i := slices.IndexFunc(c.boxes, func(b *member) bool { return b != leads && b != c.home })
	return c.boxes[i]
}

// others waits until the boxes but one have one that leads, and know that it is gone.
func (c *cluster) others(gone *member) {
	c.t.Helper()
	c.until("the others go on without "+gone.name, func() bool {
		return !slices.ContainsFunc(c.boxes, func(b *member) bool {
			if b == gone {
				return false
			}
			s, ok := b.status()
			return !ok || s.Leader == "" || s.Leader == gone.name ||
				!slices.ContainsFunc(s.Members, func(m api.MemberStatus) bool { return m.Name == gone.name && m.State == api.MemberNotReached })
		})
	})
}

// finish returns the run when it has ended or waits for a person, as the home says, whichever box leads.
func (c *cluster) finish() (last api.Run) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), wholeDelivery)
	defer cancel()
	c.within(wholeDelivery, "the run ends", func() bool {
		err := c.home.node.client.FollowRun(ctx, "R1", func(r api.Run) error {
			if last = r; r.State == api.RunWaiting {
				return errReached
			}
			return nil
		})
		return err == nil || errors.Is(err, errReached)
	})
	return last
}

// over holds ledger, agents' notes and git against each other, ends everything, and has each box's ledger verified.
func (c *cluster) over() {
	c.t.Helper()
	c.gone()
	c.tidied()
	where := map[string]int{}
	for _, e := range c.events() {
		var p work.Granted
		if e.Type != work.LeaseGranted && e.Type != work.ReviewStarted {
			continue
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			c.t.Fatal(err)
		}
		where[p.Runner]++
	}
	if where[""] == 0 || where["r1"] == 0 || len(where) != 2 {
		c.t.Errorf("agents worked at %v:\n%s", where, c.story())
	}
	c.whole()
	for _, b := range c.boxes {
		refs := b.git("for-each-ref", "--format=%(refname)")
		if b != c.home && refs != "refs/heads/trunk" {
			c.t.Errorf("%s is not the run's home, and has the refs\n%s", b.name, refs)
		}
	}
	c.runner.stop()
	for _, b := range c.boxes {
		if b.node.stop(); b.node.cmd.ProcessState.ExitCode() != 0 {
			c.t.Errorf("%s ends with %v:\n%s", b.name, b.node.cmd.ProcessState, b.node.said.String())
		}
	}
	for _, b := range c.boxes {
		b.must("ledger", "verify")
		if left := b.leftovers(); len(left) > 0 {
			c.t.Errorf("processes are left: %v", left)
		}
	}
	c.sound(0)
	if left := living(func(p proc) bool { return strings.Contains(p.line, c.runner.dir) }); len(left) > 0 {
		c.t.Errorf("of the runner are left %v", left)
	}
}

// Three boxes deliver a plan together, by agents at its home and on another machine, while one of them is killed and comes back: the one that
// leads, the home or the third. Nothing is lost, done twice or left over.
func TestClusterDelivery(t *testing.T) {
	seed := *clusterSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-clusterseed %d", seed)
	for i := range *clusterKills {
		chance := rand.New(rand.NewPCG(seed, uint64(i)))
		what := []string{"leader", "home", "third"}[(seed+uint64(i))%3]
		home, after, waits := chance.IntN(3), 1+chance.Uint64N(46), chance.IntN(2) == 0
		t.Run(fmt.Sprintf("%d %s %d", i, what, after), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, home)
			before := uint64(len(c.events()))
			c.home.node.begin(c.world)
			c.home.node.reach(before + after)
			b := c.roleOf(what)
			t.Logf("the home is %s; %s is killed, and starts again at once: %v", c.home.name, b.name, !waits)
			b.node.kill()
			if waits {
				c.others(b)
			}
			b.start()
			c.completed(c.finish())
			c.over()
		})
	}
}
