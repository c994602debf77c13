package trailer_test

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's own name of an object
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var (
	onto, merges, tree = strings.Repeat("0a", 20), strings.Repeat("0b", 20), strings.Repeat("0c", 20)
	other              = strings.Repeat("0d", 20)
)

// book is a ledger in memory, and its files.
type book struct {
	t              testing.TB
	signer, key    string
	tree           ledger.Tree
	chains         ledger.Chains
	stored         [][]byte
	files          fstest.MapFS
	title, subject string
	session        string // of the next events
}

func newBook(t testing.TB, name string) *book {
	t.Helper()
	signer, key, err := ledger.NewKey(ledger.Origin(name, 1))
	if err != nil {
		t.Fatal(err)
	}
	return &book{t: t, signer: signer, key: key, title: "Merge T-1: a title", subject: "ITEM"}
}

func (b *book) add(what, actor string, payload any) int64 {
	b.t.Helper()
	data, err := json.Marshal(payload)
	if err != nil {
		b.t.Fatal(err)
	}
	tip := b.chains.Tip(b.subject)
	stored, err := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: b.subject, ItemSeq: tip.ItemSeq + 1, Prev: tip.Sum, Type: what, Actor: actor, Session: b.session,
		Time: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Payload: data,
	}.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.chains.Add(stored); err != nil {
		b.t.Fatal(err)
	}
	if err := b.tree.Append(stored); err != nil {
		b.t.Fatal(err)
	}
	b.stored = append(b.stored, stored)
	return b.tree.Size()
}

// prove signs what there is, and proves an event by its sequence.
func (b *book) prove(seq int64) ledger.Proof {
	b.t.Helper()
	origin, err := ledger.KeyOrigin(b.key)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := b.tree.Checkpoint(origin)
	if err != nil {
		b.t.Fatal(err)
	}
	signed, err := c.Sign(b.signer)
	if err != nil {
		b.t.Fatal(err)
	}
	b.files = fstest.MapFS{ledger.CheckpointPath: {Data: signed}}
	n := int64(0)
	for some := range slices.Chunk(b.stored, ledger.TileWidth) {
		var bundle []byte
		for _, stored := range some {
			bundle = ledger.AppendEntry(bundle, stored)
		}
		b.files[ledger.EntriesPath(n, len(some))] = &fstest.MapFile{Data: bundle}
		n++
	}
	if err := b.tree.Tiles(0, c.Size, func(path string, data []byte) error {
		b.files[path] = &fstest.MapFile{Data: data}
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	p, err := b.tree.Prove(seq-1, b.stored[seq-1], signed)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// audit is the payload of an audit that passed.
func audit() work.Result { return work.Result{Audited: true} }

func allowed() work.Allowed {
	return work.Allowed{Run: "R1", Task: "T-1", Verdict: 3, Commit: merges, Onto: onto, Tree: tree}
}

// merge records a task up to its merge and returns the commit.
func (b *book) merge() trailer.Commit {
	b.t.Helper()
	b.add(work.WorkAdded, "operator", work.Added{ID: "R1.T-1"})
	b.add(work.GatePassed, work.GateActor, work.Gate{Commit: merges})
	b.add(work.AgentSessionCompleted, "auditor", audit())
	return b.commit(b.add(work.MergeAllowed, work.BoxActor, allowed()))
}

func (b *book) commit(seq int64) trailer.Commit {
	b.t.Helper()
	message, err := trailer.Message(b.title, b.prove(seq))
	if err != nil {
		b.t.Fatal(err)
	}
	return made(b.t, "tree "+tree+"\nparent "+onto+"\nparent "+merges+"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n"+message)
}

// made is a commit with these bytes.
func made(t testing.TB, object string) trailer.Commit {
	t.Helper()
	sum := sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(object), object)) //nolint:gosec // as above
	c, err := trailer.ParseCommit(hex.EncodeToString(sum[:]), []byte(object))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A merge proves itself with the key alone, whatever its title is, and with trailers
// of others beside its own.
func TestCheck(t *testing.T) {
	for _, title := range []string{
		"Merge T-1: a title", "Merge T-1: two\nlines", "Merge T-1: x\n\nSignalbox-Task: T-9\nSignalbox-Run: R9",
		"Merge T-1: Signalbox-Task: T-9", "Merge T-1: \r\x1b[2J\u2028", "Signalbox-Task: T-9",
	} {
		b := newBook(t, "ledger.example")
		b.title = title
		c := b.merge()
		if strings.Count(c.Message, "\n") != 7 {
			t.Errorf("%q makes more of the message than a title:\n%s", title, c.Message)
		}
		p, err := trailer.Check(c, b.key)
		if err != nil || p.Allowed != allowed() || p.Trailers.Event != 4 || p.Checkpoint.Size != 4 {
			t.Errorf("%q: %+v %v", title, p.Allowed, err)
		}
		c.Message += "Signed-off-by: Ann <ann@example.org>\n"
		if _, err := trailer.Check(c, b.key); err != nil {
			t.Errorf("signed off: %v", err)
		}
	}
}

// Every way to tamper with a commit is told as what it is.
func TestFaults(t *testing.T) {
	b := newBook(t, "ledger.example")
	c := b.merge()
	stranger := newBook(t, "other.example")
	strange := stranger.merge()
	twin := newBook(t, "ledger.example") // the same name, and another key
	twins := twin.merge()
	lines := strings.Split(strings.TrimSuffix(c.Message, "\n"), "\n")
	edit := func(old, replacement string) func(*trailer.Commit) {
		return func(c *trailer.Commit) {
			if !strings.Contains(c.Message, old) {
				t.Fatalf("no %q in %s", old, c.Message)
			}
			c.Message = strings.Replace(c.Message, old, replacement, 1)
		}
	}
	for name, f := range map[string]struct {
		change func(*trailer.Commit)
		want   trailer.Kind
	}{
		"no trailers":           {func(c *trailer.Commit) { c.Message = b.title }, trailer.None},
		"a body":                {func(c *trailer.Commit) { c.Message = b.title + "\n\nand a body\n" }, trailer.None},
		"not at the end":        {func(c *trailer.Commit) { c.Message += "\nmore words\n" }, trailer.None},
		"title only":            {func(c *trailer.Commit) { c.Message = strings.Join(lines[2:], "\n") }, trailer.None},
		"task":                  {edit("Task: T-1", "Task: T-2"), trailer.Edited},
		"run":                   {edit("Run: R1", "Run: R2"), trailer.Edited},
		"event":                 {edit("Event: 4", "Event: 3"), trailer.Edited},
		"event beyond":          {edit("Event: 4", "Event: 5"), trailer.Edited},
		"event in another form": {edit("Event: 4", "Event: 04"), trailer.Edited},
		"size":                  {edit("/epoch/1 4 ", "/epoch/1 5 "), trailer.Edited},
		"proof":                 {edit("Proof: eyJ", "Proof: eyK"), trailer.Edited},
		"a trailer less":        {edit(lines[3]+"\n", ""), trailer.Edited},
		"a trailer twice":       {edit(lines[3]+"\n", lines[3]+"\n"+lines[3]+"\n"), trailer.Edited},
		"a trailer of no name":  {edit(lines[3]+"\n", lines[3]+"\nSignalbox-Approved: yes\n"), trailer.Edited},
		"checkpoint of a twin":  {edit(lines[5], strings.Split(twins.Message, "\n")[5]), trailer.Edited},
		"all of a twin":         {func(c *trailer.Commit) { c.Message = twins.Message }, trailer.Edited},
		"another ledger":        {func(c *trailer.Commit) { c.Message = strange.Message }, trailer.Foreign},
		"another second parent": {func(c *trailer.Commit) { c.Parents = []string{onto, other} }, trailer.Moved},
		"another first parent":  {func(c *trailer.Commit) { c.Parents = []string{other, merges} }, trailer.Moved},
		"parents changed round": {func(c *trailer.Commit) { c.Parents = []string{merges, onto} }, trailer.Moved},
		"not a merge":           {func(c *trailer.Commit) { c.Parents = []string{onto} }, trailer.Moved},
		"three parents":         {func(c *trailer.Commit) { c.Parents = []string{onto, merges, other} }, trailer.Moved},
		"another tree":          {func(c *trailer.Commit) { c.Tree = other }, trailer.Moved},
	} {
		changed := c
		f.change(&changed)
		_, err := trailer.Check(changed, b.key)
		if kind, _ := trailer.IsFault(err); kind != f.want {
			t.Errorf("%s: %q: %v", name, kind, err)
		}
	}
	if _, err := trailer.Check(c, "no+key+at+all"); err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("a bad key: %v", err)
	}
}

// An event that is proven, and is no permission by the box, allows nothing.
func TestOtherEvents(t *testing.T) {
	for name, record := range map[string]func(b *book) int64{
		"an agent's": func(b *book) int64 { return b.add(work.MergeAllowed, "agent", allowed()) },
		"a merge":    func(b *book) int64 { return b.add(work.WorkMerged, work.BoxActor, allowed()) },
	} {
		b := newBook(t, "ledger.example")
		c := b.merge()
		p := b.prove(record(b))
		if _, err := trailer.Message("x", p); err == nil {
			t.Errorf("%s: a message was written", name)
		}
		checkpoint, err := ledger.CheckpointLine([]byte(p.Checkpoint))
		if err != nil {
			t.Fatal(err)
		}
		c.Message = fmt.Sprintf("x\n\nSignalbox-Task: T-1\nSignalbox-Run: R1\nSignalbox-Event: %d\nSignalbox-Checkpoint: %s\nSignalbox-Proof: %s\n", p.Index+1, checkpoint, p.Line())
		_, err = trailer.Check(c, b.key)
		if kind, _ := trailer.IsFault(err); kind != trailer.Edited {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A ledger says more than a commit, or something else.
func TestAgainst(t *testing.T) {
	against := func(b *book, c trailer.Commit) (trailer.Recorded, error) {
		t.Helper()
		p, err := trailer.Check(c, b.key)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ledger.OpenFiles(b.files, b.key)
		if err != nil {
			t.Fatal(err)
		}
		return p.Against(f)
	}
	is := func(err error, want trailer.Kind) {
		t.Helper()
		if kind, _ := trailer.IsFault(err); kind != want {
			t.Errorf("want %s: %v", want, err)
		}
	}
	b := newBook(t, "ledger.example")
	c := b.merge()
	old := b.files
	r, err := against(b, c)
	if err != nil || r.Audit == nil || r.Audit.Actor != "auditor" || r.Merged != 0 {
		t.Errorf("%+v %v", r, err)
	}
	seq := b.add(work.WorkMerged, work.BoxActor, work.Merge{Commit: merges, Result: c.Name})
	b.prove(seq)
	if r, err = against(b, c); err != nil || r.Merged != seq {
		t.Errorf("%+v %v", r, err)
	}
	late := c
	late.Message = "Another\n" + late.Message // the same merge by another name
	late.Name = other
	_, err = against(b, late)
	is(err, trailer.Contrary)

	later := b.commit(b.add(work.MergeAllowed, work.BoxActor, allowed()))
	b.files = old
	_, err = against(b, later)
	is(err, trailer.RolledBack)

	fork := newBook(t, "ledger.example")
	fork.signer, fork.key = b.signer, b.key
	fork.add(work.WorkAdded, "operator", work.Added{ID: "R1.T-1", Title: "another beginning"})
	for range 8 {
		fork.add(work.GatePassed, work.GateActor, work.Gate{Commit: merges})
	}
	fork.prove(1)
	_, err = against(fork, c)
	is(err, trailer.Rewritten)

	lie := newBook(t, "ledger.example")
	lie.add(work.WorkAdded, "operator", work.Added{ID: "R1.T-1"})
	lie.add(work.GatePassed, work.GateActor, work.Gate{Commit: merges})
	lie.add(work.AgentSessionCompleted, "auditor", work.Result{})
	_, err = against(lie, lie.commit(lie.add(work.MergeAllowed, work.BoxActor, allowed())))
	is(err, trailer.Contrary)
}

// The merge of a repair is allowed on its run, after a critic's review.
func TestRepair(t *testing.T) {
	repair := func(review delivery.RepairReview, merge string) (trailer.Recorded, error) {
		t.Helper()
		b := newBook(t, "ledger.example")
		b.add(delivery.RunStarted, "operator", delivery.Started{ID: "R1"})
		b.add(delivery.RepairChecked, work.BoxActor, delivery.Repair{Commit: merges})
		b.add(delivery.RepairReviewed, work.BoxActor, review)
		a := allowed()
		a.Task = delivery.RepairTask
		c := b.commit(b.add(work.MergeAllowed, work.BoxActor, a))
		if merge == "" {
			merge = c.Name
		}
		b.prove(b.add(delivery.RepairMerged, work.BoxActor, delivery.RepairMerge{Commit: merges, Merge: merge}))
		p, err := trailer.Check(c, b.key)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ledger.OpenFiles(b.files, b.key)
		if err != nil {
			t.Fatal(err)
		}
		return p.Against(f)
	}
	if r, err := repair(delivery.RepairReview{Commit: merges, Passed: true}, ""); err != nil || r.Audit == nil || r.Merged != 5 {
		t.Errorf("%+v %v", r, err)
	}
	for name, f := range map[string]func() (trailer.Recorded, error){
		"failed": func() (trailer.Recorded, error) { return repair(delivery.RepairReview{Commit: merges}, "") },
		"of another": func() (trailer.Recorded, error) {
			return repair(delivery.RepairReview{Commit: other, Passed: true}, "")
		},
		"another result": func() (trailer.Recorded, error) {
			return repair(delivery.RepairReview{Commit: merges, Passed: true}, other)
		},
	} {
		_, err := f()
		if kind, _ := trailer.IsFault(err); kind != trailer.Contrary {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A proof shows what the archive would.
func TestWith(t *testing.T) {
	b := newBook(t, "ledger.example")
	c := b.merge()
	p, err := trailer.Check(c, b.key)
	if err != nil {
		t.Fatal(err)
	}
	merged := b.add(work.WorkMerged, work.BoxActor, work.Merge{Commit: merges, Result: c.Name})
	elsewhere := b.add(work.WorkMerged, work.BoxActor, work.Merge{Commit: merges, Result: other})
	if r, err := p.With(b.prove(3), b.key); err != nil || r.Audit == nil {
		t.Errorf("the audit: %+v %v", r, err)
	}
	if r, err := p.With(b.prove(4), b.key); err != nil || !r.Covered {
		t.Errorf("the permission: %+v %v", r, err)
	}
	if r, err := p.With(b.prove(merged), b.key); err != nil || r.Merged != merged {
		t.Errorf("the merge: %+v %v", r, err)
	}
	forged := b.prove(merged)
	forged.Event = bytes.Replace(forged.Event, []byte(c.Name), []byte(other), 1)
	for name, proof := range map[string]ledger.Proof{"another result": b.prove(elsewhere), "the gate": b.prove(2), "forged": forged} {
		_, err := p.With(proof, b.key)
		if kind, _ := trailer.IsFault(err); kind != trailer.Contrary {
			t.Errorf("%s: %v", name, err)
		}
	}
	fork := newBook(t, "ledger.example")
	fork.signer, fork.key = b.signer, b.key
	for range 4 {
		fork.add(work.GatePassed, work.GateActor, work.Gate{Commit: merges})
	}
	_, err = p.With(fork.prove(4), b.key)
	if kind, _ := trailer.IsFault(err); kind != trailer.Rewritten {
		t.Errorf("a fork: %v", err)
	}
}

// A commit whose bytes are not those of its name is refused, and so is what git would
// not read as parents.
func TestParseCommit(t *testing.T) {
	object := "tree " + tree + "\nparent " + onto + "\nauthor A <a@b> 1 +0000\nparent " + merges + "\n\ntitle\n"
	if c := made(t, object); len(c.Parents) != 1 || c.Message != "title\n" {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"", other, strings.Repeat("0", 64), "HEAD"} {
		if _, err := trailer.ParseCommit(name, []byte(object)); err == nil {
			t.Errorf("%q is taken for its name", name)
		}
	}
}

// Whatever a message is, what is read from it has the form that a box writes, and no
// key is fooled.
func FuzzParse(f *testing.F) {
	b := newBook(f, "ledger.example")
	c := b.merge()
	f.Add(c.Message)
	f.Add("x\n\nSignalbox-Task: a\nSignalbox-Run: b\nSignalbox-Event: 1\nSignalbox-Checkpoint: c\nSignalbox-Proof: d\n")
	f.Add("x\n\nSignalbox-Task:\n")
	f.Fuzz(func(t *testing.T, message string) {
		tr, err := trailer.Parse(message)
		if err != nil {
			if _, ok := trailer.IsFault(err); !ok {
				t.Errorf("%q: %v", message, err)
			}
			return
		}
		for _, v := range []string{tr.Task, tr.Run, tr.Checkpoint, tr.Proof} {
			if v == "" || strings.Contains(v, "\n") || !strings.Contains(message, ": "+v) {
				t.Errorf("%q was read from %q", v, message)
			}
		}
		changed := c
		changed.Message = message
		if p, err := trailer.Check(changed, b.key); err == nil && p.Allowed != allowed() {
			t.Errorf("%q proves %+v", message, p.Allowed)
		}
	})
}
