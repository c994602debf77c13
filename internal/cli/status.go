package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/tui"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// status is a run, and the box that it is in.
type status struct {
	*api.Run                  // nil if there is none
	Box      api.BoxStatus    `json:"box"`
	Ledger   api.LedgerStatus `json:"ledger"`
	ToCheck  *api.ToCheck     `json:"to_check,omitempty"` // work by hand that the box checks
	Settings *settingsStatus  `json:"settings,omitempty"` // that the box goes by
	Messages *api.Messages    `json:"messages,omitempty"` // that people were not told yet
	Cluster  *api.InCluster   `json:"cluster,omitempty"`  // of the box
	Claims   []claimed        `json:"claims,omitempty"`
	Old      *old             `json:"old,omitempty"` // it may be, as no box of the cluster leads
	inbox    []api.Question   // of all runs
}

// old is how old may be what a box of a cluster has, if none leads.
type old struct {
	AgeMS *int64 `json:"age_ms,omitempty"` // since the box last heard of one that leads; left out if it has not since it was started
}

// words say it to a person.
func (o old) words() string {
	since := "this box has heard of none that leads since it was started"
	if o.AgeMS != nil {
		since = "this box last heard of one " + evidence.Length((time.Duration(*o.AgeMS) * time.Millisecond).Round(time.Second)) + " ago"
	}
	return "no box of the cluster leads: nothing is recorded until one does (`signalbox cluster status`). This is what the box here has, and it may be old: " + since
}

// settingsStatus is which settings a box that runs goes by.
type settingsStatus struct {
	api.Settings
	Changed string `json:"changed,omitempty"` // that its file has others now, in words
}

// claimed is what who worked on a task says of it, which nobody has checked.
type claimed struct {
	Work string `json:"work"`
	work.Statement
}

func (a *app) statusCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show how a run is, and the box",
		Example: `  signalbox status
  signalbox status R2
  signalbox status --format agent`,
		Long: `Status shows a run as it is now: the latest, or the one that is named. Below it stands how many questions of
other runs, and about work by hand, wait for you, which work by hand the box runs the checks on, whether a box runs and can write, how many events are in the ledger, and how far the box, which
looks through them again and again, is with that; and if the settings were changed since the box started, or somebody whom
they name (notify) could not be told of something. Of a box in a cluster it says which one it is, who leads, and how many answer. It does not need a box to be running,
unless that is in a cluster. If no box of the cluster leads, it shows what this one has, says how old that may be, and is 1.

Of each task that is checked, reviewed or about to be merged, status shows the first line of what who worked on it
claims; signalbox show has all of it.

With --json it prints the run, if there is one: unprotected says in words which of its verdicts could be
forged, and each task has a protection, held or none. Beside it are box (writable, and the reason if it is
not; runners, why none of those that have joined reaches it), ledger (events, scrubbed, scrubbed_since), to_check (work by hand that the box runs the checks on: work, branch, more),
settings (those that a box that runs goes by: file, digest, since, and changed if the file has others now), messages (what people
were not told yet, if the settings have somebody told: undelivered, since, error, dropped), cluster (of a box that is in one: self, leader, boxes, answer, problem), old (what is shown may be, as no box of the cluster leads: age_ms, since the box last heard of one that does) and claims (work, by, at, text and more, as in work show).

` + agentHelp,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := a.forAgent(format)
			if err != nil {
				return err
			}
			running := a.running()
			s, err := look(cmd.Context(), a, func(c *api.Client) (status, error) { return statusOf(cmd.Context(), c, args) })
			if !agent && api.NoLeader(err) {
				s, err = a.oldStatus(cmd.Context(), args)
			}
			if agent {
				var reply any
				if err == nil {
					reply, err = a.statusForAgent(s, running, time.Now())
				}
				return a.tellAgent(reply, err)
			}
			if err != nil {
				return err
			}
			switch {
			case !running: // a box of this command's own has gone by what the file has
				s.Settings = nil
			case s.Settings != nil:
				s.Settings.Changed = a.changedSettings(&s.Settings.Settings)
			}
			if a.JSON {
				return errors.Join(command.WriteJSON(a.Out, s), s.exit())
			}
			if s.Old != nil {
				fmt.Fprintln(a.Out, a.Paint(command.Yellow, s.Old.words()))
				s.Box.Writable, s.Box.Reason = false, "the box runs, and records nothing until a box of its cluster leads"
			}
			a.showRun(s.Run, running)
			a.showClaims(s.Claims)
			a.showElsewhere(s)
			a.showToCheck(s.ToCheck, running)
			a.showBox(s.Box, s.Ledger, running)
			a.showInCluster(s.Cluster)
			a.showMessages(s.Messages)
			if s.Settings != nil && s.Settings.Changed != "" {
				fmt.Fprintln(a.Out, a.Paint(command.Yellow, s.Settings.Changed))
			}
			return s.exit()
		},
	}
	formatFlag(cmd, &format)
	return cmd
}

// oldStatus is what the box of a cluster has, of which none leads.
func (a *app) oldStatus(ctx context.Context, args []string) (status, error) {
	var age api.Age
	s, err := look(ctx, a, func(c *api.Client) (status, error) { return statusOf(ctx, c.Stale(&age), args) })
	s.Old = &old{}
	if age.Known {
		ms := age.Age.Milliseconds()
		s.Old.AgeMS = &ms
	}
	return s, err
}

// exit is the exit code of the command that has shown it.
func (s status) exit() error {
	if s.Old != nil {
		return errQuiet
	}
	return nil
}

func statusOf(ctx context.Context, c *api.Client, args []string) (status, error) {
	r, err := latest(ctx, c, args)
	if err != nil && !errors.Is(err, errNoRuns) {
		return status{}, err
	}
	s := status{Run: &r}
	if err != nil {
		s.Run = nil
	}
	b, err := c.Status(ctx)
	if err != nil {
		return s, err
	}
	s.Box, s.Ledger, s.ToCheck, s.Messages, s.Cluster = b.Box, b.Ledger, b.ToCheck, b.Messages, b.Cluster
	if b.Settings != nil {
		s.Settings = &settingsStatus{Settings: *b.Settings}
	}
	if s.inbox, err = c.Questions(ctx); err != nil || s.Run == nil {
		return s, err
	}
	for _, t := range r.Tasks {
		if !slices.Contains(claiming, t.Phase) {
			continue
		}
		w, err := c.Work(ctx, t.Work)
		if err != nil {
			return s, err
		}
		if w.Claim != nil {
			s.Claims = append(s.Claims, claimed{t.Work, *w.Claim})
		}
	}
	return s, nil
}

// claiming are the phases in which somebody has said that a task is done, and others have not all agreed.
var claiming = []agentsig.Phase{agentsig.PhaseCIPending, agentsig.PhaseReadyForReview, agentsig.PhaseReview, agentsig.PhaseReadyForMerge}

// showClaims prints a line of what is claimed of each task.
func (a *app) showClaims(all []claimed) {
	if len(all) > 0 {
		fmt.Fprintln(a.Out, "\nclaimed, and nobody has checked it")
	}
	for _, c := range all {
		first, _, _ := strings.Cut(evidence.StatementWords(c.Statement), "\n")
		fmt.Fprintf(a.Out, "  %s  %s: %s\n", c.Work, safetext.Escape(c.By), safetext.Escape(first))
	}
}

// statusNotices is how much of what happened last status shows.
const statusNotices = 8

func (a *app) showRun(r *api.Run, running bool) {
	if r == nil {
		fmt.Fprintln(a.Out, errNoRuns)
		return
	}
	o := a.frame()
	o.Height, o.Whole = 1000, !a.OutTTY
	shown := *r
	shown.Notices = shown.Notices[max(len(shown.Notices)-statusNotices, 0):]
	for _, line := range tui.Frame(shown, o) {
		fmt.Fprintln(a.Out, line)
	}
	if r.State == api.RunStopped || r.State == api.RunEnding && !running {
		fmt.Fprintln(a.Out, "\nno box is running: `signalbox run` goes on")
	}
}

// showElsewhere says how many questions wait in runs that are not shown, and about work by hand.
func (a *app) showElsewhere(s status) {
	runs, byHand := 0, 0
	for _, q := range s.inbox {
		switch {
		case q.Run == "":
			byHand++
		case s.Run == nil || q.Run != s.ID:
			runs++
		}
	}
	var all []string
	if runs > 0 {
		all = append(all, a.Paint(command.Bold, english.Count(runs, "question"))+" of other runs")
	}
	if byHand > 0 {
		all = append(all, a.Paint(command.Bold, english.Count(byHand, "question"))+" about work by hand")
	}
	if len(all) > 0 {
		fmt.Fprintf(a.Out, "\n%s for you: signalbox inbox\n", strings.Join(all, " and "))
	}
}

// showToCheck says which work by hand the box runs the checks on.
func (a *app) showToCheck(c *api.ToCheck, running bool) {
	if c == nil {
		return
	}
	more := ""
	if c.More > 0 {
		more = fmt.Sprintf(", and then on %s", english.Count(c.More, "more item"))
	}
	does := "the box runs the checks"
	if !running {
		does = "when a box runs (signalbox up), it runs the checks"
	}
	fmt.Fprintf(a.Out, "\n%s on %s (branch %s)%s\n", does, safetext.Escape(c.Work), safetext.Escape(c.Branch), more)
}

// showInCluster says how the box's cluster is, if it is in one.
func (a *app) showInCluster(c *api.InCluster) {
	if c == nil {
		return
	}
	line := safetext.Escape(c.Words())
	if c.Problem != "" {
		line = a.Paint(command.Yellow, line+"; "+safetext.Escape(c.Problem))
	}
	fmt.Fprintln(a.Out, line)
}

// showMessages says what people could not be told.
func (a *app) showMessages(m *api.Messages) {
	if m == nil {
		return
	}
	if m.Error != "" {
		fmt.Fprintln(a.Out, a.Paint(command.Yellow, fmt.Sprintf("%s could not be delivered, since %s: %s", english.Count(m.Undelivered, "message"), stamp(m.Since), safetext.Escape(m.Error))))
	}
	if m.Dropped > 0 {
		fmt.Fprintf(a.Out, "%s given up\n", were(m.Dropped, "message"))
	}
}

func (a *app) showBox(b api.BoxStatus, l api.LedgerStatus, running bool) {
	can := "the box runs, and can write"
	if !running {
		can = "no box is running"
	}
	if !b.Writable {
		can = a.Paint(command.Red, safetext.EscapeLines(b.Reason))
	}
	verified := ""
	switch {
	case l.ScrubbedSince.IsZero():
	case l.Scrubbed >= l.Events:
		verified = ", all found whole since " + stamp(l.ScrubbedSince)
	default:
		verified = fmt.Sprintf("; the box checks again and again that they are whole: %d of them since %s", l.Scrubbed, stamp(l.ScrubbedSince))
	}
	fmt.Fprintf(a.Out, "\n%s; %s in the ledger%s\n", can, english.Count(int(l.Events), "event"), verified)
	if running && b.Runners != "" {
		fmt.Fprintln(a.Out, a.Paint(command.Yellow, b.Runners))
	}
}
