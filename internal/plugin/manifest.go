package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
)

// manifest is what was installed. It lies in the project or the user's directory, so it can come from a stranger: a path that
// no installation writes is refused, and nothing is taken away that has not one of its hashes.
type manifest struct {
	Format int                 `json:"format"`
	Files  map[string][]string `json:"files"`           // hashes of each file: two while one is about to be replaced
	Entry  *entry              `json:"entry,omitempty"` // in a file of the user's
	Dirs   []string            `json:"directories"`     // that were made, the outer ones first

	Removed bool `json:"removed,omitempty"` // this is what a removal left, since it was changed
}

// entry is what is known of an entry in a file of the user's.
type entry struct {
	Path   string   `json:"path"`
	Hashes []string `json:"sha256"`      // of its text
	File   bool     `json:"made_file"`   // there was no such file
	Parent bool     `json:"made_parent"` // there was no object around it
}

const manifestFormat = 1

var errManifest = errors.New("it is no list of installed files that this version of signalbox can read: move it away and install again")

// readManifest reads what an installation of this layout wrote; nil if there is none.
func readManifest(data []byte, l layout) (*manifest, error) {
	if data == nil {
		return nil, nil
	}
	var m manifest
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil || m.Format != manifestFormat {
		return nil, errManifest
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errManifest
	}
	for p := range m.Files {
		if !l.owns(p) {
			return nil, errManifest
		}
	}
	if m.Entry != nil && (l.entry == "" || m.Entry.Path != l.entry) {
		return nil, errManifest
	}
	for _, dir := range m.Dirs {
		if dir != "." && !l.leads(dir) {
			return nil, errManifest
		}
	}
	return &m, nil
}

// owns reports whether an installation could have written the file.
func (l layout) owns(p string) bool {
	return p == path.Clean(p) && slices.ContainsFunc(l.own, func(own string) bool { return strings.HasPrefix(p, own) }) &&
		!slices.Contains(strings.Split(p, "/"), "..") && !strings.ContainsAny(p, `\:`)
}

// leads reports whether an installation could have made the directory.
func (l layout) leads(dir string) bool {
	return l.owns(dir) || dir == path.Clean(dir) &&
		slices.ContainsFunc(l.own, func(own string) bool { return strings.HasPrefix(own, dir+"/") })
}

// has reports whether a file has a hash that it was installed with.
func (m *manifest) has(p string, data []byte) bool {
	return m != nil && slices.Contains(m.Files[p], hash(data))
}

func hash[T string | []byte](data T) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// with returns the manifest while an installation is under way: what was, and what will be, is ours.
func (m *manifest) with(next manifest) manifest {
	if m == nil {
		return next
	}
	both := manifest{Format: manifestFormat, Files: map[string][]string{}, Dirs: next.Dirs, Entry: next.Entry}
	for _, files := range []map[string][]string{m.Files, next.Files} {
		for p, hashes := range files {
			both.Files[p] = union(both.Files[p], hashes)
		}
	}
	if m.Entry != nil && next.Entry != nil {
		e := *next.Entry
		e.Hashes = union(m.Entry.Hashes, e.Hashes)
		both.Entry = &e
	}
	return both
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, h := range b {
		if !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	return all
}
