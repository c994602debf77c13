package gitproxy_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/gitproxy"
	"github.com/signalbox-dev/signalbox/internal/gitserver"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// world is a box's repository behind TLS, and a mirror with a proxy to it.
type world struct {
	t      *testing.T
	home   string // the box's repository
	mirror *worktree.Repo
	proxy  *gitproxy.Proxy
	remote worktree.Remote
	server *httptest.Server

	mu     sync.Mutex
	access gitserver.Access
	seen   []*http.Request
}

const first, second = "refs/tasks/R1/T-1/1.1.1", "refs/tasks/R1/T-1/1.1.2"

func newWorld(t *testing.T, options ...string) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir()}
	w.git("init", append([]string{"-q", "-b", "trunk"}, options...)...)
	w.git("commit", "-q", "--allow-empty", "-m", "start")
	repo, err := worktree.Open(t.Context(), w.home)
	w.must(err)
	w.serve(repo)
	w.mirror, err = worktree.InitMirror(t.Context(), t.TempDir(), w.git("rev-parse", "HEAD"))
	w.must(err)
	w.may(gitserver.Access{Fetch: []string{"refs/heads/trunk", "refs/tasks/R1/T-1/"}, Push: first})
	return w
}

// serve has a repository be the box's.
func (w *world) serve(repo *worktree.Repo) {
	w.t.Helper()
	served := gitserver.New(repo, gitserver.Limits{}, slog.New(slog.DiscardHandler))
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		access := w.access
		w.seen = append(w.seen, r)
		w.mu.Unlock()
		if path, ok := strings.CutPrefix(r.URL.Path, "/v1/runner/git/S1/"); ok {
			served.Serve(rw, r, path, access)
		} else {
			http.NotFound(rw, r)
		}
	}))
	w.server.EnableHTTP2 = true
	w.server.StartTLS()
	w.t.Cleanup(w.server.Close)
	base, err := url.Parse(w.server.URL + "/v1/runner/git")
	w.must(err)
	w.proxy, err = gitproxy.Open(context.Background(), base, w.server.Client().Transport, slog.New(slog.DiscardHandler))
	w.must(err)
	w.t.Cleanup(w.proxy.Stop)
	w.remote = worktree.Remote{URL: w.proxy.URL("S1"), Header: w.proxy.Header()}
}

func (w *world) may(a gitserver.Access) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.access = a
}

func (w *world) git(command string, args ...string) string {
	w.t.Helper()
	return gittest.Git(w.t, w.home, append([]string{command}, args...)...)
}

// work makes a commit in the mirror, on another.
func (w *world) work(on, text string) string {
	w.t.Helper()
	dir := w.mirror.Root()
	blob := gittest.GitIn(w.t, dir, text, "hash-object", "-w", "--stdin")
	tree := gittest.GitIn(w.t, dir, "100644 blob "+blob+"\twork.txt\n", "mktree")
	return gittest.Git(w.t, dir, "commit-tree", "-p", on, "-m", "work", tree)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// What the box has is fetched, worked on, and pushed under a new name; a name is never moved.
func TestThere(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			w := newWorld(t, "--object-format="+format)
			base := w.git("rev-parse", "trunk")
			w.must(w.mirror.FetchFrom(t.Context(), w.remote, "+refs/heads/trunk:refs/heads/base"))
			if got := gittest.Git(t, w.mirror.Root(), "rev-parse", "base"); got != base {
				t.Fatalf("fetched %s, want %s", got, base)
			}
			commit := w.work(base, "some work\n")
			w.must(w.mirror.PushTo(t.Context(), w.remote, commit, first))
			if got := w.git("cat-file", "blob", first+":work.txt"); got != "some work" {
				t.Errorf("pushed %q", got)
			}
			w.must(w.mirror.PushTo(t.Context(), w.remote, commit, first)) // as after an answer that was lost
			for _, other := range []string{w.work(commit, "more\n"), w.work(base, "other\n")} {
				if err := w.mirror.PushTo(t.Context(), w.remote, other, first); !errors.Is(err, worktree.ErrExists) {
					t.Errorf("another commit under the same name: %v", err)
				}
			}
			if got := w.git("rev-parse", first); got != commit {
				t.Errorf("the ref was moved to %s", got)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, r := range w.seen {
				if r.ProtoMajor != 2 || r.TLS == nil {
					t.Errorf("%s came by %s, TLS: %v", r.URL.Path, r.Proto, r.TLS != nil)
				}
				if r.Header.Get("Signalbox-Git") != "" || r.Header.Get("Git-Protocol") != "" {
					t.Errorf("the box got %v", r.Header)
				}
			}
		})
	}
}

// A box's exchange is served, with settings that are the user's for the rest: hooks, what is hidden, whose objects are borrowed. What
// a runner settles comes from its own exchange to the box's.
func TestExchange(t *testing.T) {
	w := newWorld(t)
	marker := filepath.Join(t.TempDir(), "ran")
	for _, name := range []string{"pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive", "pre-push"} {
		if err := os.WriteFile(filepath.Join(w.home, ".git", "hooks", name), []byte("#!/bin/sh\ntouch "+marker+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"core.hooksPath": filepath.Join(w.home, ".git", "hooks"), "transfer.hideRefs": "!refs/heads/hidden",
		"uploadpack.packObjectsHook": "touch " + marker + ";", "receive.advertisePushOptions": "true", "uploadpack.allowFilter": "true",
	} {
		w.git("config", name, value)
	}
	user, err := worktree.Open(t.Context(), w.home)
	w.must(err)
	box, err := worktree.OpenExchange(t.Context(), user, filepath.Join(t.TempDir(), "exchange.git"))
	w.must(err)
	base, err := box.Begin(t.Context(), "trunk")
	w.must(err)
	w.serve(box.Repo)
	w.must(w.mirror.FetchFrom(t.Context(), w.remote, "+refs/heads/trunk:refs/heads/trunk"))
	runner, err := worktree.OpenExchange(t.Context(), w.mirror, filepath.Join(t.TempDir(), "exchange.git"))
	w.must(err)
	commit := w.work(base, "work\n")
	w.must(runner.Take(t.Context(), commit, "R1"))
	w.must(runner.PushTo(t.Context(), w.remote, commit, first))
	if got, err := box.Resolve(t.Context(), first); err != nil || got != commit {
		t.Errorf("pushed %s (%v), want %s", got, err, commit)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program of the user's settings ran")
	}
}

// A large history and a large change go through in pieces.
func TestLarge(t *testing.T) {
	w := newWorld(t)
	base := w.git("rev-parse", "trunk")
	w.must(w.mirror.FetchFrom(t.Context(), w.remote, "+refs/heads/trunk:refs/heads/base"))
	commit := w.work(base, noise(5<<20))
	w.must(w.mirror.PushTo(t.Context(), w.remote, commit, first))
	other, err := worktree.InitMirror(t.Context(), t.TempDir(), base)
	w.must(err)
	w.must(other.FetchFrom(t.Context(), w.remote, "+"+first+":refs/heads/theirs"))
	if got := gittest.Git(t, other.Root(), "rev-parse", "theirs"); got != commit {
		t.Errorf("fetched %s, want %s", got, commit)
	}
}

// noise is text that does not get smaller when it is packed.
func noise(size int) string {
	text, x := make([]byte, size), uint64(88172645463325252)
	for i := range text {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		text[i] = byte(x)
	}
	return string(text)
}

// Why the box refuses something is said in git's words, to who pushed.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	base := w.git("rev-parse", "trunk")
	w.must(w.mirror.FetchFrom(t.Context(), w.remote, "+refs/heads/trunk:refs/heads/base"))
	commit := w.work(base, "work\n")
	if err := w.mirror.PushTo(t.Context(), w.remote, commit, second); err == nil || !strings.Contains(err.Error(), second+" may not be pushed: this session's next ref is "+first) {
		t.Errorf("another ref: %v", err)
	}
	dir := w.mirror.Root()
	blob := gittest.GitIn(t, dir, "x", "hash-object", "-w", "--stdin")
	hostile := gittest.Git(t, dir, "commit-tree", "-p", base, "-m", "m", gittest.GitIn(t, dir, "100644 blob "+blob+"\t.git\n", "mktree"))
	if err := w.mirror.PushTo(t.Context(), w.remote, hostile, first); !errors.Is(err, worktree.ErrObjects) {
		t.Errorf("a file called .git: %v", err)
	}
	w.may(gitserver.Access{Fetch: []string{"refs/heads/trunk"}})
	if err := w.mirror.PushTo(t.Context(), w.remote, commit, first); err == nil || !strings.Contains(err.Error(), "nothing may be pushed here") {
		t.Errorf("a push where none may be: %v", err)
	}
	if err := w.mirror.FetchFrom(t.Context(), w.remote, "+refs/heads/other:refs/heads/other"); err == nil {
		t.Error("what is not shown was fetched")
	}
	if got := w.git("for-each-ref", "--format=%(refname)"); got != "refs/heads/trunk" {
		t.Errorf("the box has %s", got)
	}
	// What the box has that is malformed does not get into a mirror.
	theirs := gittest.GitIn(t, w.home, "x", "hash-object", "-w", "--stdin")
	w.git("update-ref", "refs/heads/trunk", w.git("commit-tree", "-m", "m", gittest.GitIn(t, w.home, "100644 blob "+theirs+"\t.git\n", "mktree")))
	if err := w.mirror.FetchFrom(t.Context(), w.remote, "+refs/heads/trunk:refs/heads/base"); !errors.Is(err, worktree.ErrObjects) {
		t.Errorf("a file called .git from the box: %v", err)
	}
}

// What the user has told git for all repositories is not for the way to the box: no proxy, no login, no other address. The
// secret is in no argument.
func TestApart(t *testing.T) {
	dir := t.TempDir()
	settings, marker, seen := filepath.Join(dir, "config"), filepath.Join(dir, "asked"), filepath.Join(dir, "seen")
	err := os.WriteFile(settings, []byte(`[http]
	proxy = http://127.0.0.1:1
	extraHeader = "Authorization: Basic c2VjcmV0"
[url "http://127.0.0.1:1/"]
	insteadOf = http://
[credential]
	helper = "!touch `+marker+`; :"
[core]
	askPass = "touch `+marker+`; :"
[push]
	pushOption = x
	followTags = true
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho \"$@\" >>"+seen+"\nexec "+real+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", settings)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	t.Setenv("GIT_ASKPASS", filepath.Join(dir, "none"))
	w := newWorld(t)
	w.must(w.mirror.FetchFrom(t.Context(), w.remote, "+refs/heads/trunk:refs/heads/base"))
	w.must(w.mirror.PushTo(t.Context(), w.remote, w.work(w.git("rev-parse", "trunk"), "work\n"), first))
	if _, err := os.Stat(marker); err == nil {
		t.Error("somebody was asked for a login")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.seen {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("the box got %v", r.Header)
		}
	}
	_, secret, _ := strings.Cut(w.remote.Header, ": ")
	if said, err := os.ReadFile(seen); err != nil || strings.Contains(string(said), secret) || !strings.Contains(string(said), " push ") {
		t.Errorf("git's arguments (%v): %s", err, said)
	}
}

// The proxy is for who knows the secret, and leads to git's addresses alone.
func TestProxy(t *testing.T) {
	w := newWorld(t)
	name, secret, _ := strings.Cut(w.proxy.Header(), ": ")
	if len(secret) != 64 {
		t.Errorf("a secret of %d characters", len(secret))
	}
	other, err := gitproxy.Open(t.Context(), &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, http.DefaultTransport, slog.New(slog.DiscardHandler))
	w.must(err)
	defer other.Stop()
	root := strings.TrimSuffix(w.proxy.URL("S1"), "/S1")
	const refs = "/S1/info/refs?service=git-upload-pack"
	for _, c := range []struct {
		path, secret string
		status       int
	}{
		{refs, secret, 200},
		{refs, "", 403},
		{refs, secret[:63], 403},
		{refs, strings.TrimPrefix(other.Header(), name+": "), 403},
		{"/S1/HEAD", secret, 404},
		{"/S1/objects/info/packs", secret, 404},
		{"/S1/../../../v1/status", secret, 404},
		{"/../S1/info/refs?service=git-upload-pack", secret, 404},
		{"/S1%2F..%2FS2/info/refs?service=git-upload-pack", secret, 404},
		{"/S1/x/y/z/info/refs?service=git-upload-pack", secret, 404},
		{"//evil.example/info/refs?service=git-upload-pack", secret, 404},
		{"/./info/refs", secret, 404},
		{"/info/refs", secret, 404},
		{"/", secret, 404},
	} {
		w.mu.Lock()
		before := len(w.seen)
		w.mu.Unlock()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, root+c.path, nil)
		w.must(err)
		r.Header.Set(name, c.secret)
		r.Header.Set("Authorization", "Bearer x")
		r.Header.Set("X-Forwarded-For", "10.0.0.1")
		r.Header.Set("Cookie", "a=b")
		a, err := http.DefaultClient.Do(r)
		w.must(err)
		_ = a.Body.Close()
		w.mu.Lock()
		asked := w.seen[before:]
		w.mu.Unlock()
		if a.StatusCode != c.status || (len(asked) > 0) != (c.status == 200) {
			t.Errorf("%s: %d and %d requests at the box, want %d", c.path, a.StatusCode, len(asked), c.status)
		}
		for _, r := range asked {
			if r.Header.Get("Authorization")+r.Header.Get("X-Forwarded-For")+r.Header.Get("Cookie")+r.Header.Get(name) != "" {
				t.Errorf("the box got %v", r.Header)
			}
		}
	}
	gone := worktree.Remote{URL: other.URL("S1"), Header: other.Header()}
	if err := w.mirror.FetchFrom(t.Context(), gone, "+refs/heads/trunk:refs/heads/base"); err == nil || !strings.Contains(err.Error(), "the box was not reached") {
		t.Errorf("a box that is not there: %v", err)
	}
	w.proxy.Stop()
	if err := w.mirror.FetchFrom(t.Context(), w.remote, "+refs/heads/trunk:refs/heads/base"); err == nil {
		t.Error("a proxy that was stopped answers")
	}
}

// A stop ends what goes through the proxy, and returns.
func TestStop(t *testing.T) {
	w := newWorld(t)
	came, ended := make(chan bool), make(chan bool)
	held := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(came)
		<-r.Context().Done()
		close(ended)
	}))
	defer held.Close()
	base, err := url.Parse(held.URL)
	w.must(err)
	proxy, err := gitproxy.Open(t.Context(), base, http.DefaultTransport, slog.New(slog.DiscardHandler))
	w.must(err)
	failed := make(chan error, 1)
	go func() {
		failed <- w.mirror.FetchFrom(t.Context(), worktree.Remote{URL: proxy.URL("S1"), Header: proxy.Header()}, "+refs/heads/trunk:refs/heads/base")
	}()
	select {
	case <-came:
	case err := <-failed:
		t.Fatal(err)
	}
	proxy.Stop()
	<-ended
	if err := <-failed; err == nil {
		t.Error("a fetch came to an end")
	}
}
