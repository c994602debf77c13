package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/signalbox-dev/signalbox/internal/english"
)

// Bounds of a search.
const (
	maxQuery      = 300  // bytes
	maxProgram    = 1500 // instructions that a query is made into; a line takes them once a byte at most
	maxHits       = 50
	maxFiles      = 10000
	maxFileSize   = 1 << 20 // bytes of a file that is looked at
	maxLineLooked = 2000    // bytes of a line that are looked at
	maxLineShown  = 200     // characters
	searchTime    = 2 * time.Second
	binaryLook    = 8000 // bytes in which a zero makes a file binary
)

// skipped are directories of what others wrote, or of what programs made.
var skipped = []string{".git", ".hg", ".svn", ".jj", "node_modules", "bower_components", "vendor", "third_party", ".venv", "venv", ".tox", "__pycache__", ".mypy_cache", ".pytest_cache", ".gradle", ".terraform", ".next", ".cache"}

// hunt is a search that is under way.
type hunt struct {
	patience time.Duration
	hide     identities
	query    *regexp.Regexp
	limit    int
	hits     []string
	sources  []string
	files    int
	stopped  string // why it ended early
}

func (c *code) search(ctx context.Context, raw json.RawMessage) Result {
	var a struct {
		Query  string `json:"query"`
		Path   string `json:"path"`
		Regexp bool   `json:"regexp"`
		Limit  *int   `json:"limit"`
	}
	if wrong := arguments(raw, &a); wrong != "" {
		return failed("%s", wrong)
	}
	h := hunt{limit: maxHits, patience: c.patience}
	if a.Limit != nil {
		if *a.Limit < 1 {
			return failed("limit is 1 to %d, not %d", maxHits, *a.Limit)
		}
		h.limit = min(*a.Limit, maxHits)
	}
	var wrong string
	if h.query, wrong = compile(a.Query, a.Regexp); wrong != "" {
		return failed("%s", wrong)
	}
	w, err := c.find(a.Path)
	if err != nil {
		return at(a.Path, err)
	}
	defer w.close()
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, errTime)
	defer cancel()
	h.hide = w.hide
	if w.file != "" {
		h.file(ctx, w.dir(), w.file, w.place())
	} else if err := h.walk(ctx, w.dir(), w.place(), len(w.names)); err != nil {
		return at(a.Path, err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errTime) {
		return failed("the search was cancelled: %s", cause)
	}
	return h.result(a.Query)
}

// compile makes an expression of a query. Without upper case, case does not matter.
func compile(query string, isRegexp bool) (*regexp.Regexp, string) {
	if query == "" || len(query) > maxQuery {
		return nil, fmt.Sprintf("the query has 1 to %d bytes, not %d", maxQuery, len(query))
	}
	if !isRegexp {
		query = regexp.QuoteMeta(query) // escapes no letter
	}
	if !upper(query) {
		query = "(?i)" + query
	}
	tree, err := syntax.Parse(query, syntax.Perl)
	if err != nil {
		return nil, fmt.Sprintf("the query is no regular expression in RE2's syntax: %s", quote(err.Error()))
	}
	if p, err := syntax.Compile(tree.Simplify()); err != nil || len(p.Inst) > maxProgram {
		return nil, "the query takes too long to look for: repeat less in it"
	}
	return regexp.MustCompile(query), "" // it was parsed
}

// upper reports whether an expression has an upper case letter other than that of a class
// such as \S.
func upper(expression string) bool {
	escaped := false
	for _, r := range expression {
		if unicode.IsUpper(r) && !escaped {
			return true
		}
		escaped = r == '\\' && !escaped
	}
	return false
}

// walk looks at what is in a directory, and below, until the search is stopped. What can't be read is
// no reason to find nothing, unless it is the directory itself.
func (h *hunt) walk(ctx context.Context, in *os.Root, place string, depth int) error {
	entries, err := fs.ReadDir(in.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case h.stopped != "":
			return nil
		case ctx.Err() != nil:
			h.stop("its %s were over", h.patience)
			return nil
		case secret(name):
		case e.Type().IsRegular():
			h.file(ctx, in, name, path.Join(place, name))
		case e.IsDir() && depth < maxDepth && !slices.Contains(skipped, name):
			if dir, err := enter(in, name, h.hide); err == nil {
				_ = h.walk(ctx, dir, path.Join(place, name), depth+1)
				_ = dir.Close()
			}
		}
	}
	return nil
}

// stop ends the walk, and keeps the reason.
func (h *hunt) stop(format string, args ...any) { h.stopped = fmt.Sprintf(format, args...) }

// file looks for hits in a file of a directory.
func (h *hunt) file(ctx context.Context, in *os.Root, name, place string) {
	if h.files == maxFiles {
		h.stop("it has looked at %d files", maxFiles)
		return
	}
	h.files++
	data := h.content(in, name)
	for n := 1; len(data) > 0; n++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		if ctx.Err() != nil {
			h.stop("its %s were over", h.patience)
			return
		}
		if !h.query.Match(line[:min(len(line), maxLineLooked)]) {
			continue
		}
		if len(h.hits) == h.limit {
			h.stop("it has %s, and there are more", english.Count(h.limit, "hit"))
			return
		}
		h.hits = append(h.hits, fmt.Sprintf("%s:%d: %s", clean(place), n, cutRunes(clean(strings.TrimSpace(string(line))), maxLineShown)))
		if last := len(h.sources) - 1; last < 0 || h.sources[last] != place {
			h.sources = append(h.sources, place)
		}
	}
}

// content returns a file's text; nothing if it is too long, not text, hidden, or can't be read.
func (h *hunt) content(in *os.Root, name string) []byte {
	f, err := open(in, name, h.hide)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || info.Size() > maxFileSize {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize))
	if err != nil || bytes.IndexByte(data[:min(len(data), binaryLook)], 0) >= 0 {
		return nil
	}
	return data
}

func (h *hunt) result(query string) Result {
	lines := h.hits
	if len(lines) == 0 {
		lines = []string{fmt.Sprintf("Nothing was found for %s in %s.", quote(query), english.Count(h.files, "file"))}
	}
	if h.stopped != "" {
		lines = append(lines, fmt.Sprintf("[the search stopped early: %s; narrow it by the query or the path]", h.stopped))
	}
	return Result{Text: strings.Join(lines, "\n"), Sources: h.sources}
}
