// Package backup makes one file of a box's directory, and a directory of that file.
//
// A backup is a gzipped tar archive. It holds what can't be made again: the
// ledger's archive with its log, wherever that lies, the keys, the tokens, what
// sessions left, and what the gate's checks printed. It does not hold the snapshot and the index, which are made from
// the archive, nor the mirror of the log.
//
// A box may run meanwhile. Of its archive only the checkpoint, the last file of the log,
// and the last tile of each level change; they are read together, until a reading lies
// between two checkpoints. Everything else is never changed once it is there. So
// the copy ends at a whole event, and has every event that was acknowledged before
// it began. It is verified before it is packed.
//
// Of a box in a cluster it holds neither who that box is there nor its log there: a disk that was put back has no place in a cluster. The log
// of a box that stands alone is made in their place, of what the checkpoint covers.
//
// The last file, SHA256SUMS, has the hashes of the others, in the form that
// sha256sum -c reads. It finds accidents, and edits of what nothing else proves;
// whoever has the backup has the signer's key, too.
package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/stage"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// What lies in a backup. The names are those of a box's directory.
const (
	archiveDir  = "archive"
	sessionsDir = "sessions"
	gateLogsDir = "gates/log"
	aboutFile   = "backup.json" // of the backup alone; its first file
	sumsFile    = "SHA256SUMS"  // of the backup alone; its last file
)

// Report says what a backup holds.
type Report struct {
	Events int64 `json:"events"`
	Items  int   `json:"items"`            // work items
	Member bool  `json:"member,omitempty"` // the box was in a cluster, and the one that is restored stands alone
}

// about is the backup's first file.
type about struct {
	Format int `json:"format"`
	Report
}

const format = 1

// Write writes a backup of the box in dir, with the files of its archive, to a
// file that is not there yet and that only its owner can read. It needs room for an
// unpacked copy beside the file.
func Write(ctx context.Context, dir string, files archive.FS, file string) (r Report, err error) {
	s, err := stage.ForFile(file)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c := copier{ctx: ctx, from: dir, to: s.Path("content"), files: files}
	if r, err = c.copyBox(); err != nil {
		return Report{}, err
	}
	if err := pack(ctx, c.to, s.Path("packed"), r); err != nil {
		return Report{}, err
	}
	return r, s.PlaceFile("packed")
}

// verify checks an unpacked backup, and says what it holds.
func verify(ctx context.Context, dir string) (Report, error) {
	verifier, err := checkSecrets(dir)
	if err != nil {
		return Report{}, err
	}
	files := archive.Dir(filepath.Join(dir, archiveDir))
	if _, err := archive.Verify(ctx, files, verifier); err != nil {
		return Report{}, fmt.Errorf("the ledger does not verify: %w", err)
	}
	var r Report
	err = archive.Events(ctx, files, verifier, func(_ int64, stored []byte) error {
		e, err := ledger.Decode(stored)
		if r.Events++; e.Type == work.WorkAdded {
			r.Items++
		}
		return err
	})
	return r, err
}

// pack writes the files below a directory to a file.
func pack(ctx context.Context, dir, file string, r Report) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	p := packer{tar: tar.NewWriter(z)}
	text, err := json.Marshal(about{format, r})
	if err == nil {
		err = p.add(aboutFile, int64(len(text)), strings.NewReader(string(text)))
	}
	if err == nil {
		err = p.walk(ctx, dir)
	}
	if err == nil {
		sums := p.sums.String()
		err = p.add(sumsFile, int64(len(sums)), strings.NewReader(sums))
	}
	return errors.Join(err, p.tar.Close(), z.Close(), f.Sync(), f.Close())
}

// packer writes files to a tar archive, and remembers their hashes.
type packer struct {
	tar  *tar.Writer
	sums strings.Builder
}

func (p *packer) walk(ctx context.Context, dir string) error {
	files := os.DirFS(dir)
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil || d.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // read only
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return p.add(name, info.Size(), f)
	})
}

func (p *packer) add(name string, size int64, content io.Reader) error {
	h := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: size, Format: tar.FormatPAX}
	if err := p.tar.WriteHeader(&h); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(p.tar, sum), content); err != nil {
		return err
	}
	fmt.Fprintf(&p.sums, "%x  %s\n", sum.Sum(nil), name)
	return nil
}
