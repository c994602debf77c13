package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/safetext"
)

// amendFirst has a run that delivers another version of a plan amended where no box runs yet, or the user choose: this process is
// the box afterwards, and would begin with agents for what the plan does not ask any more. It returns the run, if it was amended.
func (a *app) amendFirst(ctx context.Context, c config.Config, q *api.StartRun) (amended api.Run, err error) {
	if _, err := box.Dir(a.dir).Verifier(); q.Path == "" || q.Beside || len(c.Agents) == 0 || a.running() || err != nil {
		return amended, nil // what is wrong with the box is said when it is opened
	}
	return withBox(ctx, a, c, func(client *api.Client) (r api.Run, err error) {
		if _, err := a.chooseVersion(ctx, client, q); err != nil || !q.Amend {
			return r, err
		}
		return client.Deliver(ctx, *q)
	})
}

// chooseVersion finds out whether another version of a plan is being delivered, and has the user choose what
// becomes of it. It returns the run that has delivered this version before, if one has.
func (a *app) chooseVersion(ctx context.Context, client *api.Client, q *api.StartRun) (before string, err error) {
	if q.Path == "" || q.Amend || q.Beside {
		return "", nil
	}
	look := *q
	look.DryRun = true
	r, err := client.Deliver(ctx, look)
	if err != nil || r.Amends == nil {
		return r.Delivered, err
	}
	a.sayAmendment(a.Err, *r.Amends)
	if !a.InTTY || !a.OutTTY || a.JSON {
		return "", a.UsageError("%s delivers another version of this plan: --amend has it go on with this one, --beside delivers this one too", r.Amends.Run)
	}
	answer, err := a.typed(ctx, "amend it, deliver this one beside it, or stop? [amend/beside/STOP]")
	if err != nil {
		answer = "stop"
	}
	switch answer {
	case "a", "amend":
		q.Amend = true
	case "b", "beside":
		q.Beside = true
	default:
		fmt.Fprintln(a.Out, "nothing was changed")
		return "", errQuiet
	}
	return "", nil
}

// sayAmendment says what another version of a plan makes of a run.
func (a *app) sayAmendment(to io.Writer, m api.Amendment) {
	fmt.Fprintf(to, "%s delivers another version of this plan:\n", m.Run)
	for _, one := range []struct {
		what string
		ids  []string
	}{{"new", m.New}, {"changed", m.Changed}, {"gone", m.Gone}} {
		if len(one.ids) > 0 {
			fmt.Fprintf(to, "  %-8s %s\n", one.what, safetext.Escape(strings.Join(one.ids, ", ")))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.Renamed)) {
		if slices.Contains(m.New, m.Renamed[id]) {
			fmt.Fprintf(to, "  %s was done as it was before: it is done again, as %s\n", safetext.Escape(id), safetext.Escape(m.Renamed[id]))
		}
	}
	fmt.Fprintf(to, "  %s completed, and stay so\n", english.Count(m.Done, "task"))
}
