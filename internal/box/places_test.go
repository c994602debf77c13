package box

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// placed opens a box, adds an item if it has a name, and closes the box.
func placed(t *testing.T, o Options, id string) (Found, error) {
	t.Helper()
	b, found, err := Open(t.Context(), o)
	if err != nil {
		return found, err
	}
	if id != "" {
		_, err = b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: id, Title: "work", Phase: agentsig.PhaseImplementation}, id)
	}
	return found, errors.Join(err, b.Close())
}

func expectDamage(t *testing.T, err error, says string) {
	t.Helper()
	var damage *archive.Damage
	if !errors.As(err, &damage) || !strings.Contains(err.Error(), says) || damage.Advice == "" {
		t.Errorf("got %v; it should say %q", err, says)
	}
}

// The log lies where the settings say, also after the setting is gone, until it is moved back.
func TestSegmentsElsewhere(t *testing.T) {
	t.Parallel()
	disks := t.TempDir()
	dir, segments := Dir(filepath.Join(disks, "box")), filepath.Join(disks, "segments")
	o := Options{Dir: dir}
	if _, err := placed(t, o, "A"); err != nil {
		t.Fatal(err)
	}
	o.Segments = segments
	_, err := placed(t, o, "")
	expectDamage(t, err, "but in "+filepath.Join(string(dir), "archive", "log"))
	if err := os.Rename(filepath.Join(string(dir), "archive", "log"), segments); err != nil {
		t.Fatal(err)
	}
	for i, configured := range []string{segments, ""} {
		o.Segments = configured
		if found, err := placed(t, o, string("BC"[i])); err != nil || found.Events != uint64(i)+1 {
			t.Errorf("%d: %d events, %v", i, found.Events, err)
		}
	}
	if _, err := os.Stat(filepath.Join(string(dir), "archive", "log")); err == nil {
		t.Error("the archive has a log again")
	}
	lost := segments + ".lost"
	if err := os.Rename(segments, lost); err != nil {
		t.Fatal(err)
	}
	_, err = placed(t, o, "")
	expectDamage(t, err, "is its disk there?")
	if err := os.Rename(lost, filepath.Join(string(dir), "archive", "log")); err != nil {
		t.Fatal(err)
	}
	if found, err := placed(t, o, ""); err != nil || found.Events != 3 {
		t.Errorf("moved back: %d events, %v", found.Events, err)
	}
	if _, err := os.Stat(dir.path(segmentsFile)); err == nil {
		t.Error("it still says that the log lies elsewhere")
	}
}

// A repair makes the log again whose disk is lost.
func TestSegmentsLost(t *testing.T) {
	t.Parallel()
	disks := t.TempDir()
	o := Options{Dir: Dir(filepath.Join(disks, "box")), Segments: filepath.Join(disks, "segments"), Mirror: filepath.Join(disks, "mirror")}
	if _, err := placed(t, o, "A"); err != nil {
		t.Fatal(err)
	}
	for _, lost := range []string{o.Segments, o.Mirror} {
		if err := os.RemoveAll(lost); err != nil {
			t.Fatal(err)
		}
		_, err := placed(t, o, "")
		expectDamage(t, err, "ledger repair")
		if done, found, err := Repair(t.Context(), o); err != nil || len(done) == 0 || found.Events != 1 {
			t.Errorf("did %q, found %d events, %v", done, found.Events, err)
		}
		if found, err := placed(t, o, ""); err != nil || found.Events != 1 || len(found.Notes) > 0 {
			t.Errorf("then %+v, %v", found, err)
		}
	}
}

// No two boxes share a directory, and no box uses one twice.
func TestPlacesAreNotShared(t *testing.T) {
	disks := t.TempDir()
	place := func(name string) string { return filepath.Join(disks, name) }
	b, _, err := Open(t.Context(), Options{Dir: Dir(place("one")), Segments: place("segments"), Mirror: place("mirror")})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Segments: place("segments")}, {Mirror: place("mirror")}, {Segments: place("mirror")}, {Mirror: place("segments")}} {
		o.Dir = Dir(t.TempDir())
		if _, err := placed(t, o, ""); !errors.Is(err, ErrLocked) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: "A", Title: "work", Phase: agentsig.PhaseImplementation}, "A"); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = placed(t, Options{Dir: Dir(t.TempDir()), Mirror: place("mirror")}, "")
	expectDamage(t, err, "") // the mirror of another box, which does not run
	if err := os.Symlink(place("segments"), place("link")); err != nil {
		t.Fatal(err)
	}
	if _, err := placed(t, Options{Dir: Dir(place("one")), Mirror: place("link")}, ""); err == nil || !strings.Contains(err.Error(), "the same directory") {
		t.Errorf("a link to the log's directory: %v", err)
	}
	one := filepath.Join(t.TempDir(), "box")
	if _, err := placed(t, Options{Dir: Dir(one)}, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(one, "archive", "log"), place("other")); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{
		{Mirror: filepath.Join(one, "archive", "log")}, {Mirror: place("other")}, {Mirror: filepath.Join(place("other"), "new")}, {Mirror: filepath.Join(one, "archive", "tile", "new")},
		{Segments: filepath.Join(one, "archive", "tmp")}, {Segments: place("log"), Mirror: filepath.Join(place("log"), "mirror")},
	} {
		o.Dir = Dir(one)
		if _, err := placed(t, o, ""); err == nil {
			t.Errorf("segments %q, mirror %q: it starts", o.Segments, o.Mirror)
		}
	}
	fresh := filepath.Join(t.TempDir(), "box")
	t.Chdir(filepath.Dir(fresh))
	if _, err := placed(t, Options{Dir: Dir(fresh), Mirror: "box/archive/log"}, ""); err == nil || !strings.Contains(err.Error(), "lies in") {
		t.Errorf("a new box whose mirror is in its archive: %v", err)
	}
	if _, err := placed(t, Options{Dir: Dir(fresh)}, ""); err != nil {
		t.Errorf("the same with other settings: %v", err)
	}
	if _, err := placed(t, Options{Dir: Dir(one), Mirror: filepath.Join(one, "mirror")}, ""); err != nil {
		t.Errorf("a mirror beside the archive: %v", err)
	}
}

// Agents and models see nothing of the ledger, wherever its parts lie, or lay when the box was started
// with other settings.
func TestPlacesAreHidden(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	expect := func(c config.Archive, want ...string) {
		t.Helper()
		got, err := dir.Hidden(c)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, hidden (-want +got):\n%s", err, diff)
		}
	}
	expect(config.Archive{}, string(dir), dir.path(archiveDir))
	set := config.Archive{Dir: "/a", Segments: "/s", Mirror: "/m"}
	expect(set, string(dir), "/a", "/s", "/m")
	disks := t.TempDir()
	place := func(name string) string { return filepath.Join(disks, name) }
	b, _, err := Open(t.Context(), Options{Dir: dir, Archive: place("archive"), Segments: place("segments"), Mirror: place("mirror")})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	expect(set, string(dir), "/a", "/s", "/m", place("archive"), place("segments"), place("mirror"))
	expect(config.Archive{}, string(dir), place("archive"), place("segments"), place("mirror"))
	b, _, err = Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	expect(config.Archive{}, string(dir), place("archive"), place("segments"))
}

// Where the archive lies is asked when no other box decides it: one that begins has the lock before it
// has noted the place.
func TestBeginsElsewhere(t *testing.T) {
	t.Parallel()
	disks := t.TempDir()
	dir := Dir(filepath.Join(disks, "box"))
	b, _, err := Open(t.Context(), Options{Dir: dir, Archive: filepath.Join(disks, "archive")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir.path(archiveFile)); err != nil { // it is not noted yet
		t.Fatal(err)
	}
	if _, _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Errorf("another that starts is told: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
