// Package gitserver serves one repository to the gits of other machines, over git's smart HTTP and by the real git. Who asks
// is for the caller to know; what they may see and make, the caller says ([Access]).
//
// A fetch gets refs that it may see, and commits that these contain. Git itself would give out each tree and file to
// whoever knows its name, as it looks for commits alone; so names are looked at before. Version 2 of git's protocol would give
// out everything by name, and is not spoken.
//
// A push makes one ref, and nothing else: its commands are read here before git sees a byte of them. What is in the pack is a
// stranger's: git looks at each object, under limits of size, memory and time, and writes nothing that stays if it is refused.
//
// Who knows the name of an object can still get it, by a push of something that refers to it and a fetch of that. Names
// are hashes, and nobody can guess one: they are as secret as what they name.
package gitserver

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/httpserver"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Access is what a request may do.
type Access struct {
	Who string // asks: a machine's name
	// Fetch are the refs that are seen, all of commits; with a slash at the end, all below. A push sees them too: what
	// they contain it need not send, so the pusher's earlier refs belong here.
	Fetch []string
	Push  string // the ref that may be made; "" for none
}

// Limits are what requests may use. What is zero is as in [Defaults].
type Limits struct {
	AtOnce int           // requests, of one machine three quarters; others wait in line
	Input  int64         // bytes of a push
	Memory int64         // bytes of memory, for each process of a push
	CPU    time.Duration // for each process of a push
	Time   time.Duration // for a request, from when its turn has come
	Stall  time.Duration // until the client has sent, or taken, the next piece; and for a turn
}

// Defaults are limits that carry a box.
var Defaults = Limits{AtOnce: 8, Input: 1 << 30, Memory: 2 << 30, CPU: time.Minute, Time: time.Hour, Stall: time.Minute}

const (
	maxTalk       = 16 << 20  // bytes of what a fetch says, unpacked
	maxRefs       = 16 << 20  // bytes of an advertisement
	maxReport     = 256 << 10 // bytes of what git answers to a push
	maxLogged     = 2000      // columns of that in the log
	maxIgnored    = 1 << 20   // bytes that are read of a push that is refused, so that its client hears why
	maxCommand    = maxLists + maxLine
	ignoredTime   = 2 * time.Second
	filesOfAPush  = 1 << 30 // bytes of a file besides the pack's own: the objects that its deltas are to are added to it
	services      = "application/x-git-%s-%s"
	plain         = "text/plain; charset=utf-8"
	refusedStatus = http.StatusForbidden
)

// Server serves a repository.
type Server struct {
	repo   *worktree.Repo
	limits Limits
	turns  *turns
	logger *slog.Logger
	format func() (string, error) // of the names of objects
}

// New makes a server.
func New(repo *worktree.Repo, l Limits, logger *slog.Logger) *Server {
	l = Limits{
		cmp.Or(l.AtOnce, Defaults.AtOnce), cmp.Or(l.Input, Defaults.Input), cmp.Or(l.Memory, Defaults.Memory),
		cmp.Or(l.CPU, Defaults.CPU), cmp.Or(l.Time, Defaults.Time), cmp.Or(l.Stall, Defaults.Stall),
	}
	return &Server{
		repo: repo, limits: l, turns: newTurns(l.AtOnce), logger: logger,
		format: sync.OnceValues(func() (string, error) { return repo.Format(context.Background()) }),
	}
}

// Serve answers a request for a path below the repository's address: info/refs, git-upload-pack or git-receive-pack. It
// returns when nothing runs any more for the request.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, path string, a Access) {
	w.Header().Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	in, out, done := httpserver.Pieces(w, r, s.limits.Stall)
	defer done()
	q, status, err := s.question(r, path, a)
	if err == nil {
		status, err = s.inTurn(r, in, &answer{to: out, w: w, service: q.service, advertises: q.advertises}, q)
	}
	if err == nil {
		return
	}
	last(w, r)
	s.logger.Warn("a request of another machine's git was refused, or failed", "path", safetext.Escape(path), "may_push", safetext.Escape(a.Push), "error", err)
	if status != 0 { // otherwise the answer has begun
		words := err.Error()
		if status == http.StatusInternalServerError {
			words = "git failed on the box, whose log says why"
		}
		w.Header().Set("Content-Type", plain)
		w.WriteHeader(status)
		_, _ = io.WriteString(out, words+"\n") // a client that has gone needs no answer
	}
}

// question is a request that is understood.
type question struct {
	service    worktree.Service
	advertises bool // the refs; otherwise something is fetched or pushed
	access     Access
}

// question tells what is asked for, or with which status to answer that it is not to be had.
func (s *Server) question(r *http.Request, path string, a Access) (question, int, error) {
	for _, ref := range append(slices.Clone(a.Fetch), cmp.Or(a.Push, "refs/none")) {
		if !RefName(strings.TrimSuffix(ref, "/")) || ref == a.Push && strings.HasSuffix(ref, "/") {
			return question{}, http.StatusInternalServerError, fmt.Errorf("the box wanted to show %s, which is no name of a ref", safetext.Escape(ref))
		}
	}
	q := question{access: a}
	name := strings.TrimPrefix(path, "git-")
	if path == "info/refs" {
		q.advertises = true
		asked := r.URL.Query()["service"]
		if len(asked) != 1 || !strings.HasPrefix(asked[0], "git-") {
			return q, refusedStatus, errors.New("this is git's smart protocol: files of the repository are not served")
		}
		name = strings.TrimPrefix(asked[0], "git-")
	} else if !strings.HasPrefix(path, "git-") {
		return q, http.StatusNotFound, errors.New("there is nothing of this name here")
	}
	q.service = worktree.Service(name)
	if q.service != worktree.UploadPack && q.service != worktree.ReceivePack {
		return q, refusedStatus, fmt.Errorf("git's %s is not served here", safetext.Escape(name))
	}
	method := http.MethodPost
	if q.advertises {
		method = http.MethodGet
	}
	switch {
	case r.Method != method:
		return q, http.StatusMethodNotAllowed, fmt.Errorf("this is asked for by %s", method)
	case !q.advertises && r.Header.Get("Content-Type") != fmt.Sprintf(services, name, "request"):
		return q, http.StatusUnsupportedMediaType, fmt.Errorf("the request has to be "+services, name, "request")
	case q.service == worktree.ReceivePack && a.Push == "":
		return q, refusedStatus, errors.New("nothing may be pushed here")
	}
	return q, 0, nil
}

var errFull = errors.New("the box serves as many gits as it may: try again")

// inTurn answers when there is a place. An error comes with the status to answer it with; with none, the answer has begun.
func (s *Server) inTurn(r *http.Request, in io.Reader, w *answer, q question) (int, error) {
	waiting, stop := context.WithTimeoutCause(r.Context(), s.limits.Stall, errFull)
	leave, err := s.turns.take(waiting, q.access.Who)
	stop()
	switch {
	case errors.Is(err, errFull):
		w.w.Header().Set("Retry-After", "10")
		return http.StatusServiceUnavailable, err
	case err != nil:
		return 0, err
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.limits.Time, fmt.Errorf("after %v: %w", s.limits.Time, worktree.ErrTooSlow))
	defer cancel()
	serving := worktree.Serving{Service: q.service, Refs: slices.Clone(q.access.Fetch), Input: s.limits.Input, Most: worktree.Most{
		Memory: s.limits.Memory, File: s.limits.Input + filesOfAPush, CPU: s.limits.CPU,
	}}
	if q.service == worktree.ReceivePack {
		serving.Refs = append(serving.Refs, q.access.Push)
	}
	unpacked, err := s.unpacked(ctx, r, in, q.service)
	switch {
	case err != nil:
		return http.StatusUnsupportedMediaType, err
	case q.advertises:
		err = s.advertise(ctx, w, serving)
	case q.service == worktree.UploadPack:
		err = s.fetch(ctx, unpacked, w, serving)
	default:
		err = s.push(ctx, unpacked, w, serving, q.access.Push)
	}
	if err != nil && unpacked.failed != nil {
		err = unpacked.failed // git has only seen that no more came
	}
	bad, no := malformed{}, refusal{}
	switch {
	case err == nil:
		w.begin()
	case w.begun:
		return 0, err
	case errors.As(err, &bad):
		return http.StatusBadRequest, err
	case errors.As(err, &no):
		soon, cancel := context.WithTimeout(ctx, ignoredTime)
		defer cancel()
		_, _ = io.Copy(io.Discard, &bounded{ctx: soon, from: in, left: maxIgnored})
		last(w.w, r)
		w.refuse(no)
		return 0, err
	default:
		return http.StatusInternalServerError, err
	}
	return 0, nil
}

// unpacked is a request's body as the client had it, and no more of it than there may be.
func (s *Server) unpacked(ctx context.Context, r *http.Request, in io.Reader, service worktree.Service) (*bounded, error) {
	most := int64(maxTalk)
	if service == worktree.ReceivePack {
		most = maxCommand + s.limits.Input
	}
	in = &bounded{ctx: ctx, from: in, left: most} // also what unpacks to nothing
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, errors.New("the request is not packed as it says")
		}
		unzipped.Multistream(false)
		in = unzipped
	default:
		return nil, fmt.Errorf("the request is packed by %s: use gzip", safetext.Escape(encoding))
	}
	return &bounded{ctx: ctx, from: in, left: most}, nil
}

// errTooLarge ends a request that goes on for too long.
var errTooLarge = malformed{"the request is larger than it may be"}

// bounded ends with an error and not, as a limited reader does, as if all had been read; and when its time is over, also if
// pieces keep coming.
type bounded struct {
	ctx  context.Context
	from io.Reader
	left int64

	failed error // why it could not be read to its end
}

func (b *bounded) Read(p []byte) (n int, err error) {
	if b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	} else if n, err = b.from.Read(p[:min(int64(len(p)), b.left+1)]); int64(n) > b.left {
		n, err = 0, errTooLarge
	}
	if b.left -= int64(n); err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return n, err
}

// last makes an answer the last on its connection: of its request something may be left. In HTTP/2 a request has a stream
// of its own, and the connection goes on.
func last(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}

// advertise tells which refs there are.
func (s *Server) advertise(ctx context.Context, w *answer, serving worktree.Serving) error {
	said := &held{most: maxRefs}
	if err := s.repo.Advertise(ctx, serving, said); err != nil {
		return err
	}
	words := fetchWords
	if serving.Service == worktree.ReceivePack {
		words = pushWords
	}
	refs, err := curb(said.Bytes(), words)
	if err != nil {
		return err
	}
	_, err = w.Write(slices.Concat(pkt("# service=git-"+string(serving.Service)+"\n"), []byte("0000"), refs))
	return err
}

// fetch answers a fetch.
func (s *Server) fetch(ctx context.Context, in io.Reader, w *answer, serving worktree.Serving) error {
	format, err := s.format()
	if err != nil {
		return err
	}
	l, err := readList(in)
	if err != nil {
		return err
	}
	wants, err := parseWants(l, format)
	if err != nil {
		return err
	}
	commits, err := s.repo.AreCommits(ctx, wants)
	if err == nil && !commits {
		err = refusal{words: "upload-pack: not our ref"} // as git says it of commits that are hidden
	}
	if err != nil {
		return err
	}
	return s.repo.Serve(ctx, serving, io.MultiReader(&l.raw, in), w)
}

// push answers a push of one ref.
func (s *Server) push(ctx context.Context, in io.Reader, w *answer, serving worktree.Serving, ref string) error {
	format, err := s.format()
	if err != nil {
		return err
	}
	l, err := readList(in)
	if err != nil {
		return err
	}
	if len(l.lines) == 0 { // git asks so whether it may, before it sends much
		return nil
	}
	p, err := parsePush(l, format)
	if err != nil {
		return err
	}
	if p.ref != ref {
		return refusal{fmt.Sprintf("%s may not be pushed: this session's next ref is %s", safetext.Escape(p.ref), ref), p.sideband}
	}
	said := &held{most: maxReport}
	err = s.repo.Serve(ctx, serving, io.MultiReader(&l.raw, in), said)
	if err == nil && !bytes.Contains(said.Bytes(), []byte("ok "+ref)) {
		s.logger.Warn("git has refused what another machine pushed", "ref", ref, "says", safetext.Cut(safetext.Escape(said.String()), maxLogged))
	}
	if said.Len() > 0 { // git has told why it failed
		_, e := w.Write(said.Bytes())
		err = errors.Join(err, e)
	}
	return err
}

// held keeps what git prints, up to a limit.
type held struct {
	bytes.Buffer
	most int
}

func (h *held) Write(p []byte) (int, error) {
	if h.Len()+len(p) > h.most {
		return 0, worktree.ErrTooMuch
	}
	return h.Buffer.Write(p)
}

// answer is what a client gets of git.
type answer struct {
	to         io.Writer
	w          http.ResponseWriter
	service    worktree.Service
	advertises bool
	begun      bool
}

// begin says what comes.
func (a *answer) begin() {
	if a.begun {
		return
	}
	a.begun = true
	what := "result"
	if a.advertises {
		what = "advertisement"
	}
	a.w.Header().Set("Content-Type", fmt.Sprintf(services, a.service, what))
	a.w.WriteHeader(http.StatusOK)
}

func (a *answer) Write(p []byte) (int, error) {
	a.begin()
	return a.to.Write(p)
}

// refuse tells the client's git why, in the way that it shows to people.
func (a *answer) refuse(no refusal) {
	words := no.words + "\n"
	if no.sideband {
		words = "\x03" + words
	} else {
		words = "ERR " + words
	}
	_, _ = a.Write(append(pkt(words), "0000"...)) // a client that has gone needs no answer
}
