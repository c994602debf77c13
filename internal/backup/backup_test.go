package backup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/backup"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/stage"
	"github.com/signalbox-dev/signalbox/internal/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir, archive string) (*box.Box, box.Found) {
	t.Helper()
	b, found, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir), Archive: archive})
	if err != nil {
		t.Fatal(err)
	}
	return b, found
}

func closeBox(t *testing.T, b *box.Box) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// deliver adds an item and ends a session on it, with more output than an event
// holds.
func deliver(ctx context.Context, b *box.Box, id string) error {
	if _, err := b.Add(ctx, work.OperatorActor, api.AddWork{ID: id, Title: "work", Phase: agentsig.PhaseImplementation}, "add "+id); err != nil {
		return err
	}
	g, err := b.Claim(ctx, api.Claim{Work: id, Role: agentsig.RoleDeveloper, Actor: "agent"}, "claim "+id)
	if err != nil {
		return err
	}
	said := strings.Repeat("working on "+id+"\n", 400) + "READY_FOR_REVIEW: " + id + "\n"
	_, err = b.Emit(g.Session, []byte(said), "")
	return err
}

// crowd is clients that write to a box until they are told to stop.
type crowd struct {
	stop, wait func()
	mu         sync.Mutex
	done       []string      // items that were delivered, and acknowledged
	many       chan struct{} // closed when there are enough to fill bundles
}

func (c *crowd) acknowledged() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.done...)
}

func clients(t *testing.T, b *box.Box, n int) *crowd {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	c := &crowd{stop: cancel, wait: running.Wait, many: make(chan struct{})}
	for client := range n {
		running.Go(func() {
			for i := 0; ctx.Err() == nil && i < 1000; i++ { // so that a slow machine ends
				id := fmt.Sprintf("C%d-%d", client, i)
				if err := deliver(context.WithoutCancel(ctx), b, id); err != nil {
					t.Errorf("deliver %s: %v", id, err)
					return
				}
				c.mu.Lock()
				if c.done = append(c.done, id); len(c.done) == 100 {
					close(c.many)
				}
				c.mu.Unlock()
			}
		})
	}
	return c
}

// TestWhileClientsWrite backs up a box that is written to. Each backup has what was
// acknowledged before it began, and a box can be started from it.
func TestWhileClientsWrite(t *testing.T) {
	dir, files, disks := t.TempDir(), t.TempDir(), t.TempDir()
	elsewhere, segments := filepath.Join(disks, "elsewhere"), filepath.Join(disks, "segments")
	b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir), Archive: elsewhere, Segments: segments, Mirror: filepath.Join(disks, "mirror")})
	if err != nil {
		t.Fatal(err)
	}
	c := clients(t, b, 4)
	<-c.many
	backups := 3
	if testing.Short() {
		backups = 1
	}
	before, said := make([][]string, backups), make([]backup.Report, backups)
	for i := range backups {
		before[i] = c.acknowledged()
		r, err := backup.Write(t.Context(), dir, archive.Split(archive.Dir(elsewhere), archive.Dir(segments)), filepath.Join(files, fmt.Sprint(i)))
		if err != nil {
			t.Errorf("backup %d: %v", i, err)
		}
		said[i] = r
	}
	if len(c.acknowledged()) == len(before[0]) {
		t.Error("nobody wrote meanwhile")
	}
	c.stop()
	c.wait()
	closeBox(t, b)
	for i, ids := range before {
		restored := filepath.Join(t.TempDir(), "restored", "box")
		r, err := restore(t.Context(), filepath.Join(files, fmt.Sprint(i)), restored)
		if err != nil || r != said[i] {
			t.Fatalf("backup %d: %+v, %v; it said %+v", i, r, err, said[i])
		}
		key, err := box.Dir(restored).Verifier()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Verify(t.Context(), archive.Dir(filepath.Join(restored, "archive")), key); err != nil {
			t.Errorf("backup %d: %v", i, err)
		}
		t.Logf("backup %d has %+v", i, r)
		b, found := open(t, restored, "")
		if int64(found.Events) != r.Events || found.Items != r.Items || len(found.Notes) > 0 {
			t.Errorf("backup %d had %+v, and the box found %+v", i, r, found)
		}
		for _, id := range ids {
			if w, err := b.Work(id); err != nil || w.Phase != agentsig.PhaseCIPending {
				t.Errorf("%s was acknowledged before backup %d, and is %+v, %v", id, i, w, err)
			}
		}
		if err := deliver(t.Context(), b, "NEW"); err != nil {
			t.Errorf("the box from backup %d does not go on: %v", i, err)
		}
		closeBox(t, b)
	}
}

// small makes a box that has been stopped, with a few events, sessions, and logs of the gate.
func small(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	b, _ := open(t, dir, "")
	for i := range 3 {
		if err := deliver(t.Context(), b, fmt.Sprint("W-", i)); err != nil {
			t.Fatal(err)
		}
	}
	closeBox(t, b)
	for name, text := range map[string]string{
		"transcript": "said\n", "outbox/00001.json": "{}", "lock": "", "agent.json": "{}", "\x1b[1m": "", "line\nend": "",
		"../../" + gateLog: "checked\n",
	} {
		path := filepath.Join(dir, "sessions", "S-1", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "sessions", "S-1", "link")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// backUp backs up a box whose archive lies in its directory.
func backUp(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "box.tar.gz")
	if _, err := backup.Write(t.Context(), dir, archive.Dir(filepath.Join(dir, "archive")), file); err != nil {
		t.Fatal(err)
	}
	return file
}

// restore restores a box from the file with a name.
func restore(ctx context.Context, name, dir string) (r backup.Report, err error) {
	f, err := os.Open(name)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return backup.Restore(ctx, f, dir)
}

// tree returns the files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWhatIsKept: a restored directory has what can't be made again, and nothing
// that belongs to this machine's processes.
func TestWhatIsKept(t *testing.T) {
	dir := small(t)
	file := backUp(t, dir)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup's mode is %v, %v", info.Mode(), err)
	}
	if names, err := os.ReadDir(filepath.Dir(file)); err != nil || len(names) != 1 {
		t.Errorf("beside the backup there are %v, %v", names, err)
	}
	restored := t.TempDir()
	if _, err := restore(t.Context(), file, restored); err != nil {
		t.Fatal(err)
	}
	want := tree(t, dir)
	for name := range want {
		base := filepath.Base(name)
		if strings.HasPrefix(name, "index/") || name == "scrub.json" || name == "checkpoint" || base == "lock" || name == "starting" || base == "agent.json" || base == "link" || name == "snapshot" ||
			strings.HasPrefix(base, "\x1b") || strings.HasPrefix(base, "line") {
			delete(want, name)
		}
	}
	if diff := cmp.Diff(want, tree(t, restored)); diff != "" {
		t.Errorf("what was restored differs:\n%s", diff)
	}
	b, found := open(t, restored, "")
	defer closeBox(t, b)
	if found.Items != 3 || len(found.Notes) > 0 {
		t.Errorf("the box found %+v", found)
	}
}

func TestRefusals(t *testing.T) {
	dir := small(t)
	file := backUp(t, dir)
	write := func(dir string) error {
		_, err := backup.Write(t.Context(), dir, archive.Dir(filepath.Join(dir, "archive")), filepath.Join(t.TempDir(), "b"))
		return err
	}
	if _, err := backup.Write(t.Context(), dir, archive.Dir(filepath.Join(dir, "archive")), file); !errors.Is(err, stage.ErrExists) {
		t.Errorf("over a file: %v", err)
	}
	if err := write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there is no box in") {
		t.Errorf("of no box: %v", err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t.Context(), file, full); !errors.Is(err, stage.ErrOccupied) {
		t.Errorf("into a directory with a file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := restore(ctx, file, filepath.Join(full, "new")); !errors.Is(err, context.Canceled) || errors.Is(err, backup.ErrDamaged) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := backup.Write(ctx, dir, archive.Dir(filepath.Join(dir, "archive")), filepath.Join(full, "b")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if names, err := os.ReadDir(full); err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// Who waits for a backup that does not go on is let go, and the backup is not called damaged.
func TestInterruptedAtAPipe(t *testing.T) {
	packed, err := os.ReadFile(backUp(t, small(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{nil, packed[:100], packed[:len(packed)/2], packed} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		ctx, interrupt := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := backup.Restore(ctx, r, filepath.Join(dir, "new"))
			done <- err
		}()
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		interrupt()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) || errors.Is(err, backup.ErrDamaged) {
				t.Errorf("after %d bytes: %v", len(part), err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("after %d bytes it does not end", len(part))
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
			t.Errorf("left behind: %v, %v", names, err)
		}
		if err := errors.Join(r.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	}
}

// slow is files beside which something happens when they are read.
type slow struct {
	archive.FS
	meanwhile func()
}

func (s slow) ReadFile(name string) ([]byte, error) {
	s.meanwhile()
	return s.FS.ReadFile(name)
}

// A file that comes into the backup's place while it is written is not replaced.
func TestFileThatCame(t *testing.T) {
	dir, out := small(t), t.TempDir()
	file := filepath.Join(out, "box.tar.gz")
	came := sync.OnceFunc(func() {
		if err := os.WriteFile(file, []byte("another's"), 0o600); err != nil {
			t.Error(err)
		}
	})
	_, err := backup.Write(t.Context(), dir, slow{archive.Dir(filepath.Join(dir, "archive")), came}, file)
	if !errors.Is(err, stage.ErrExists) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(map[string]string{"box.tar.gz": "another's"}, tree(t, out)); diff != "" {
		t.Error(diff)
	}
}

// A key that is not the signer's, or a token that no box makes, is neither backed up nor restored.
func TestDamagedSecrets(t *testing.T) {
	dir := small(t)
	other := small(t)
	entries := unpack(t, backUp(t, dir))
	for name, kept := range tree(t, dir) {
		if strings.Contains(name, "/") || !strings.HasSuffix(name, ".key") && !strings.HasSuffix(name, ".token") {
			continue
		}
		if testing.Short() && name != "signer.key" && name != "api.token" {
			continue
		}
		damages := map[string]string{
			"one byte": "x", "nothing": "", "zeroes": strings.Repeat("\x00", len(kept)), "a byte that is another": "\x00" + kept[1:], "cut by half": kept[:len(kept)/2],
			"two lines": kept + kept,
		}
		if strings.HasSuffix(name, ".key") {
			damages["another box's"] = tree(t, other)[name]
		}
		for what, damage := range damages {
			edited := slices.Clone(entries)
			for i, e := range edited {
				if e.Name == name {
					edited[i] = file(name, damage)
				}
			}
			reason := name
			if what == "another box's" {
				reason = "signer.key"
			}
			refused(t, name+" has "+what, pack(t, append(edited, sums(edited))), reason)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(damage), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := backup.Write(t.Context(), dir, archive.Dir(filepath.Join(dir, "archive")), filepath.Join(t.TempDir(), "b"))
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s has %s: %v", name, what, err)
			}
		}
		without := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.Name == name })
		refused(t, "without "+name, pack(t, append(without, sums(without))), name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(kept), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	backUp(t, dir)
}

// TestDamagedBoxIsNotBackedUp: a backup that could not be restored is no backup.
func TestDamagedBoxIsNotBackedUp(t *testing.T) {
	dir := small(t)
	for name, data := range tree(t, filepath.Join(dir, "archive")) {
		path := filepath.Join(dir, "archive", name)
		broken := []byte(data)
		broken[len(broken)/2] ^= 1
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		out := t.TempDir()
		_, err := backup.Write(t.Context(), dir, archive.Dir(filepath.Join(dir, "archive")), filepath.Join(out, "b"))
		if err == nil || !strings.Contains(err.Error(), "signalbox ledger repair") {
			t.Errorf("%s is damaged: %v", name, err)
		}
		if names, err := os.ReadDir(out); err != nil || len(names) > 0 {
			t.Errorf("left behind: %v, %v", names, err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	backUp(t, dir)
}

// TestOwnKey: the key that runners have pinned is kept, if there is one, and a damaged one is noticed when it can still be put back.
func TestOwnKey(t *testing.T) {
	dir := small(t)
	key, err := pin.OpenKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	restored := t.TempDir()
	name := backUp(t, dir)
	if _, err := restore(t.Context(), name, restored); err != nil {
		t.Fatal(err)
	}
	if again, err := pin.OpenKey(restored); err != nil || again.Hash() != key.Hash() {
		t.Errorf("restored, the box has another key: %v", err)
	}
	for _, damage := range []string{"", "x", strings.Repeat("x", 1<<20)} {
		edited := unpack(t, name)
		for i, e := range edited {
			if e.Name == pin.File {
				edited[i] = file(pin.File, damage)
			}
		}
		refused(t, "a damaged key", pack(t, append(edited, sums(edited))), pin.File)
		if err := os.WriteFile(filepath.Join(dir, pin.File), []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Write(t.Context(), dir, archive.Dir(filepath.Join(dir, "archive")), filepath.Join(t.TempDir(), "b")); err == nil || !strings.Contains(err.Error(), pin.File) {
			t.Errorf("a key of %d bytes: %v", len(damage), err)
		}
	}
}
