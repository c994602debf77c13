package faults_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/index"
	"github.com/signalbox-dev/signalbox/internal/work"
)

var (
	rewriteTable = flag.Bool("rewrite", false, "let TestCorruption write testdata/damage.txt anew")
	allDamage    = flag.Bool("damage", false, "each case of TestCorruption; otherwise a part, in which each kind of file, damage, directory and outcome of a kind is")
)

// What becomes of a box whose files are damaged. Whatever it is, every event and every blob
// that was acknowledged is there afterwards, byte for byte, or the box does not start; but for
// the one case that is called unnoticed.
const (
	healed     = "healed"                                          // it starts, and all is well
	repaired   = "refused, repaired"                               // it does not start until `signalbox ledger repair` has run
	lost       = "refused, not repairable"                         // it does not start, and the repair says what is missing and changes nothing
	partly     = "refused, repaired but for its end"               // the same, and events at the end that no checkpoint covers are lost, which the repair says
	later      = "found later, "                                   // it starts and does not look there: what verifies everything names the file, and
	unnoticed  = "its end is cut, unnoticed"                       // it starts, and has lost events at the end that no checkpoint covers
	laterMend  = later + "healed"                                  // a start that verifies everything makes it again
	laterFixed = later + "repaired"                                // a start that verifies everything refuses, and the repair restores it
	laterLost  = later + "not repairable"                          // the same, and it can't be restored
	whenRead   = "found when it is read, healed at the next start" // it starts, and stops when it comes upon it
	alone      = "told by verify, repaired"                        // it starts and all is there, but not twice, which `ledger verify` tells, and the repair mends
)

// TestCorruption damages every kind of file of a box, one at a time, and holds what becomes of it to testdata/damage.txt. If all
// is asked for, it does so in every way.
func TestCorruption(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a box for every case; not with -short")
	}
	head, kinds := readTable(t)
	taken := takeImages(t)
	var mu sync.Mutex
	got := map[string]string{}
	t.Run("cases", func(t *testing.T) {
		var p part
		for _, k := range kinds {
			for _, r := range k.rows {
				for at, name := range k.images {
					if !p.has(k.name, r.damage, name, r.outcomes[at]) {
						continue
					}
					c := corruption{kind: k, damage: r.damage, image: taken[name], want: r.outcomes[at]}
					t.Run(name+"/"+k.name+"/"+r.damage, func(t *testing.T) {
						t.Parallel()
						outcome := c.run(t)
						mu.Lock()
						defer mu.Unlock()
						got[name+k.name+r.damage] = outcome
					})
				}
			}
		}
	})
	t.Logf("%d cases", len(got))
	if !*rewriteTable {
		return
	}
	writeTable(t, head, kinds, func(k kind, r row, at int) string {
		if outcome := got[k.images[at]+k.name+r.damage]; outcome != "" {
			return outcome
		}
		return r.outcomes[at]
	})
}

// part is which of the cases are run: one in so many, and each that is the first of something.
type part struct {
	n    int
	seen map[string]bool
}

// has reports whether the next case of the table is one of the part.
func (p *part) has(kind, damage, image, outcome string) bool {
	p.n++
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	first := false
	for _, what := range []string{"damage " + damage, "image " + image, "kind " + kind + " " + outcome} {
		first = first || !p.seen[what]
		p.seen[what] = true
	}
	return first || p.n%every == 0 || *allDamage || *rewriteTable
}

// The table in docs/testing.md is the one that the tests hold the program to.
func TestDamageTable(t *testing.T) {
	_, kinds := readTable(t)
	cases := 0
	for _, k := range kinds {
		for _, r := range k.rows {
			cases += len(r.outcomes)
			if _, err := damage(r.damage); err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
		}
	}
	doc, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := markdown(kinds); !strings.Contains(string(doc), want) {
		t.Errorf("docs/testing.md has not this table:\n%s", want)
	}
	if want := fmt.Sprintf("%d cases", cases); !strings.Contains(string(doc), want) {
		t.Errorf("docs/testing.md does not say that there are %s", want)
	}
}

// corruption is one damage of one file.
type corruption struct {
	kind   kind
	damage string
	image  *image
	want   string
}

// advice is what every refusal says in one form or another.
var advice = regexp.MustCompile("run `signalbox ledger repair`|[Pp]ut .* back|use the key|up --verify")

// run damages a copy of an image and says what becomes of it.
func (c corruption) run(t *testing.T) string {
	t.Helper()
	o, name := c.apply(t)
	outcome := c.start(t, o, name)
	if outcome != c.want && !*rewriteTable {
		t.Errorf("%s; it should be: %s", outcome, c.want)
	}
	return outcome
}

// apply copies the image and damages one file of it, whose name is returned.
func (c corruption) apply(t *testing.T) (box.Options, string) {
	t.Helper()
	temp := t.TempDir()
	dir := filepath.Join(temp, "box")
	if err := c.image.copy(temp); err != nil {
		t.Fatal(err)
	}
	matches, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(c.kind.file)))
	if err != nil {
		t.Fatal(err)
	}
	name, err := c.kind.choose(matches)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := filepath.Rel(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	do, err := damage(c.damage)
	if err == nil {
		err = do(victim{name, filepath.Join(c.image.old, rest), filepath.Join(c.image.other, rest)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.image.options(dir), name
}

// start starts a box on what is damaged, lets it record more, and says what becomes of it.
func (c corruption) start(t *testing.T, o box.Options, name string) string {
	t.Helper()
	b, found, err := box.Open(t.Context(), o)
	if err != nil {
		return c.refused(t, o, err)
	}
	t.Logf("it starts: %q", found.Notes)
	wrong := c.image.state(t.Context(), b)
	if c.want == unnoticed {
		wrong = nil // verified looks what is missing
	}
	recorded := record(t.Context(), b, "a", 8)
	closed := b.Close()
	var broken *index.Damage
	if errors.As(errors.Join(wrong, recorded, closed), &broken) {
		return c.again(t, o)
	}
	if err := errors.Join(wrong, recorded, closed); err != nil && !foundBy(closed, o, name) {
		t.Errorf("it starts, and not all is well: %v", err)
	}
	switch r, err := c.image.verify(t.Context(), o.Dir); {
	case err != nil:
		return later + c.later(t, o, name)
	case r.Single > 0:
		return c.single(t, o)
	}
	return c.verified(t, o)
}

// again starts a box once more that stopped because of its index: then that is made again.
func (c corruption) again(t *testing.T, o box.Options) string {
	t.Helper()
	b, found, err := box.Open(t.Context(), o)
	if err == nil {
		t.Logf("it starts: %q", found.Notes)
		err = errors.Join(c.image.state(t.Context(), b), b.Close(), c.image.whole(t.Context(), o.Dir))
	}
	if err != nil {
		t.Errorf("it starts again, and not all is well: %v", err)
	}
	return whenRead
}

// foundBy reports whether a box stopped because it came upon what is damaged: its scrub did, before
// it had recorded all.
func foundBy(err error, o box.Options, name string) bool {
	var damage *archive.Damage
	rest, relErr := filepath.Rel(o.Dir.Archive(""), name)
	return errors.As(err, &damage) && relErr == nil && namesFile(err, rest)
}

// verified says whether everything is in an archive that verifies.
func (c corruption) verified(t *testing.T, o box.Options) string {
	t.Helper()
	err := c.image.whole(t.Context(), o.Dir)
	if err == nil {
		return healed
	}
	if c.want != unnoticed || c.cut(t, o, 8) != nil {
		t.Errorf("it starts, and what was acknowledged is not there: %v", err)
	}
	return unnoticed
}

// cut returns nil if nothing is missing but events at the end that no checkpoint covered. So many were
// recorded since.
func (c corruption) cut(t *testing.T, o box.Options, since int) error {
	t.Helper()
	events, err := verified(os.DirFS(o.Dir.Archive("")), c.image.key)
	if err != nil {
		return err
	}
	events = events[:len(events)-since]
	if int64(len(events)) < c.image.sealed {
		return errLost
	}
	return continues(c.image.events, events)
}

// single repairs a box that has all events, and some of them in bundles only.
func (c corruption) single(t *testing.T, o box.Options) string {
	t.Helper()
	done, _, err := box.Repair(t.Context(), o)
	t.Logf("repaired: %q", done)
	if err = errors.Join(err, c.image.whole(t.Context(), o.Dir)); err != nil {
		t.Errorf("not everything is there: %v", err)
	}
	return alone
}

// later goes on with a box that did not look at what is damaged: none of it gets into what is
// signed, what verifies the archive names it, and so does a start that looks at everything.
func (c corruption) later(t *testing.T, o box.Options, name string) string {
	t.Helper()
	rest, err := filepath.Rel(o.Dir.Archive(""), name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.image.verify(t.Context(), o.Dir)
	t.Logf("verify: %v", err)
	if !namesFile(err, rest) && !brokenChain.MatchString(err.Error()) {
		t.Errorf("verify does not name %s: %v", rest, err)
	}
	err = scrub(t.Context(), o.Dir)
	t.Logf("scrub: %v", err)
	if !namesFile(err, rest) {
		t.Errorf("the scrub does not name %s: %v", rest, err)
	}
	o.Verify = true
	b, _, err := box.Open(t.Context(), o)
	if err != nil {
		return strings.TrimPrefix(c.refused(t, o, err), "refused, ")
	}
	if err := errors.Join(b.Close(), c.image.whole(t.Context(), o.Dir)); err != nil {
		t.Errorf("it starts with --verify, and not everything is there: %v", err)
	}
	return healed
}

// namesFile reports whether an error names a file, or the one that is held against it: of a tile
// and the bundle of its events nobody can say at once which is damaged.
func namesFile(err error, name string) bool {
	if err == nil {
		return false
	}
	name = filepath.ToSlash(name)
	pair := strings.NewReplacer("tile/entries/", "tile/0/", "tile/0/", "tile/entries/").Replace(name)
	gone := strings.HasPrefix(name, "log/") && strings.Contains(err.Error(), "should go on") // the one before is named
	return strings.Contains(err.Error(), name) || strings.Contains(err.Error(), pair) || gone
}

// brokenChain is what verify finds if an event was changed into another one: it names the event after
// it on its subject.
var brokenChain = regexp.MustCompile(`as the event before it|comes after event`)

// scrub verifies an archive as a box does in the background.
func scrub(ctx context.Context, dir box.Dir) error {
	keys, err := keysOf(dir)
	if err != nil {
		return err
	}
	a, err := archive.Open(box.Files(dir.Archive(""), dir.Segments(dir.Archive(""), "")), keys)
	if err != nil {
		return err
	}
	if _, err = a.Start(ctx, a.Size()); err != nil {
		return err
	}
	for at, size := int64(0), a.Size(); at < size && err == nil; {
		at, err = a.Scrub(ctx, at, 1000, nil)
	}
	return errors.Join(err, a.Close())
}

// refused repairs a box that refused to start, and says whether that worked.
func (c corruption) refused(t *testing.T, o box.Options, refusal error) string {
	t.Helper()
	t.Logf("refused: %v", refusal)
	if !advice.MatchString(refusal.Error()) {
		t.Errorf("a refusal that does not say what to do: %v", refusal)
	}
	kept := func() map[string][32]byte {
		in := func(name string) string { return filepath.Join(string(o.Dir), name) }
		return sums(t, o.Dir.Archive(""), in("signer.key"), in("snapshot"), in("checkpoint"), in("../mirror"))
	}
	before := kept()
	done, _, err := box.Repair(t.Context(), o)
	if err == nil {
		t.Logf("repaired: %q", done)
		b, _, err := box.Open(t.Context(), o)
		if err == nil {
			err = errors.Join(c.image.state(t.Context(), b), b.Close(), c.image.whole(t.Context(), o.Dir))
		}
		if err == nil {
			return repaired
		}
		if !strings.Contains(fmt.Sprint(done), "they are lost") || c.cut(t, o, 0) != nil {
			t.Errorf("repaired (%q), and not everything is there: %v", done, err)
		}
		return partly
	}
	t.Logf("not repaired: %v", err)
	if !advice.MatchString(err.Error()) {
		t.Errorf("a repair that fails and does not say what to do: %v", err)
	}
	if !maps.Equal(before, kept()) || len(done) > 0 {
		t.Errorf("a repair that fails has changed something: %q", done)
	}
	if b, _, err := box.Open(t.Context(), o); err == nil {
		t.Errorf("a box that can't be repaired starts: %v", b.Close())
	}
	return lost
}

// record adds so many items, several at once.
func record(ctx context.Context, b *box.Box, prefix string, items int) error {
	var all sync.WaitGroup
	errs := make([]error, items)
	for n := range items {
		all.Go(func() {
			_, errs[n] = b.Add(ctx, work.OperatorActor, api.AddWork{ID: fmt.Sprintf("%s%s-%d", added, prefix, n), Title: "recorded after the damage"}, "")
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// added begins the names of items that are recorded after the damage.
const added = "after-"

// state says whether a box has the items that it should have, besides those that were added.
func (i *image) state(ctx context.Context, b *box.Box) error {
	for _, id := range i.left {
		if _, err := b.Work(id); err != nil {
			return err
		}
	}
	if i.items == nil {
		return nil
	}
	listed, err := b.List(ctx, "", api.From{Limit: 10_000})
	if err != nil {
		return err
	}
	var items []api.Work
	for _, w := range listed.Items {
		if !strings.HasPrefix(w.ID, added) {
			items = append(items, w)
		}
	}
	if d := cmp.Diff(i.items, items); d != "" {
		return fmt.Errorf("the items differ (-want +got):\n%s", d)
	}
	return nil
}

// whole says whether everything is in the archive of a box that was stopped.
func (i *image) whole(ctx context.Context, dir box.Dir) error {
	switch r, err := i.verify(ctx, dir); {
	case err != nil:
		return err
	case r.Single > 0:
		return fmt.Errorf("%d events are in bundles only", r.Single)
	}
	events, err := verified(os.DirFS(dir.Archive("")), i.key)
	if err != nil {
		return err
	}
	return continues(events, i.events)
}

func (i *image) verify(ctx context.Context, dir box.Dir) (archive.Verified, error) {
	return archive.Verify(ctx, box.Files(dir.Archive(""), dir.Segments(dir.Archive(""), "")), i.key)
}
