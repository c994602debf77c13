package faults_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var (
	oldProgram = flag.String("old", "", "the `PROGRAM` of a version that kept its events in an engine too, for TestOldProgram")
	makeOld    = flag.Bool("makeold", false, "let TestOldProgram write testdata/old.tar.gz anew")
)

// old is what a version wrote that ordered events in an engine's store, and kept them in the
// archive: testdata/old.tar.gz, unpacked.
type old struct {
	killed  box.Dir // after a kill, with events that no checkpoint covers
	stopped box.Dir // after a clean stop
	export  string
	proof   ledger.Proof
	key     string
}

const oldFile = "testdata/old.tar.gz"

func unpackOld(t *testing.T) old {
	t.Helper()
	dir := t.TempDir()
	if err := unpack(oldFile, dir); err != nil {
		t.Fatal(err)
	}
	o := old{
		killed: box.Dir(filepath.Join(dir, "killed")), stopped: box.Dir(filepath.Join(dir, "stopped")),
		export: filepath.Join(dir, "export"),
	}
	o.read(t, filepath.Join(dir, "proof.json"))
	return o
}

func (o *old) read(t *testing.T, proof string) {
	t.Helper()
	data, err := os.ReadFile(proof)
	if err == nil {
		err = json.Unmarshal(data, &o.proof)
	}
	if err == nil {
		o.key, err = o.killed.Verifier()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What a version before wrote verifies, its proofs hold, and its directories are gone on with.
func TestOldArchives(t *testing.T) {
	o := unpackOld(t)
	for name, dir := range map[string]string{"an export": o.export, "killed": o.killed.Archive(""), "stopped": o.stopped.Archive("")} {
		if r, err := archive.Verify(t.Context(), archive.Dir(dir), o.key); err != nil || r.Events == 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if e, c, err := o.proof.Verify(o.key); err != nil || e.Type == "" || c.Size == 0 {
		t.Errorf("its proof: %+v, %v", c, err)
	}
	for name, dir := range map[string]box.Dir{"killed": o.killed, "stopped": o.stopped} {
		t.Run(name, func(t *testing.T) { goOn(t, dir, o) })
	}
}

// goOn starts a box on a directory of a version before, twice, and looks whether everything is
// there.
func goOn(t *testing.T, dir box.Dir, o old) {
	t.Helper()
	found, err := archive.Verify(t.Context(), archive.Dir(dir.Archive("")), o.key)
	if err != nil {
		t.Fatal(err)
	}
	before, err := verified(os.DirFS(dir.Archive("")), o.key)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []int{1, 0} {
		b, found, err := box.Open(t.Context(), box.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Count(strings.Join(found.Notes, "\n"), "engine.old"); said != want {
			t.Errorf("start %d says %q", n+1, found.Notes)
		}
		if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "it goes on"}, ""); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, there := range map[string]bool{"engine": false, "engine.old": true} {
		if _, err := os.Stat(filepath.Join(string(dir), name)); there != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	after, err := verified(os.DirFS(dir.Archive("")), o.key)
	if err == nil {
		err = continues(after, before)
	}
	if want := len(before) + int(found.Unsealed) + 2; err == nil && len(after) != want {
		t.Errorf("there are %d events, and should be %d", len(after), want)
	}
	if err != nil {
		t.Error(err)
	}
	if root, err := ledger.OpenFiles(os.DirFS(dir.Archive("")), o.key); err != nil || root.Checkpoint.Size != int64(len(after)) {
		t.Errorf("%+v, %v", root, err)
	}
}

// A directory of a version before whose log does not end with a whole write is refused, also by a
// repair, and nothing in it is changed: only that version can use its engine's store.
func TestOldTornEnd(t *testing.T) {
	o := unpackOld(t)
	log := last(glob(t, filepath.Join(o.killed.Archive(""), "log", "*.log")))
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(data []byte) []byte { return data[:len(data)-10] },
		"flipped": func(data []byte) []byte { data[len(data)-10] ^= 1; return data },
	} {
		t.Run(name, func(t *testing.T) {
			whole, err := os.ReadFile(log)
			if err == nil {
				err = edit(log, func(data []byte) []byte { return damage(slices.Clone(data)) })
			}
			if err != nil {
				t.Fatal(err)
			}
			before := sums(t, o.killed.Archive(""), filepath.Join(string(o.killed), "engine"))
			opts := box.Options{Dir: o.killed}
			b, _, err := box.Open(t.Context(), opts)
			if err == nil {
				t.Fatalf("it starts: %v", b.Close())
			}
			_, _, repairErr := box.Repair(t.Context(), opts)
			for _, err := range []error{err, repairErr} {
				var damage *archive.Damage
				if !errors.As(err, &damage) || !strings.Contains(err.Error(), "the version of Signalbox before") {
					t.Errorf("it says %v", err)
				}
			}
			if after := sums(t, o.killed.Archive(""), filepath.Join(string(o.killed), "engine")); !maps.Equal(before, after) {
				t.Error("something was changed")
			}
			if err := os.WriteFile(log, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestOldProgram lets the version before check what this one proves, and this one go on with what
// the version before wrote, with the programs of both.
func TestOldProgram(t *testing.T) {
	if *oldProgram == "" {
		t.Skip("needs the program of a version before: give it with -old")
	}
	made, program := makeOldImages(t, *oldProgram), build(t)
	for name, dir := range map[string]box.Dir{"killed": made.killed, "stopped": made.stopped} {
		t.Run(name, func(t *testing.T) {
			goOn(t, dir, made)
			proof := filepath.Join(t.TempDir(), "proof.json")
			data, err := exec.CommandContext(t.Context(), program, "ledger", "prove", "300", "--dir", string(dir)).Output()
			if err == nil {
				err = os.WriteFile(proof, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"ledger", "check", proof, "--key", made.key},
				{"ledger", "verify", "--archive", dir.Archive(""), "--key", made.key},
			} {
				out, err := exec.CommandContext(t.Context(), *oldProgram, args...).CombinedOutput()
				if err != nil {
					t.Errorf("the version before: %v\n%s", err, out)
				}
				t.Logf("%s", out)
			}
		})
	}
}

// makeOldImages has the version before write what testdata/old.tar.gz holds: enough that
// segments of its log were removed.
func makeOldImages(t *testing.T, program string) old {
	t.Helper()
	temp := t.TempDir()
	o := old{killed: box.Dir(filepath.Join(temp, "killed")), stopped: box.Dir(filepath.Join(temp, "stopped")), export: filepath.Join(temp, "export")}
	w := &writer{dir: filepath.Join(temp, "box"), reason: imageReason}
	w.up(t, program)
	w.begin(t)
	w.write(t, 540)
	w.down(t, string(o.stopped))
	w.up(t, program)
	for w.untilSealed(t); ; {
		w.write(t, imageItems)
		if w.sealed(t) < w.events {
			break
		}
	}
	if err := w.box.kill(); err != nil {
		t.Fatal(err)
	}
	w.keep(t, string(o.killed))
	run := func(args ...string) []byte {
		out, err := exec.CommandContext(t.Context(), program, append(args, "--dir", string(o.killed))...).Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}
	run("ledger", "export", o.export)
	proof := filepath.Join(temp, "proof.json")
	if err := os.WriteFile(proof, run("ledger", "prove", "7"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.read(t, proof)
	if *makeOld {
		if err := pack(oldFile, temp, "killed", "stopped", "export", "proof.json"); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// pack writes files and directories below dir into a compressed archive.
func pack(to, dir string, names ...string) (err error) {
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	zip, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	out := tar.NewWriter(zip)
	first := map[string]string{} // of what is the same, by its bytes
	for _, name := range names {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(dir, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rest, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			rest = filepath.ToSlash(rest)
			if first[string(data)] != "" {
				return out.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: rest, Linkname: first[string(data)]})
			}
			first[string(data)] = rest
			if err := out.WriteHeader(&tar.Header{Name: rest, Mode: 0o600, Size: int64(len(data))}); err != nil {
				return err
			}
			_, err = out.Write(data)
			return err
		}))
	}
	return errors.Join(err, out.Close(), zip.Close(), file.Close())
}

// unpack reads what pack wrote.
func unpack(from, dir string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for in := tar.NewReader(zip); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(in)
		if head.Typeflag == tar.TypeLink {
			data, err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(head.Linkname)))
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(head.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			return err
		}
	}
}
