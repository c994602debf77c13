package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/service"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Keep one ledger by three boxes, so that work goes on when a machine dies",
		Long: `Three boxes on three machines can keep one ledger: any one of them may die, and the other two go on. Most people
do not need it: one box, and a backup, is enough (docs/cluster.md says who does).

init makes a box the first one of a cluster; invite prints a line there, and join takes it on another machine. Each box is
started with signalbox up, and listens where the others reach it. status shows how they are.`,
		Example: `  signalbox cluster init --name a --address 192.0.2.1:7443
  signalbox cluster invite b
  signalbox cluster join 'sbc1_…' --address 192.0.2.2:7443
  signalbox cluster status`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.clusterInitCommand(), a.clusterInviteCommand(), a.clusterJoinCommand(), a.clusterStatusCommand(), a.clusterLeaveCommand(), a.clusterReplaceCommand(), a.clusterRejoinCommand())
	return cmd
}

var errNoName = errors.New("the name is empty: `signalbox cluster status` has those of the boxes")

// rests says that a box of a cluster does not run in a directory; "" if none is there.
func rests(dir string) string {
	m, err := membership.Read(dir)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("this is the box %s of a cluster, and it does not run: start it with `signalbox up`. At another box `signalbox cluster status` shows the others", m.Name)
}

// stopped are the options of a box that does not run.
func (a *app) stopped() (box.Options, config.Config, error) {
	c, err := a.settings("")
	if err != nil {
		return box.Options{}, c, err
	}
	if c.Archive.Mirror != "" {
		return box.Options{}, c, errors.New("archive.mirror is set, and a box of a cluster has none, as the other boxes have what it has: take it out of the settings")
	}
	return box.Options{Dir: box.Dir(a.dir), Archive: c.Archive.Dir, Segments: c.Archive.Segments, Version: command.BuildVersion().Version, Logger: a.logger(), Patience: openPatience}, c, nil
}

// withAddresses has a command take the addresses of this box. It returns what gives these, or where the settings have the box listen if none were given, and
// the options of the box, which does not run.
func (a *app) withAddresses(cmd *cobra.Command) func() (box.Options, []string, error) {
	var given []string
	cmd.Flags().StringSliceVar(&given, "address", nil, "where the other boxes reach this one (`HOST:PORT`), if not where the settings have it listen; more than once, or with commas")
	return func() (box.Options, []string, error) {
		o, c, err := a.stopped()
		if err != nil {
			return o, nil, err
		}
		all, from := given, "--address"
		if len(all) == 0 && c.Listen != "" && c.Listen != config.DefaultListen {
			all, from = []string{c.Listen}, "listen in signalbox.yaml, without --address"
		}
		if len(all) == 0 {
			return o, nil, a.UsageError("name where the other boxes reach this one: --address HOST:PORT, or listen in signalbox.yaml")
		}
		if err := access.CheckAddresses(all); err != nil {
			return o, nil, a.UsageError("%s: %w", from, err)
		}
		return o, all, nil
	}
}

func (a *app) clusterInitCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "init --name NAME",
		Short: "Make this box the first one of a cluster",
		Long: `Init makes the ledger of a box that stands alone that of the first box of a cluster; one that is not there is begun. The box
must not run. Nothing else changes: it goes on alone, started with signalbox up --listen ADDRESS, until others join it.

With --json it prints id, name and members, as cluster.json in the box's directory has them.`,
		Example: `  signalbox cluster init --name a --address 192.0.2.1:7443`,
		Args:    none,
	}
	addresses := a.withAddresses(cmd)
	cmd.Flags().StringVar(&name, "name", "", "the box's `NAME` in the cluster: a-z, 0-9, '.', '_' and '-'")
	require(cmd, "name")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := access.CheckName(name); err != nil {
			return a.UsageError("--name: %w", err)
		}
		o, at, err := addresses()
		if err != nil {
			return err
		}
		m, err := service.InitCluster(cmd.Context(), o, name, at)
		if err != nil {
			return a.badValue(a.mustStop(err))
		}
		if i := slices.IndexFunc(at, httpapi.Loopback); i >= 0 { // three boxes on one machine are for trials
			fmt.Fprintf(a.Err, "%s: only boxes on this machine reach this one at %s\n", a.PaintErr(command.Yellow, "note"), at[i])
		}
		if a.JSON {
			return command.WriteJSON(a.Out, m)
		}
		fmt.Fprintf(a.Out, "%s is the first box of a cluster, at %s\n", m.Name, strings.Join(at, ", "))
		fmt.Fprintf(a.Err, "next: `signalbox up --listen %s` starts it, and `signalbox cluster invite NAME` lets another box in\n", at[0])
		return nil
	}
	return cmd
}

// mustStop says of a box that runs that it has to be stopped first.
func (a *app) mustStop(err error) error {
	if errors.Is(err, box.ErrLocked) {
		return fmt.Errorf("%w: stop it first (Ctrl-C where it runs, or SIGTERM)", err)
	}
	return err
}

func (a *app) clusterInviteCommand() *cobra.Command {
	var q api.NewMember
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "invite NAME",
		Short: "Let another box in: print a line for its machine, this once",
		Long: `Invite prints a line with which a box on another machine joins the cluster (signalbox cluster join), once. Whoever has the line
first gets the ledger's key and tokens: give it to nobody else. A cluster has three boxes; with two, the second one
only follows, until there is a third.

With --json it prints name, line and expires_at.`,
		Example: `  signalbox cluster invite b
  signalbox cluster invite b | ssh b.example.org signalbox cluster join - --address b.example.org:7443`,
		Args: one("a name for the box"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Name = args[0]
			return a.inviteBox(cmd, q, ttl)
		},
	}
	a.inviteFlags(cmd, &q, &ttl)
	return cmd
}

func (a *app) inviteFlags(cmd *cobra.Command, q *api.NewMember, ttl *time.Duration) {
	cmd.Flags().DurationVar(ttl, "ttl", access.InvitationTTL, fmt.Sprintf("how long the line is good, up to %v (`DURATION`)", access.MaxInvitationTTL))
	cmd.Flags().StringSliceVar(&q.Address, "contact", nil, "where the box that joins finds this cluster (`HOST:PORT`), if not at the address of the box that leads")
}

func (a *app) inviteBox(cmd *cobra.Command, q api.NewMember, ttl time.Duration) error {
	if ttl < access.MinTTL || ttl > access.MaxInvitationTTL {
		return a.UsageError("--ttl %v: %w", ttl, access.ErrBadInviteTTL)
	}
	q.TTLMS = ttl.Milliseconds()
	made, err := ask(cmd.Context(), a, a.token, func(c *api.Client) (api.Invitation, error) { return c.InviteMember(cmd.Context(), q) })
	if err != nil {
		return a.badValue(err)
	}
	if a.JSON {
		return command.WriteJSON(a.Out, made)
	}
	fmt.Fprintln(a.Out, made.Line)
	fmt.Fprintf(a.Err, "%s may join %s, once. On its machine: signalbox cluster join LINE --address HOST:PORT\n", made.Name, until(&made.ExpiresAt))
	return nil
}

func (a *app) clusterReplaceCommand() *cobra.Command {
	var q api.NewMember
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "replace NAME",
		Short: "Give a box's place to a new one, whose machine or disk is gone",
		Long: `Replace prints a line, as invite does, with which a new box joins in the place of one that is lost. When it has joined, the lost one is
no member any more, whatever becomes of it. The new one has the same name, or that of --as.

With --json it prints name, line and expires_at.`,
		Example: `  signalbox cluster replace c
  signalbox cluster replace c --as d`,
		Args: one("the name of a box of the cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return a.UsageError("%w", errNoName)
			}
			q.Replaces, q.Name = args[0], cmp.Or(q.Name, args[0])
			return a.inviteBox(cmd, q, ttl)
		},
	}
	a.inviteFlags(cmd, &q, &ttl)
	cmd.Flags().StringVar(&q.Name, "as", "", "another `NAME` for the new box")
	return cmd
}

func (a *app) clusterJoinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "join LINE",
		Short: "Make this machine a box of a cluster, with the line from there",
		Long: `Join makes a key in the box's directory, in which there is no ledger yet, and redeems the line that signalbox cluster invite printed.
The box gets the ledger's key and tokens; the ledger itself it fetches when it is started (signalbox up --listen ADDRESS).
- reads the line from standard input, where other users of this machine do not see it.

With --json it prints id, name and members, as cluster.json in the box's directory has them.`,
		Example: `  signalbox cluster join 'sbc1_…' --address 192.0.2.2:7443`,
		Args:    one("the line that `signalbox cluster invite` printed"),
	}
	addresses := a.withAddresses(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, at, err := addresses()
		if err != nil {
			return err
		}
		line, err := a.lineOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if err := a.reachable(line, at); err != nil {
			return err
		}
		m, err := service.JoinCluster(cmd.Context(), o, line, at)
		if err != nil {
			return a.badValue(a.mustStop(joining{err}))
		}
		return a.sayJoined(m)
	}
	return cmd
}

// reachable refuses an address of this machine alone, unless the cluster is found at one, too.
func (a *app) reachable(line string, at []string) error {
	i, err := access.ParseClusterInvitation(line)
	if err != nil || slices.ContainsFunc(i.Box, httpapi.Loopback) { // the line is refused when it is redeemed
		return nil
	}
	if i := slices.IndexFunc(at, httpapi.Loopback); i >= 0 {
		return a.UsageError("the other boxes do not reach this one at %s, which is each machine's own: name an address that they reach (--address)", at[i])
	}
	return nil
}

// misplaced says that the others look for a box at other ports than the one where it listens; "" if they do not, or it is in no cluster. Something between may
// pass on what comes there.
func misplaced(dir string, secure net.Addr) string {
	m, err := membership.Read(dir)
	if err != nil {
		return ""
	}
	known, listens := m.Self().Addresses, port(secure.String())
	if slices.ContainsFunc(known, func(at string) bool { return port(at) == listens }) {
		return ""
	}
	all := strings.Join(known, ", ")
	return fmt.Sprintf("it listens at %s, and the other boxes look for it at %s: if nothing there passes that on, start it with --listen %s; or give it another address (`signalbox cluster replace %s` at another box, and join with --address)", secure, all, known[0], m.Name)
}

func port(address string) string {
	_, p, _ := net.SplitHostPort(address) // who listens has one, and members are known by one
	return p
}

func (a *app) sayJoined(m membership.Membership) error {
	if a.JSON {
		return command.WriteJSON(a.Out, m)
	}
	fmt.Fprintf(a.Out, "%s has joined the cluster, as member %d\n", safetext.Escape(m.Name), m.ID)
	fmt.Fprintf(a.Err, "next: `signalbox up --listen %s` starts it, and it fetches the ledger; `signalbox cluster status` says how far it is\n", safetext.Escape(m.Self().Addresses[0]))
	return nil
}

func (a *app) clusterStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the boxes of the cluster: who leads, and how far each is",
		Long: `Status shows the boxes of the cluster as the one in the directory knows them. The box that leads decides; the others pass requests on to it.
A voter counts for what is stored: two of three are enough. A learner gets the ledger, and does not count yet.

With --json it prints ledger, self, term, leader, committed, level, and members: an array of name, id, role (voter, learner, leaving or
invited), size and root of the last checkpoint, lag (events that it does not have yet), level, state (leads, follows, fetches,
not reached; expires for an invitation), addresses, version, problem and expires_at. It is 1 if no box leads, or the one that did is not reached.`,
		Example: `  signalbox cluster status
  signalbox cluster status --json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := ask(cmd.Context(), a, a.token, func(c *api.Client) (api.ClusterStatus, error) { return c.Cluster(cmd.Context()) })
			if err != nil {
				return err
			}
			if a.JSON {
				err = command.WriteJSON(a.Out, s)
			} else {
				a.showCluster(s)
			}
			if err == nil && (s.Leader == "" || s.LeaderLost()) {
				err = command.Exit(command.ExitFailure)
			}
			return err
		},
	}
}

func (a *app) showCluster(s api.ClusterStatus) {
	switch {
	case s.Leader == "":
		fmt.Fprintln(a.Out, a.Paint(command.Red, "no box leads")+": too few of them answer each other; nothing is recorded until they do")
	case s.LeaderLost():
		fmt.Fprintf(a.Out, "%s: another box leads soon, if enough of them answer each other; nothing is recorded until then\n", a.Paint(command.Red, safetext.Escape(s.Leader)+" led, and is not reached"))
	default:
		fmt.Fprintf(a.Out, "%s leads; %d events\n", a.Paint(command.Bold, safetext.Escape(s.Leader)), s.Committed)
	}
	t := command.NewTable("NAME", "ID", "ROLE", "STATE", "SIGNED", "LAG", "LEVEL", "ADDRESS", "")
	for _, m := range s.Members {
		about := safetext.Escape(m.Problem)
		id, size, lag, lvl := strconv.FormatUint(m.ID, 10), strconv.FormatUint(m.Size, 10), strconv.FormatUint(m.Lag, 10), strconv.Itoa(m.Level)
		if m.State == api.MemberNotReached || m.Role == api.RoleInvited {
			size, lag, lvl = "-", "-", "-"
		}
		if m.Role == api.RoleInvited {
			id, about = "-", "may join "+until(&m.Expires)
		}
		t.Add(safetext.Escape(m.Name), id, m.Role, m.State, size, lag, lvl, words(m.Addresses), about)
	}
	t.Write(a.Out, a.Columns())
}

func (a *app) clusterLeaveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "leave [NAME]",
		Short: "Take a box out of the cluster; or have the last one stand alone",
		Long: `Leave takes a box out of the cluster: the one in the directory, or the one that is named. If there is an invitation for that name, it withdraws that
instead, and says so. The box that has left stops, and does not come back with what it has; its directory can go. Of three boxes the two that stay both
vote: both have to be there then, so let a third in, or take out one more.

The last box can't leave so: stop it, and leave, in its directory, makes it a box that stands alone, as it was before.

With --json it prints what cluster status has then, and withdrawn if it was an invitation.`,
		Example: `  signalbox cluster leave c`,
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "" {
				return a.UsageError("%w", errNoName)
			}
			m, err := membership.Read(a.dir)
			if err != nil && len(args) == 0 {
				return err
			}
			if len(args) == 0 && !a.running() {
				o, _, err := a.stopped()
				if err == nil {
					err = service.LeaveCluster(cmd.Context(), o)
				}
				if err != nil {
					return a.mustStop(err)
				}
				if a.JSON {
					return command.WriteJSON(a.Out, api.ClusterStatus{Members: []api.MemberStatus{}})
				}
				fmt.Fprintln(a.Out, "the box stands alone; `signalbox up` starts it")
				return nil
			}
			name := m.Name
			if len(args) > 0 {
				name = args[0]
			}
			s, err := ask(cmd.Context(), a, a.token, func(c *api.Client) (api.ClusterStatus, error) { return c.LeaveCluster(cmd.Context(), name) })
			if err != nil {
				return a.badValue(err)
			}
			if a.JSON {
				return command.WriteJSON(a.Out, s)
			}
			fmt.Fprintln(a.Out, outWords(name, s))
			if left := votersLeft(s, name); len(left) == 2 && !s.Withdrawn {
				fmt.Fprintf(a.Err, "%s: %s and %s both vote: if either is not there nothing is recorded. Let a third box in (`signalbox cluster invite NAME`), or take one more out (`signalbox cluster leave NAME`)\n",
					a.PaintErr(command.Yellow, "note"), safetext.Escape(left[0]), safetext.Escape(left[1]))
			}
			return nil
		},
	}
}

// outWords says what a leave has done, by the answer to it.
func outWords(name string, s api.ClusterStatus) string {
	shown := safetext.Escape(name)
	if !s.Withdrawn {
		return shown + " is out of the cluster"
	}
	text := "the invitation for " + shown + " is withdrawn"
	if slices.ContainsFunc(s.Members, func(m api.MemberStatus) bool { return m.Name == name && m.Role != api.RoleInvited }) {
		text += fmt.Sprintf("; the box %s is still in the cluster: call it again to take that out", shown)
	}
	return text
}

// votersLeft are the boxes that vote once one has left.
func votersLeft(s api.ClusterStatus, gone string) (left []string) {
	for _, m := range s.Members {
		if m.Role == api.RoleVoter && m.Name != gone {
			left = append(left, m.Name)
		}
	}
	return left
}

func (a *app) clusterRejoinCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rejoin",
		Short: "Have a box whose disk was lost, emptied or put back come back, under a new id",
		Long: `Rejoin has the box in the directory, which does not run, come back under a new id and with a new key. Its old ledger, if there is one, is set aside, and
it fetches the ledger anew from the others when it is started. It needs cluster.json and tls.key in the directory; without them give its place
to a new box, with signalbox cluster replace at another one.

With --json it prints id, name and members, as cluster.json in the box's directory has them.`,
		Example: `  signalbox cluster rejoin`,
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, _, err := a.stopped()
			if err != nil {
				return err
			}
			m, aside, err := service.RejoinCluster(cmd.Context(), o)
			if err != nil {
				return a.mustStop(rejoining{err})
			}
			for _, place := range aside {
				fmt.Fprintf(a.Err, "%s was set aside, and is not needed any more\n", safetext.Escape(place))
			}
			return a.sayJoined(m)
		},
	}
}
