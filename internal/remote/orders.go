package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// orders are what the box wants to be under way here.
type orders struct {
	group *background.Group
	mu    sync.Mutex
	all   map[string]*flight // by name
	told  bool               // which orders are due was heard
}

type flight struct {
	order.Assigned
	printed *copying           // what its checks print; nil if it has none
	cancel  context.CancelFunc // nil if it has not begun
	over    chan struct{}      // closed when it has ended
	reached bool               // it was carried out, and the box knows
	ended   bool               // it was logged that its session has ended
	again   bool               // it was given again
}

func (o *orders) begin() {
	o.group, o.all = background.New(context.Background()), map[string]*flight{}
}

func (o *orders) stop() { o.group.Stop() }

// any reports whether an order is under way.
func (o *orders) any() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all) > 0
}

// over reports whether no order for a session is to be carried out any more.
func (o *orders) over(session string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.told {
		return false
	}
	for _, f := range o.all {
		if f.Session != nil && f.Session.ID == session && !f.reached {
			return false
		}
	}
	return true
}

// named returns the order with an id; nil if it is not under way.
func (o *orders) named(id string) *flight {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.all {
		if f.ID == id {
			return f
		}
	}
	return nil
}

// take begins an order, if it is not under way.
func (o *orders) take(r *Remote, w *works, a order.Assigned) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if old := o.all[a.Name]; old != nil && !old.reached {
		old.again = true
		return
	}
	f := &flight{Assigned: a, over: make(chan struct{}), printed: r.copyingChecks(w, a.Order)}
	o.all[a.Name] = f
	o.group.Go(func(ctx context.Context) {
		defer close(f.over)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if f.printed != nil {
			defer r.copies.drop(f.printed)
		}
		o.mu.Lock()
		if o.all[a.Name] != f {
			o.mu.Unlock()
			return
		}
		f.cancel = cancel
		o.mu.Unlock()
		for !o.reach(f, r.carry(ctx, a)) {
		}
		r.hurry()
	})
}

// reach notes that an order was carried out, and reports false if it has to be once more: the box did not know it when it was told so, as it was
// started again, and has given it since.
func (o *orders) reach(f *flight, known bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.reached = known || !f.again
	f.again = false
	return f.reached
}

// due ends what is under way and not among those.
func (o *orders) due(r *Remote, names []string) {
	due := make(map[string]bool, len(names))
	for _, name := range names {
		due[name] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = true
	for name, f := range o.all {
		if !due[name] {
			if f.cancel != nil {
				f.cancel()
			}
			delete(o.all, name)
		}
	}
	r.hurry()
}

// carry carries out an order, and tells the box when what came of it is handed in. One that failed is given again by the box. It reports false if
// the box does not know the order.
func (r *Remote) carry(ctx context.Context, a order.Assigned) (known bool) {
	r.mu.Lock()
	w := r.works
	r.mu.Unlock()
	if w == nil {
		return true
	}
	err := r.prepare(ctx, w, a)
	if err == nil {
		r.begins(a.Order)
		err = w.CarryOut(ctx, a.Order)
	}
	if ctx.Err() != nil {
		return true
	}
	done := order.Done{Name: a.Name}
	if err != nil {
		done.Error = w.redact.Text(err.Error())
		r.o.Logger.Warn("an order was not carried out", "order", a.ID, "run", a.Run.ID, "error", err)
	}
	heard, err := insist[order.DoneHeard](ctx, r, "/v1/runner/done", done)
	if err != nil && ctx.Err() == nil {
		r.o.Logger.Warn("the box was not told that an order is done", "order", a.ID, "error", err)
	}
	return err != nil || !heard.Unknown
}

// heardEnd takes note of a report that says that a session has ended.
func (r *Remote) heardEnd(name string, report api.SessionReport) {
	r.mu.Lock()
	w := r.works
	r.mu.Unlock()
	if w != nil && report.Kind == api.ReportEnded {
		r.ended(w, name, report.How)
	}
}

// ended logs that a session has ended, once: it says so itself, and its order does too if it is still due then.
func (r *Remote) ended(w *works, name, how string) {
	w.orders.mu.Lock()
	defer w.orders.mu.Unlock()
	var first *flight
	for _, f := range w.orders.all {
		if f.Session != nil && f.Session.ID == name && !f.ended {
			f.ended, first = true, f
		}
	}
	if first != nil {
		r.about(first.Order).Info("a session has ended", "how", how)
	}
}

// begins logs that a session or checks begin here.
func (r *Remote) begins(o order.Order) {
	log := r.about(o)
	switch o.Do {
	case delivery.DoGate:
		log.Info("checks begin")
	case delivery.DoStart:
		dir := runner.SessionFiles(r.o.Dir, o.Session.ID)
		if session.Alive(dir) {
			log.Info("a session goes on")
		} else if !session.Ran(dir) {
			log.Info("a session begins")
		}
	}
}

// about is the log for what is said of an order, in words that people know.
func (r *Remote) about(o order.Order) *slog.Logger {
	log := r.o.Logger.With("run", o.Run.ID)
	switch {
	case o.Session != nil:
		log = log.With("task", o.Session.Task, "role", o.Session.Role, "agent", o.Session.Agent)
	case o.Task != nil:
		log = log.With("task", o.Task.ID)
	}
	return log
}

// prepare writes an order for a session down before anything is done for it, and brings here what the order is about.
func (r *Remote) prepare(ctx context.Context, w *works, a order.Assigned) error {
	if a.Do == delivery.DoPrompt || a.Do == delivery.DoEnd {
		return nil
	}
	if a.Session != nil {
		defer r.copies.add(&copying{of: a.Session.ID})
		if err := r.write(kept{Run: a.Run.ID, Subject: a.Run.Subject, Branch: a.Run.Branch, Token: a.Token, Pushes: !a.Reviews && a.Session.Holds(), Order: a.Order}, a.Session.ID); err != nil {
			return err
		}
	}
	specs := make([]string, len(a.Fetch))
	for i, ref := range a.Fetch {
		if strings.HasSuffix(ref, "/") {
			ref += "*"
		}
		specs[i] = "+" + ref + ":" + ref
	}
	unlock, err := w.fetching.Lock(ctx, a.Run.ID)
	if err != nil {
		return err
	}
	defer unlock()
	return w.mirror.FetchFrom(ctx, r.remote("fetch", a.Name), specs...)
}

// remote is where the box's git answers.
func (r *Remote) remote(parts ...string) worktree.Remote {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return worktree.Remote{URL: r.git.URL(strings.Join(parts, "/")), Header: r.git.Header()}
}

// kept is what is remembered of a session whose order is not given any more: its commits are pushed, and its words passed on,
// for as long as it has some.
type kept struct {
	Run     string      `json:"run"`
	Subject string      `json:"subject"`
	Branch  string      `json:"branch"`
	Token   string      `json:"token"`
	Pushes  bool        `json:"pushes"` // it changes something, which is pushed
	Order   order.Order `json:"order"`
	Count   int         `json:"count"`  // of its pushes
	Commit  string      `json:"commit"` // that was pushed last, and the box has recorded
	Copied  bool        `json:"copied"` // the box has all that it said, or does not want it
}

func (r *Remote) keptPath(session string) string {
	return filepath.Join(r.o.Dir, ordersDir, filepath.Base(session)+".json")
}

// write keeps what is new of a session; how often it was pushed stays.
func (r *Remote) write(k kept, session string) error {
	if old, err := r.read(session); err == nil {
		k.Count, k.Commit = old.Count, old.Commit
	}
	return r.keep(k, session)
}

func (r *Remote) keep(k kept, session string) error {
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return durable.WriteFile(r.keptPath(session), data)
}

// maxKept is how much is remembered of one session, in bytes.
const maxKept = 64 << 20

func (r *Remote) read(session string) (k kept, err error) {
	data, err := regular.Read(r.keptPath(session), maxKept)
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	return k, err
}

// leave takes away what runs have left here that do not go on, and whose sessions have said all that they had to say.
func (r *Remote) leave(ctx context.Context, live []string) {
	r.mu.Lock()
	w := r.works
	r.mu.Unlock()
	entries, err := os.ReadDir(filepath.Join(r.o.Dir, ordersDir))
	if err != nil || w == nil {
		return
	}
	going := make(map[string]bool, len(live))
	for _, run := range live {
		going[run] = true
	}
	over := map[string]string{} // runs that have left something, and their branches
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		k, err := r.read(name)
		if err != nil {
			r.o.Logger.Warn("what is remembered of a session can't be read, and is removed", "session", name, "error", err)
			_ = os.Remove(r.keptPath(name))
			continue
		}
		if going[k.Run] {
			delete(over, k.Run)
			continue
		}
		dir := runner.SessionFiles(r.o.Dir, name)
		if session.Alive(dir) || session.Owes(dir) || !k.Copied {
			going[k.Run] = true
			delete(over, k.Run)
			continue
		}
		over[k.Run] = k.Branch
		if err := os.Remove(r.keptPath(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.o.Logger.Warn("what is remembered of a session was not removed", "session", name, "error", err)
		}
	}
	if len(over) > 0 {
		r.clear(w.config.Keep.Transcripts)
	}
	for run, branch := range over {
		if err := w.Leave(ctx, run, branch); err != nil && ctx.Err() == nil {
			r.o.Logger.Warn("what a run has left was not removed", "run", run, "error", err)
		}
	}
}

// report hands in what a dead session has left to say.
func (r *Remote) report(ctx context.Context, name string, report api.SessionReport) error {
	if err := r.pushFor(ctx, name, report); err != nil {
		return err
	}
	k, err := r.read(name)
	if err != nil {
		return err
	}
	return api.ClientOver(r.carrier, k.Token).SendReport(ctx, name, report)
}

// clear removes what sessions have said whose runs ended so long ago that the settings keep it no longer.
func (r *Remote) clear(keep time.Duration) {
	entries, err := os.ReadDir(runner.SessionFiles(r.o.Dir, ""))
	if err != nil || keep <= 0 {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || r.o.Now().Sub(info.ModTime()) < keep {
			continue
		}
		dir := runner.SessionFiles(r.o.Dir, e.Name())
		if _, err := os.Lstat(r.keptPath(e.Name())); err == nil || session.Alive(dir) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			r.o.Logger.Warn("what a session has said was not removed", "session", e.Name(), "error", err)
		}
	}
}
