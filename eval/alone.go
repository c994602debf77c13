package main

import (
	"context"
	"crypto/rand"
	_ "embed" // for alone.md
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// aloneTemplate is what an agent is told that works alone: what a developer of Signalbox is told, less what is not so here.
//
//go:embed alone.md
var aloneTemplate string

// hangs is how long a program may go on after it has ended its turn.
const hangs = 30 * time.Second

// lone is an agent that works alone, and what is known of it.
type lone struct {
	agent       agent.Adapter
	may         delivery.Spend
	used, using delivery.Usage
	complaints  tail
	state       state // why it was ended, or has failed; empty if neither
	detail      string
}

// alone has one agent do a task, by the adapter, the permissions and the signals that a developer of Signalbox has. What it says last is
// its claim. If it says nothing that can be read, it is asked for its signal once, in the same conversation.
func (e evaluation) alone(ctx context.Context, at room) (d delivered, err error) {
	private := filepath.Join(at.dir, "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		return d, err
	}
	work := at.task.work()
	l := lone{may: e.may}
	var env []string
	for name, value := range at.env {
		env = append(env, name+"="+value)
	}
	l.agent, err = agent.New(agent.Spec{
		Agent: agent.Config{Name: e.program.name, Adapter: e.program.adapter, Command: e.program.command}.WithDefaults(),
		Dir:   at.repo, Role: agentsig.RoleDeveloper, Task: work.ID, Env: env,
		Allow: []agent.Permission{agent.Edit, agent.Execute, agent.Fetch}, GitWrites: []string{filepath.Join(at.repo, ".git")},
		Answer: hangs, Grace: grace, Left: l.left, Marker: "eval-" + rand.Text(), Private: private,
		Started: func(int, string) error { return nil },
	})
	if err != nil {
		return d, err
	}
	voice := prompt.Voice{Subject: work.ID, Nonce: rand.Text(), Hand: true}
	text, err := prompt.First(agentsig.RoleDeveloper, aloneTemplate, voice, prompt.Data{Plan: at.task.plan.Title, Task: work, Checks: at.task.plan.Checks})
	if err != nil {
		return d, err
	}
	said, err := l.turn(ctx, 1, text, voice)
	if err == nil && l.state == "" && !said.OK() {
		if text, err = prompt.Further(delivery.Prompt{Ask: delivery.AskSignal}, agentsig.RoleDeveloper, voice); err == nil {
			said, err = l.turn(ctx, 2, text, voice)
		}
	}
	l.end()
	d = delivered{state: l.state, usage: l.used, detail: l.detail}
	if err != nil {
		return d, err
	}
	if d.state == "" || said.OK() && d.state == stateFailed { // as in a session, its word counts however its program ends after it
		d.state, d.detail = claim(said.Kind), ""
	}
	after := context.WithoutCancel(ctx) // what it has done by the end of its time is its result
	d.repo = filepath.Join(at.dir, "left")
	if d.commit, err = taken(after, at.repo, d.repo); err != nil && d.detail == "" { // what it claims is its claim all the same
		d.detail = err.Error()
	}
	return d, nil
}

// taken commits the files that an agent left, to a new repository: its own has the settings, the index and the hooks that it chose,
// or is none any more.
func taken(ctx context.Context, files, repo string) (commit string, err error) {
	if err := os.Mkdir(repo, 0o700); err != nil {
		return "", err
	}
	if _, err := git(ctx, repo, "init", "-q", "--bare"); err != nil {
		return "", err
	}
	there := []string{"--git-dir=" + repo, "--work-tree=" + files, "-c", "user.name=Eval", "-c", "user.email=eval@example.org"}
	for _, args := range [][]string{{"add", "-A", "--force"}, {"commit", "-q", "--allow-empty", "-m", "What was left"}} {
		if _, err := git(ctx, files, slices.Concat(there, args)...); err != nil {
			return "", err
		}
	}
	return git(ctx, repo, "rev-parse", "HEAD")
}

// claim is what an agent's last signal says.
func claim(k agentsig.Kind) state {
	switch k {
	case agentsig.KindReadyForReview:
		return stateDone
	case agentsig.KindDivineClarification, agentsig.KindExpertRequest:
		return stateAsks
	case agentsig.KindTaskIncomplete, agentsig.KindInfraBlocked:
		return stateCant
	}
	return stateSilent
}

// turn tells the agent something, and hears it until its turn is over.
func (l *lone) turn(ctx context.Context, n int, text string, v prompt.Voice) (agentsig.Verdict, error) {
	heard := agentsig.NewScanner(agentsig.Options{Role: agentsig.RoleDeveloper, Task: v.Subject, Nonce: v.Nonce}, agentsig.Sink{})
	if err := l.agent.Prompt(n, text); err != nil {
		return heard.Close(), err
	}
	over := false
	var hung <-chan time.Time
	done := ctx.Done()
	for {
		select {
		case e := <-l.agent.Events():
			switch e.Kind {
			case agent.Said:
				_, _ = heard.WriteFrom(e.Source, e.Text) // it fails only when closed
			case agent.Paused:
				heard.Flush()
			case agent.TurnOver:
				if l.agent.Traits().Stays {
					return heard.Close(), nil
				}
				if over = true; e.Open == 0 {
					hung = time.After(hangs)
				}
			case agent.Stopped:
				l.agent.Clear()
				if !over && e.Exit != 0 && l.state == "" {
					l.state, l.detail = stateFailed, string(l.complaints.kept)
				}
				return heard.Close(), nil
			default:
				l.take(e)
			}
		case <-done:
			done = nil
			l.stop(stateTime, "")
		case <-hung:
			hung = nil
			l.agent.End()
		}
	}
}

// take takes what is not said.
func (l *lone) take(e agent.Event) {
	switch e.Kind {
	case agent.Complained:
		_, _ = l.complaints.Write(e.Text)
	case agent.Used:
		l.used.Add(e.Usage)
		l.using = delivery.Usage{}
		l.spend()
	case agent.Using:
		if e.Usage.Check() == nil {
			l.using = e.Usage
		}
		l.spend()
	case agent.Failed:
		if e.Spent {
			l.stop(stateBudget, string(e.Text))
		} else {
			l.stop(stateFailed, string(e.Text))
		}
	}
}

// stop ends the agent for a reason. The first one counts.
func (l *lone) stop(s state, detail string) {
	if l.state == "" {
		l.state, l.detail = s, detail
	}
	l.agent.End()
}

// all is what was used so far.
func (l *lone) all() delivery.Usage {
	all := l.used
	all.Add(l.using)
	return all
}

// spend ends an agent that has used up what it may.
func (l *lone) spend() {
	if l.may.Share(l.all()) >= 1 {
		l.stop(stateBudget, "")
	}
}

// left is what the next turn may cost.
func (l *lone) left() float64 {
	if l.may.CostUSD == 0 {
		return 0
	}
	return max(l.may.CostUSD-l.used.CostUSD, delivery.LeastUSD)
}

// end ends the agent's program, if it goes on, and waits for it. What it used without saying so for good counts.
func (l *lone) end() {
	if l.agent.End() {
		for e := range l.agent.Events() {
			if e.Kind == agent.Stopped {
				l.agent.Clear()
				break
			}
			if e.Kind == agent.Used || e.Kind == agent.Using {
				l.take(e)
			}
		}
	}
	l.used = l.all()
}
