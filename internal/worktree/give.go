package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// give brings what a commit has and an older one has not to the user's repository, as a pack.
// Git looks into packs before it looks at loose objects, which agents can overwrite: what was
// judged is found under its name, whatever lies there loose. That is also why git itself is not
// told to take the pack: it would stumble over the loose one.
func (x *Exchange) give(ctx context.Context, commit, since string) error {
	return x.pack(ctx, commit+"\n^"+since+"\n", "--revs")
}

// Guard brings those objects to the user's repository as a pack that are here and lie loose
// there: what a run starts from can't be overwritten by an agent then, as packs can't.
func (x *Exchange) Guard(ctx context.Context) error {
	loose, err := x.user.loose(ctx)
	if err != nil || len(loose) == 0 {
		return err
	}
	var found limited
	err = x.run(ctx, x.home, call{
		args: []string{"cat-file", "--batch-check=%(objectname)", "--buffer"}, stdin: strings.Join(loose, "\n") + "\n", out: &found,
	})
	if err != nil {
		return err
	}
	var here strings.Builder
	for line := range strings.Lines(string(found.text)) {
		if !strings.Contains(line, " ") && strings.HasSuffix(line, "\n") { // "NAME missing"
			here.WriteString(line)
		}
	}
	if here.Len() == 0 {
		return nil
	}
	return x.pack(ctx, here.String())
}

// maxLoose is how many loose objects are looked at; git packs them itself long before.
const maxLoose = 20_000

// loose names the objects that lie loose, and in no pack.
func (r *Repo) loose(ctx context.Context) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(globbed(r.common), "objects", "[0-9a-f][0-9a-f]", "*"))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	packed := map[string]bool{}
	var out limited
	if err := r.run(ctx, r.home, call{args: []string{"prune-packed", "--dry-run"}, out: &out}); err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out.text)) {
		packed[objectName(strings.TrimSpace(line))] = true
	}
	var names []string
	for _, file := range files {
		if name := objectName(file); !packed[name] && len(names) < maxLoose && strings.Trim(name, "0123456789abcdef") == "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// globbed makes a path stand for itself in a pattern.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// objectName is the name of an object, by the file that it lies in.
func objectName(file string) string {
	return filepath.Base(filepath.Dir(file)) + filepath.Base(file)
}

// outgoing begins the name of a directory with what is being brought to the user's repository.
const outgoing = "outgoing-"

// clearOutgoing removes what a process that was killed was about to bring.
func (x *Exchange) clearOutgoing() error {
	left, err := filepath.Glob(filepath.Join(globbed(x.common), outgoing+"*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// pack brings objects to the user's repository that git is told of on its standard input.
func (x *Exchange) pack(ctx context.Context, which string, options ...string) error {
	dir, err := os.MkdirTemp(x.common, outgoing)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var name limited
	args := slices.Concat([]string{"-c", "pack.packSizeLimit=0", "pack-objects", "--quiet"}, options, []string{filepath.Join(dir, "pack")})
	if err := x.run(ctx, x.home, call{args: args, stdin: which, out: &name}); err != nil {
		return err
	}
	pack := "pack-" + strings.TrimSpace(string(name.text))
	to := filepath.Join(x.user.common, "objects", "pack")
	if err := os.MkdirAll(to, 0o777); err != nil { // as git does: the user's mask decides
		return err
	}
	for _, end := range []string{".pack", ".idx"} { // the index last: git finds packs by it
		if err := placeFile(filepath.Join(dir, pack+end), filepath.Join(to, pack+end)); err != nil {
			return fmt.Errorf("objects could not be brought to %s: %w", safetext.Escape(to), err)
		}
	}
	return nil
}

// placeFile copies a file to where it is there as a whole or not at all. One that is there has
// the same contents: packs are named by them.
func placeFile(from, to string) (err error) {
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.CreateTemp(filepath.Dir(to), "tmp_"+filepath.Base(to)+"_") // which git clears away, if it is left
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	err = errors.Join(err, target.Chmod(0o444), target.Sync(), target.Close())
	if err == nil {
		err = os.Rename(target.Name(), to)
	}
	if err != nil {
		_ = os.Remove(target.Name())
	}
	return err
}
