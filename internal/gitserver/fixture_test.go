package gitserver_test

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/gitserver"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

const (
	ours = "refs/tasks/R1/A/1.1.2" // the ref that may be pushed
	zero = "0000000000000000000000000000000000000000"
	can  = " report-status side-band-64k object-format=sha1 agent=git/2.39.5"
)

// served is a repository with something to hide, and a server for it.
type served struct {
	t      *testing.T
	dir    string
	url    string
	access gitserver.Access
	log    *logged
	names  map[string]string // of objects: trunk, earlier, secret, secret^{tree}, secret:key
}

// logged is what the server has said to the log.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newServed(t *testing.T, limits gitserver.Limits) *served {
	t.Helper()
	s := &served{t: t, dir: gittest.New(t), log: &logged{}, names: map[string]string{}}
	for name, text := range map[string]string{"secret": "key", "other": "mine"} {
		blob := gittest.GitIn(t, s.dir, text, "hash-object", "-w", "--stdin")
		tree := gittest.GitIn(t, s.dir, "100644 blob "+blob+"\tkey\n", "mktree")
		s.git("update-ref", "refs/heads/"+name, s.git("commit-tree", "-m", name, tree))
	}
	earlier := s.git("rev-parse", "trunk")
	s.git("commit", "-q", "--allow-empty", "-m", "second")
	s.git("update-ref", "refs/tasks/R1/A/1.1.1", "trunk")
	s.git("update-ref", "refs/tasks/R1/B/1.1.1", "refs/heads/secret")
	s.git("tag", "-a", "-m", "hidden tag", "v1", "trunk")
	s.git("symbolic-ref", "HEAD", "refs/heads/secret")
	for _, name := range []string{"trunk", "refs/heads/secret", "refs/heads/secret^{tree}", "refs/heads/secret:key", "refs/tags/v1"} {
		s.names[name] = s.git("rev-parse", name)
	}
	s.names["earlier"] = earlier
	s.access = gitserver.Access{Fetch: []string{"refs/heads/trunk", "refs/tasks/R1/A/"}, Push: ours}
	repo, err := worktree.Open(t.Context(), s.dir)
	if err != nil {
		t.Fatal(err)
	}
	git := gitserver.New(repo, limits, slog.New(slog.NewTextHandler(s.log, nil)))
	l := httptest.NewUnstartedServer(nil)
	server := httpserver.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := httpserver.Admit(w, r); err != nil {
			t.Error(err)
		}
		git.Serve(w, r, strings.TrimPrefix(r.URL.Path, "/"), s.access)
	}), slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(l.Listener) }()
	t.Cleanup(func() { _ = server.Close() })
	s.url = "http://" + l.Listener.Addr().String()
	return s
}

func (s *served) git(args ...string) string {
	s.t.Helper()
	return gittest.Git(s.t, s.dir, args...)
}

// refs is every ref of the repository.
func (s *served) refs() string {
	s.t.Helper()
	return s.git("for-each-ref", "--format=%(refname) %(objectname)")
}

// files is what the repository has of objects, quarantined ones included.
func (s *served) files() (names []string) {
	s.t.Helper()
	err := filepath.WalkDir(filepath.Join(s.dir, ".git", "objects"), func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return names
}

// post asks something of one of the services.
func (s *served) post(service string, body io.Reader, headers ...string) (status int, answer string) {
	s.t.Helper()
	return s.ask(s.t.Context(), http.MethodPost, "/git-"+service, body, append([]string{"Content-Type", "application/x-git-" + service + "-request"}, headers...)...)
}

func (s *served) ask(ctx context.Context, method, path string, body io.Reader, headers ...string) (status int, answer string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// line is a line as git sends it.
func line(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// command is what a push begins with.
func command(old, commit, ref, words string) string {
	return line(old+" "+commit+" "+ref+"\x00"+words) + "0000"
}

// object is one of a pack.
type object struct {
	kind byte // 1 commit, 2 tree, 3 blob, 7 a delta to an object
	text []byte
	base [20]byte // of a delta
	raw  []byte   // compressed already, in the place of text, which has then
	size int64    // this size
}

// name is the object's name.
func (o object) name() (name [20]byte) {
	kind := map[byte]string{1: "commit", 2: "tree", 3: "blob"}[o.kind]
	return sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", kind, len(o.text), o.text))
}

func (o object) hex() string { n := o.name(); return hex.EncodeToString(n[:]) }

// packed is a pack of objects.
func packed(objects ...object) []byte {
	var b bytes.Buffer
	b.WriteString("PACK")
	_ = binary.Write(&b, binary.BigEndian, [2]uint32{2, uint32(len(objects))})
	for _, o := range objects {
		size := o.size
		if o.raw == nil {
			size = int64(len(o.text))
		}
		c := o.kind<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			b.WriteByte(c | 0x80)
			c = byte(size & 0x7f)
		}
		b.WriteByte(c)
		if o.kind == 7 {
			b.Write(o.base[:])
		}
		if o.raw != nil {
			b.Write(o.raw)
			continue
		}
		z := zlib.NewWriter(&b)
		_, _ = z.Write(o.text)
		_ = z.Close()
	}
	sum := sha1.Sum(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

// commitOf is a commit of a tree.
func commitOf(tree object) object {
	return object{kind: 1, text: fmt.Appendf(nil, "tree %s\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nm\n", tree.hex())}
}

// entry is one of a tree.
func entry(mode, name string, of object) []byte {
	n := of.name()
	return append([]byte(mode+" "+name+"\x00"), n[:]...)
}

// zeros compresses so many times 64 MiB of nothing.
func zeros(times int) []byte {
	var b bytes.Buffer
	z, _ := flate.NewWriter(&b, flate.BestCompression)
	_, _ = z.Write(make([]byte, 64<<20))
	_ = z.Flush()
	return append([]byte{0x78, 0x9c}, bytes.Repeat(b.Bytes(), times)...)
}

// size is a number as a delta has it.
func size(n uint64) (b []byte) { return binary.AppendUvarint(nil, n) }

// base is what deltas are to.
var base = object{kind: 3, text: bytes.Repeat([]byte("0123456789abcdef"), 1<<18)}

// copies is a delta that is so many times 64 KiB of the base.
func copies(times int) object {
	d := append(size(uint64(len(base.text))), size(uint64(times)<<16)...)
	return object{kind: 7, base: base.name(), text: append(d, bytes.Repeat([]byte{0x80}, times)...)}
}

// deltas unpack to 60 GiB.
func deltas() []object { return append([]object{base}, slices.Repeat([]object{copies(960)}, 1000)...) }
