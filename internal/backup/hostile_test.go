package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/backup"
)

// entry is a file of a backup.
type entry struct {
	tar.Header
	data []byte
}

func file(name, data string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(data))}, []byte(data)}
}

// unpack returns the files of a backup without SHA256SUMS.
func unpack(t *testing.T, path string) []entry {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var all []entry
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all[:len(all)-1]
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file(h.Name, string(data)))
	}
}

// sums returns SHA256SUMS of entries.
func sums(entries []entry) entry {
	var text strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(e.data), e.Name)
	}
	return file("SHA256SUMS", text.String())
}

// pack makes a file of entries. An entry may be shorter than its header says.
func pack(t *testing.T, entries []entry, after ...byte) []byte {
	t.Helper()
	var tarred, zipped bytes.Buffer
	w := tar.NewWriter(&tarred)
	for _, e := range entries {
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close() // an entry may be short
	z := gzip.NewWriter(&zipped)
	content := bytes.ReplaceAll(tarred.Bytes(), []byte(notSparse), []byte("GNU.sparse."))
	if _, err := z.Write(append(content, after...)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return zipped.Bytes()
}

// notSparse is what [pack] makes the prefix of sparse entries' records: package tar writes none.
const notSparse = "XNU.sparse."

// hole returns a file of 512 bytes that stands for one with a hole.
func hole(name string, size int) entry {
	e := file(name, "1\n"+strconv.Itoa(size)+"\n0\n"+strings.Repeat("\x00", 507-len(strconv.Itoa(size))))
	e.PAXRecords = map[string]string{notSparse + "major": "1", notSparse + "minor": "0", notSparse + "name": name, notSparse + "realsize": strconv.Itoa(size)}
	return e
}

// refused restores a file that must be refused as damaged, for a reason, and leave
// nothing behind.
func refused(t *testing.T, what string, data []byte, reason string) {
	t.Helper()
	dir := t.TempDir()
	path, box := filepath.Join(dir, "b"), filepath.Join(dir, "box")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := restore(t.Context(), path, box)
	if !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: %v, want an error with %q", what, err, reason)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%s: left behind: %v, %v", what, names, err)
	}
}

// TestEdits changes bytes inside of a backup: each is found, also where the sums
// were made to fit.
func TestEdits(t *testing.T) {
	entries := unpack(t, backUp(t, small(t)))
	parts := 10
	if testing.Short() {
		parts = 2
	}
	for i, e := range entries {
		step := max(1, len(e.data)/parts)
		for at := 0; at < len(e.data); at += step {
			edited := slices.Clone(entries)
			edited[i].data = bytes.Clone(e.data)
			edited[i].data[at] ^= 0x10
			what := fmt.Sprintf("byte %d of %s", at, e.Name)
			if at == 0 && e.Name != "backup.json" {
				refused(t, what, pack(t, append(edited, sums(entries))), fmt.Sprintf("%q is not what was backed up", e.Name))
			}
			if strings.HasPrefix(e.Name, "archive/") {
				refused(t, what, pack(t, append(edited, sums(edited))), "the ledger does not verify")
			}
		}
		if e.Name == "backup.json" {
			continue
		}
		without := slices.Delete(slices.Clone(entries), i, i+1)
		refused(t, "without "+e.Name, pack(t, append(without, sums(entries))), fmt.Sprintf("%q is missing", e.Name))
		if strings.HasPrefix(e.Name, "archive/") && e.Name != "archive/key" {
			refused(t, "without "+e.Name, pack(t, append(without, sums(without))), "")
		}
	}
}

// TestDamagedFile cuts and breaks the file itself.
func TestDamagedFile(t *testing.T) {
	path := backUp(t, small(t))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := 40
	if testing.Short() {
		parts = 8
	}
	for n := 0; n < len(data); n += max(1, len(data)/parts) {
		refused(t, fmt.Sprintf("cut to %d of %d bytes", n, len(data)), data[:n], "")
		broken := bytes.Clone(data)
		broken[n] ^= 1
		if sameContent(broken, data) { // the bit says nothing, as in the header, or where deflate pads
			continue
		}
		refused(t, fmt.Sprintf("byte %d broken", n), broken, "")
	}
	refused(t, "cut by one byte", data[:len(data)-1], "it was cut off")
	refused(t, "another after it", append(bytes.Clone(data), data...), "something follows it")
	refused(t, "not gzip", []byte("hello, this is no backup"), "it does not begin as one")
}

// sameContent says whether two gzipped files are whole and hold the same.
func sameContent(a, b []byte) bool {
	read := func(data []byte) []byte {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil
		}
		content, err := io.ReadAll(z)
		if err != nil {
			return nil
		}
		return content
	}
	content := read(a)
	return content != nil && bytes.Equal(content, read(b))
}

// TestHostile: names, links, sizes and order.
func TestHostile(t *testing.T) {
	good := unpack(t, backUp(t, small(t)))
	with := func(extra ...entry) []entry {
		all := append(slices.Clone(good), extra...)
		return append(all, sums(all))
	}
	for i, name := range []string{
		"../x", "/etc/x", "archive/../../x", "archive/./x", "archive//x", "sessions/..", "archive", "engine/x", "x", "lock",
		"signer.key/x", `archive\x`, "sessions/a\nb", "sessions/\x1b[1m", "archive/../signer.key",
		"gates/log", "gates/x.log", "gates/0/x.log", "gates/log/x", "gates/log/.log", "gates/log/x.log", "gates/log/..log", "gates/log/-1.1.log",
		"gates/log/R 1.log", "gates/log/R1-1.log", "gates/log/R1-1.01.log", "gates/log/R1-1.1", "gates/log/R1-1.1.log.log", "gates/log/R1-1.1/x.log",
		"gates/log/R1.log/R1.log", "gates/log/R1/R1.log", "gates/log//R1.log", "gates/log/../R1.log", "gates/log/../../R1.log", "/gates/log/R1.log",
		`gates\log\R1.log`, "gates/log/R\n1.log", "gates/log/\x1b[1m.log", "gates/LOG/R1.log", "log/R1.log", "gates/log/" + strings.Repeat("R", 256) + ".log",
		"sessions/" + strings.Repeat("a/", 40) + "x", "sessions/" + strings.Repeat("a", 1<<10), "sessions/" + strings.Repeat("a", 256) + "/x",
	} {
		if !testing.Short() || i%4 == 0 {
			refused(t, name, pack(t, with(file(name, "x"))), "does not belong there")
		}
	}
	for _, name := range []string{"sessions/x", "gates/log/R1.log", "gates/log"} {
		for _, kind := range []byte{tar.TypeSymlink, tar.TypeLink, tar.TypeDir, tar.TypeFifo, tar.TypeChar} {
			e := file(name, "")
			e.Typeflag, e.Linkname = kind, "/etc/passwd"
			refused(t, name+" as "+string(kind), pack(t, with(e)), "is not a file")
		}
	}
	for _, name := range []string{"sessions/x", "gates/log/R1.log"} {
		large := file(name, "")
		large.Size = 1<<30 + 1
		refused(t, "a large "+name, pack(t, append(slices.Clone(good), large)), "which is too much")
	}
	for i, e := range good {
		if !strings.Contains(e.Name, "/") { // backup.json, keys and tokens
			long := slices.Clone(good)
			long[i] = file(e.Name, strings.Repeat(" ", 1<<17))
			refused(t, "a long "+e.Name, pack(t, append(long, sums(long))), "which is too much")
		}
	}
	for _, name := range []string{"sessions/x", "gates/log/R1.log"} {
		refused(t, name+" with a hole", pack(t, append(slices.Clone(good), hole(name, 1<<29))), "has holes")
	}
	short := file("sessions/x", "abc")
	short.Size = 4096
	refused(t, "a file that is cut off", pack(t, append(slices.Clone(good), short)), "it was cut off")
	refused(t, "a file twice", pack(t, with(good[1])), "is there twice")
	refused(t, "a log twice", pack(t, with(file(gateLog, "checked\n"))), "is there twice")
	refused(t, "a file in the place of a directory", pack(t, with(file("sessions/S-1", ""))), "sessions/S-1")
	refused(t, "a directory in the place of a file", pack(t, with(file("sessions/S-1/transcript/x", ""))), "transcript")
	refused(t, "directories in the place of a file", pack(t, with(file("sessions/S-1/transcript/x/y", ""))), "transcript")
	refused(t, "no sums", pack(t, good), "it ends before SHA256SUMS")
	refused(t, "more after the sums", pack(t, append(with(), file("sessions/x", ""))), "it goes on after SHA256SUMS")
	refused(t, "a file that is not in the sums", pack(t, append(slices.Clone(good), file("sessions/x", ""), sums(good))), `"sessions/x" is not in SHA256SUMS`)
	refused(t, "padding without end", pack(t, with(), make([]byte, 2<<20)...), "it goes on after SHA256SUMS")
	refused(t, "another order", pack(t, append([]entry{good[1], good[0]}, good[2:]...)), "it does not begin with backup.json")
	refused(t, "nothing", pack(t, nil), "it ends before SHA256SUMS")
	lie := slices.Clone(good)
	lie[0] = file("backup.json", `{"format":1,"events":1000,"items":3}`)
	refused(t, "a wrong count", pack(t, append(lie, sums(lie))), "and says 1000; work items: it has 3, and says 3")

	path := filepath.Join(t.TempDir(), "b")
	lie[0] = file("backup.json", `{"format":2}`)
	if err := os.WriteFile(path, pack(t, append(lie, sums(lie))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t.Context(), path, path+".box"); err == nil || !strings.Contains(err.Error(), "its format is 2") {
		t.Errorf("another format: %v", err)
	}
	if err := os.WriteFile(path, pack(t, with()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t.Context(), path, path+".box"); err != nil {
		t.Errorf("one that is packed as it should be: %v", err)
	}
}
