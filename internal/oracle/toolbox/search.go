package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
	"unicode"
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
	*code
	query   *regexp.Regexp
	limit   int
	hits    []string
	sources []string
	files   int
	stopped string // why it ended early
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
	h := hunt{code: c, limit: maxHits}
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
	place, _, err := c.find(a.Path)
	if err != nil {
		return at(a.Path, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, errTime)
	defer cancel()
	if err := fs.WalkDir(c.root.FS(), place, func(name string, d fs.DirEntry, err error) error { return h.visit(ctx, place, name, d, err) }); err != nil {
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

// visit looks at one file or directory of the walk, which began at a place.
func (h *hunt) visit(ctx context.Context, place, name string, d fs.DirEntry, err error) error {
	switch {
	case ctx.Err() != nil:
		return h.stop("its %s were over", searchTime)
	case err != nil && name == place:
		return err
	case err != nil:
		return nil // it can't be read, which is no reason to find nothing
	case d.IsDir():
		if name != place && (slices.Contains(skipped, d.Name()) || secret(name)) {
			return fs.SkipDir
		}
		return nil
	case !d.Type().IsRegular() || secret(name):
		return nil
	case h.files == maxFiles:
		return h.stop("it has looked at %d files", maxFiles)
	}
	h.files++
	return h.look(ctx, name)
}

// stop ends the walk, and keeps the reason.
func (h *hunt) stop(format string, args ...any) error {
	h.stopped = fmt.Sprintf(format, args...)
	return fs.SkipAll
}

// look looks for hits in a file.
func (h *hunt) look(ctx context.Context, name string) error {
	data := h.content(name)
	for n := 1; len(data) > 0; n++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		if ctx.Err() != nil {
			return h.stop("its %s were over", searchTime)
		}
		if !h.query.Match(line[:min(len(line), maxLineLooked)]) {
			continue
		}
		if len(h.hits) == h.limit {
			return h.stop("it has %d hits, and there are more", h.limit)
		}
		h.hits = append(h.hits, fmt.Sprintf("%s:%d: %s", clean(name), n, cutRunes(clean(strings.TrimSpace(string(line))), maxLineShown)))
		if last := len(h.sources) - 1; last < 0 || h.sources[last] != name {
			h.sources = append(h.sources, name)
		}
	}
	return nil
}

// content returns a file's text; nothing if it is too long, not text, or can't be read.
func (h *hunt) content(name string) []byte {
	f, err := h.open(name)
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
		lines = []string{fmt.Sprintf("Nothing was found for %s in %d files.", quote(query), h.files)}
	}
	if h.stopped != "" {
		lines = append(lines, fmt.Sprintf("[the search stopped early: %s; narrow it by the query or the path]", h.stopped))
	}
	return Result{Text: strings.Join(lines, "\n"), Sources: h.sources}
}
