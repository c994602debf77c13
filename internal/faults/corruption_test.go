package faults_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/box"
)

// What becomes of a box whose files are damaged. Whatever it is, every event and
// every blob is there afterwards, byte for byte, or the box does not start.
const (
	healed   = "healed"                  // it starts
	repaired = "refused, repaired"       // it does not start until `signalbox ledger repair` has run
	lost     = "refused, not repairable" // it does not start, and the repair says what is missing and changes nothing
)

// TestCorruption damages every kind of file of a box, in every way, after a kill
// and after a clean stop, one at a time.
func TestCorruption(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a box for every case; not with -short")
	}
	i := takeImages(t)
	var mu sync.Mutex
	got := map[string]string{}
	t.Run("cases", func(t *testing.T) {
		for n, c := range corruptions() {
			if n%every != 0 {
				continue
			}
			t.Run(c.name(), func(t *testing.T) {
				t.Parallel()
				outcome := i.corrupt(t, c)
				if outcome != c.want {
					t.Errorf("%s; it used to be: %s", outcome, c.want)
				}
				mu.Lock()
				defer mu.Unlock()
				got[c.name()] = outcome
			})
		}
	})
	t.Logf("%d of %d cases\n%s", len(got), len(corruptions()), table(got))
}

// corruption is one file and what happens to it.
type corruption struct {
	image  string                // killed or stopped
	kind   string                // which file, in words
	file   string                // a pattern below the box's directory
	pick   func([]string) string // of those that match
	damage string                // of damages
	want   string
}

func (c corruption) name() string { return c.image + "/" + c.kind + "/" + c.damage }

// table shows outcomes as a table in Markdown.
func table(outcomes map[string]string) string {
	var b strings.Builder
	b.WriteString("| file | damage | after a kill | after a clean stop |\n|---|---|---|---|\n")
	done := map[string]bool{}
	for _, c := range corruptions() {
		if row := c.kind + "/" + c.damage; !done[row] {
			done[row] = true
			cell := func(image string) string { return outcomes[image+"/"+row] }
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.kind, c.damage, cell("killed"), cell("stopped"))
		}
	}
	return b.String()
}

// advice is what every refusal says in one form or another.
var advice = regexp.MustCompile("run `signalbox ledger repair`|put .* back|use the key")

// corrupt damages a copy of an image and says what becomes of it.
func (i *images) corrupt(t *testing.T, c corruption) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "box")
	image := map[string]string{"killed": i.killed, "stopped": i.stopped}[c.image]
	if err := copyTree(dir, image); err != nil {
		t.Fatal(err)
	}
	if err := i.apply(c, dir); err != nil {
		t.Fatal(err)
	}
	o := box.Options{Dir: box.Dir(dir)}
	b, found, err := box.Open(t.Context(), o)
	if err == nil {
		if err := i.closed(t.Context(), b, o.Dir); err != nil {
			t.Errorf("it starts, and not everything is there: %v", err)
		}
		t.Logf("found %+v", found.Findings)
		return healed
	}
	t.Logf("refused: %v", err)
	if !advice.MatchString(err.Error()) {
		t.Errorf("a refusal that does not say what to do: %v", err)
	}
	return i.repair(t, o)
}

// repair repairs a box that refused to start, and says whether that worked.
func (i *images) repair(t *testing.T, o box.Options) string {
	t.Helper()
	before := kept(t, o.Dir)
	done, _, err := box.Repair(t.Context(), o)
	if err == nil {
		if err := i.opens(t.Context(), o); err != nil {
			t.Errorf("repaired (%q), and not everything is there: %v", done, err)
		}
		t.Logf("repaired: %q", done)
		return repaired
	}
	t.Logf("not repaired: %v", err)
	if !advice.MatchString(err.Error()) {
		t.Errorf("a repair that fails and does not say what to do: %v", err)
	}
	if d := cmp.Diff(before, kept(t, o.Dir)); d != "" || len(done) > 0 {
		t.Errorf("a repair that fails has changed something: %q\n%s", done, d)
	}
	if b, _, err := box.Open(t.Context(), o); err == nil {
		t.Errorf("a box that can't be repaired starts: %v", b.Close())
	}
	return lost
}

func (i *images) opens(ctx context.Context, o box.Options) error {
	b, _, err := box.Open(ctx, o)
	if err != nil {
		return err
	}
	return i.closed(ctx, b, o.Dir)
}

// kept returns the hashes of the archive's files and of the keys.
func kept(t *testing.T, dir box.Dir) map[string][sha256.Size]byte {
	t.Helper()
	sums := map[string][sha256.Size]byte{}
	for _, name := range []string{"archive", "signer.key", "verifier.key"} {
		err := filepath.WalkDir(filepath.Join(string(dir), name), func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(name)
			sums[name] = sha256.Sum256(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sums
}

// damages are what can happen to a file or directory, whose name is given, and
// that of its old copy and of another box's.
var damages = map[string]func(name, old, other string) error{
	"bit flipped early":      flip(func(size int) int { return size / 10 }),
	"bit flipped":            flip(func(size int) int { return size / 2 }),
	"bit flipped at the end": flip(func(size int) int { return size - 100 }),
	"sequence flipped":       flipSequence,
	"truncated":              cutTo(0.5),
	"truncated a little":     cutTo(0.999),
	"emptied":                cutTo(0),
	"deleted":                func(name, _, _ string) error { return os.RemoveAll(name) },
	"old copy":               func(name, old, _ string) error { return putBack(name, old) },
	"another box's":          func(name, _, other string) error { return putBack(name, other) },
	"stray __new_msgs__": func(name, _, _ string) error {
		stray := filepath.Join(filepath.Dir(name), "__new_msgs__")
		return errors.Join(os.Mkdir(stray, 0o700), os.WriteFile(filepath.Join(stray, "9.blk"), nil, 0o600))
	},
}

func flip(at func(size int) int) func(name, old, other string) error {
	return func(name, _, _ string) error {
		return edit(name, func(data []byte) []byte {
			data[at(len(data))] ^= 4
			return data
		})
	}
}

// flipSequence flips a bit in the sequence of a record in the middle of an engine's
// block. A record begins with its length, whose highest bit is a flag, and its
// sequence, both with the lowest byte first.
func flipSequence(name, _, _ string) error {
	return edit(name, func(data []byte) []byte {
		at := 0
		for at < len(data)/2 {
			at += int(binary.LittleEndian.Uint32(data[at:]) &^ (1 << 31))
		}
		data[at+4+3] ^= 1
		return data
	})
}

func cutTo(part float64) func(name, old, other string) error {
	return func(name, _, _ string) error {
		return edit(name, func(data []byte) []byte { return data[:int(float64(len(data))*part)] })
	}
}

func putBack(name, from string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(name), copyTree(name, from))
}

// apply damages one file.
func (i *images) apply(c corruption, dir string) error {
	matches, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(c.file)))
	if err != nil || len(matches) == 0 {
		return fmt.Errorf("there is no %s: %w", c.file, errors.Join(err, fs.ErrNotExist))
	}
	name := c.pick(matches)
	rest, err := filepath.Rel(dir, name)
	if err != nil {
		return err
	}
	do := damages[c.damage]
	if do == nil {
		return fmt.Errorf("there is no damage %q", c.damage)
	}
	return do(name, filepath.Join(i.old, rest), filepath.Join(i.other, rest))
}
