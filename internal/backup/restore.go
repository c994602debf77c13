package backup

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/stage"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// ErrDamaged is returned for a file that is no backup, or not a whole one.
var ErrDamaged = errors.New("this is no whole backup, and nothing was restored")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w: use another copy of it", ErrDamaged, fmt.Errorf(format, args...))
}

// unable says that this machine can't unpack a backup, which may be whole.
func unable(err error) error {
	return fmt.Errorf("it can't be unpacked here, and nothing was restored: %w", err)
}

// Limits of what is unpacked.
const (
	maxFile  = 1 << 30  // bytes of a file
	maxFiles = 1 << 22  // files
	maxSmall = 64 << 10 // bytes of a file that is read at once: backup.json, keys, tokens
)

// Restore unpacks a backup, verifies it, and makes it the directory dir, which is not there or empty. If it fails, the
// directory is as it was. The file may be a pipe: when ctx ends, nobody waits for it any more. It is the caller's to
// close.
func Restore(ctx context.Context, file *os.File, dir string) (r Report, err error) {
	s, err := stage.ForDir(dir)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	in := until(ctx, file)
	defer func() { _ = in.Close() }() // always nil
	if r, err = unpackTo(ctx, in, s.Path("content")); err != nil {
		return Report{}, fmt.Errorf("%s: %w", safetext.Escape(file.Name()), err)
	}
	return r, s.PlaceDir("content")
}

// until returns what comes from in, and the error of ctx once that ends. A read that still waits then is left behind,
// as not every system ends that of a pipe: it ends with the pipe, or the program.
func until(ctx context.Context, in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) }) // always nil
	go func() {
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err) // always nil
		stop()
	}()
	return r
}

// unpackTo unpacks a backup into a directory, which it makes, verifies it, and makes it durable.
func unpackTo(ctx context.Context, f io.Reader, dir string) (Report, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return Report{}, unable(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Report{}, unable(err)
	}
	u := unpacker{ctx: ctx, root: root, sums: map[string]string{}}
	if err := errors.Join(u.unpack(f), root.Close()); err != nil {
		return Report{}, cmp.Or(ctx.Err(), err) // what was not read to its end is not damaged
	}
	r, err := verify(ctx, dir)
	if err != nil {
		return Report{}, unverified(err)
	}
	if r.Member = u.about.Member; r != u.about.Report {
		return Report{}, damaged("events: it has %d, and says %d; work items: it has %d, and says %d", r.Events, u.about.Events, r.Items, u.about.Items)
	}
	err = os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600) // as a box has it
	if err == nil {
		err = syncDirs(dir)
	}
	if err != nil {
		return Report{}, unable(err)
	}
	return r, nil
}

// unverified says why what was unpacked is no box. What the system says of a file is about this machine, unless it is
// that the backup does not have the file.
func unverified(err error) error {
	var code syscall.Errno
	if errors.As(err, &code) && !errors.Is(code, fs.ErrNotExist) || errors.Is(err, context.Canceled) {
		return unable(err)
	}
	return damaged("%w", err)
}

// syncDirs makes the names of files durable.
func syncDirs(root string) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return durable.SyncDir(name)
	})
}

// unpacker takes files out of a backup, and trusts nothing about them.
type unpacker struct {
	ctx   context.Context
	root  *os.Root
	about about
	sums  map[string]string // of every file so far
}

func (u *unpacker) unpack(f io.Reader) error {
	in := bufio.NewReader(f)
	z, err := gzip.NewReader(in)
	if err != nil {
		return damaged("it does not begin as one: %w", err)
	}
	z.Multistream(false)
	t := tar.NewReader(z)
	for {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return damaged("%w", whole(err))
		case err != nil:
			return damaged("it ends before %s", sumsFile)
		case h.Typeflag != tar.TypeReg:
			return damaged("%q is not a file", h.Name)
		}
		if h.Name == sumsFile {
			if err := u.checkSums(t); err != nil {
				return err
			}
			break
		}
		if err := u.take(h, t); err != nil {
			return err
		}
	}
	_, err = t.Next()
	if errors.Is(err, io.EOF) {
		_, err = io.CopyN(io.Discard, z, maxPadding) // after which is the checksum
	}
	if err == nil {
		return damaged("it goes on after %s", sumsFile)
	}
	if !errors.Is(err, io.EOF) {
		return damaged("%w", whole(err))
	}
	if _, err := in.Peek(1); !errors.Is(err, io.EOF) {
		return damaged("something follows it")
	}
	return nil
}

// maxPadding is more than any program pads a tar archive with.
const maxPadding = 1 << 20

// whole says in words that a file was cut off.
func whole(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it was cut off")
	}
	return err
}

// take writes one file.
func (u *unpacker) take(h *tar.Header, content io.Reader) error {
	name := h.Name
	switch {
	case len(u.sums) == 0 && name != aboutFile:
		return damaged("it does not begin with %s", aboutFile)
	case name == aboutFile && len(u.sums) > 0, u.sums[name] != "":
		return damaged("%q is there twice", name)
	case name != aboutFile && !expected(name):
		return damaged("%q does not belong there", name)
	case h.Size > maxFile || h.Size > maxSmall && (name == aboutFile || isSecret(name)):
		return damaged("%q has %d bytes, which is too much", name, h.Size)
	case sparse(h):
		return damaged("%q has holes, which no backup has", name)
	case len(u.sums) == maxFiles:
		return damaged("it has more than %d files", maxFiles)
	}
	sum := sha256.New()
	content = io.TeeReader(content, sum)
	var err error
	switch {
	case name == aboutFile:
		err = u.readAbout(content)
	case ofProcess(name): // as no backup has it
		if _, err = io.Copy(io.Discard, content); err != nil {
			err = damaged("%q: %w", name, whole(err))
		}
	default:
		err = u.write(name, content)
	}
	u.sums[name] = fmt.Sprintf("%x", sum.Sum(nil))
	return err
}

// sparse reports whether an entry is stored without its holes: a few bytes that would fill a disk.
func sparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

func (u *unpacker) readAbout(content io.Reader) error {
	text, err := io.ReadAll(content)
	if err != nil {
		return damaged("%w", whole(err))
	}
	if err := json.Unmarshal(text, &u.about); err != nil {
		return damaged("%s: %w", aboutFile, err)
	}
	if u.about.Format != format {
		return fmt.Errorf("its format is %d, and this program reads %d: use the program that wrote it", u.about.Format, format)
	}
	return nil
}

// A name's length in bytes, that of its parts, and how deep its file lies, at most.
const (
	maxName  = 1 << 10
	maxPart  = 255 // of what lies between two slashes, which is what file systems have
	maxDepth = 32
)

// expected says whether a name can be that of a file in a backup.
func expected(name string) bool {
	if len(name) > maxName || strings.Count(name, "/") >= maxDepth {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxPart {
			return false
		}
	}
	if path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)) || safetext.Escape(name) != name || strings.Contains(name, `\`) {
		return false
	}
	return isSecret(name) || strings.HasPrefix(name, archiveDir+"/") || strings.HasPrefix(name, sessionsDir+"/") || isGateLog(name)
}

// isGateLog says whether a name is one that a log of the gate can have: that of the session whose work was checked, or
// the subject if there was none.
func isGateLog(name string) bool {
	dir, file := path.Split(name)
	subject, ok := strings.CutSuffix(file, ".log")
	if of, _, err := work.ParseSession(subject); err == nil {
		subject = of
	}
	return ok && dir == gateLogsDir+"/" && subject != "" && strings.Trim(subject, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func (u *unpacker) write(name string, content io.Reader) error {
	err := u.root.MkdirAll(path.Dir(name), 0o700)
	var f *os.File
	if err == nil {
		f, err = u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if inTheWay(err) {
		return damaged("%q: %w", name, err)
	}
	if err != nil {
		return unable(err)
	}
	r := &reading{from: content}
	_, err = io.Copy(f, r)
	if r.err != nil {
		return errors.Join(damaged("%q: %w", name, whole(r.err)), f.Close())
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return unable(err)
	}
	return nil
}

// inTheWay reports whether a file can't be made because the backup has a file where it should have a directory, or
// the other way round: nobody else writes there.
func inTheWay(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist)
}

// reading keeps the error of a reader apart from that of a writer.
type reading struct {
	from io.Reader
	err  error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// checkSums holds the hashes of all files against the backup's last one.
func (u *unpacker) checkSums(content io.Reader) error {
	lines := bufio.NewScanner(content)
	for lines.Scan() {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		switch got, ok := u.sums[name]; {
		case !ok:
			return damaged("%q is missing, or named twice in %s", name, sumsFile)
		case got != sum:
			return damaged("%q is not what was backed up", name)
		}
		delete(u.sums, name)
	}
	if err := lines.Err(); err != nil {
		return damaged("%s: %w", sumsFile, whole(err))
	}
	if len(u.sums) > 0 {
		return damaged("%q is not in %s", slices.Min(slices.Collect(maps.Keys(u.sums))), sumsFile)
	}
	return nil
}
