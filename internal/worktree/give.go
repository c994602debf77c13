package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// give brings what a commit has and an older one has not to the user's repository, as a pack.
// Git looks into packs before it looks at loose objects, which agents can overwrite: what was
// judged is found under its name, whatever lies there loose. That is also why git itself is not
// told to take the pack: it would stumble over the loose one.
func (x *Exchange) give(ctx context.Context, commit, since string) error {
	dir, err := os.MkdirTemp(x.common, "outgoing-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var name limited
	err = x.run(ctx, x.home, call{
		args:  []string{"-c", "pack.packSizeLimit=0", "pack-objects", "--quiet", "--revs", filepath.Join(dir, "pack")},
		stdin: commit + "\n^" + since + "\n", out: &name,
	})
	if err != nil {
		return err
	}
	pack := "pack-" + strings.TrimSpace(string(name.text))
	to := filepath.Join(x.user.common, "objects", "pack")
	if err := os.MkdirAll(to, 0o777); err != nil { // as git does: the user's mask decides
		return err
	}
	for _, end := range []string{".pack", ".idx"} { // the index last: git finds packs by it
		if err := placeFile(filepath.Join(dir, pack+end), filepath.Join(to, pack+end)); err != nil {
			return fmt.Errorf("what is to be merged could not be brought to %s: %w", agentsig.Escape(to), err)
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
