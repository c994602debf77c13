package toolbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	nameSearch = "search_code"
	nameRead   = "read_file"

	maxLinks = 40  // symbolic links on the way to a file
	maxDepth = 100 // directories on the way to it, which are held open
)

// code reads files below one directory. os.Root keeps it there, whatever links say.
type code struct {
	root     *os.Root
	hidden   hidden
	patience time.Duration // for a search
}

func openCode(dir string, hide []string) (*code, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the directory that %s and %s are to see: %w: correct builtin.code.root in the tools' configuration", nameSearch, nameRead, err)
	}
	c := &code{root: root, hidden: hidden{paths: hide}, patience: searchTime}
	if err := c.hidden.refuse(dir, root); err != nil {
		_ = root.Close() // nothing was written
		return nil, fmt.Errorf("the directory that %s and %s are to see, %s: %w", nameSearch, nameRead, safetext.Escape(dir), err)
	}
	return c, nil
}

func (c *code) tools() []entry {
	return []entry{
		{Tool{
			Name:        nameSearch,
			Description: "Search the files of the repository for a text or, with regexp, for a regular expression (RE2). Gives path:line: text, at most 50 hits. Upper case in the query makes it case-sensitive.",
			Schema: json.RawMessage(`{"type":"object","properties":{` +
				`"query":{"type":"string","description":"the text or expression to find in a line"},` +
				`"path":{"type":"string","description":"the file or directory to search, from the repository's top; all if left out"},` +
				`"regexp":{"type":"boolean","description":"the query is a regular expression"},` +
				`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"the most hits to give"}},` +
				`"required":["query"],"additionalProperties":false}`),
		}, c.search},
		{Tool{
			Name:        nameRead,
			Description: "Read a file of the repository, with line numbers: at most 400 lines a call. Of a directory, it gives the names in it.",
			Schema: json.RawMessage(`{"type":"object","properties":{` +
				`"path":{"type":"string","description":"the file or directory, from the repository's top"},` +
				`"from":{"type":"integer","minimum":1,"description":"the first line, from 1"},` +
				`"to":{"type":"integer","minimum":1,"description":"the last line"}},` +
				`"required":["path"],"additionalProperties":false}`),
		}, c.read},
	}
}

// arguments reads a built-in tool's arguments, or says what is wrong with them.
func arguments(raw json.RawMessage, into any) (wrong string) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &kind):
		return fmt.Sprintf("the argument %s can't be a %s: see the tool's schema", quote(kind.Field), quote(kind.Value))
	}
	return "the arguments do not fit the tool's schema: " + cutRunes(safetext.Escape(strings.TrimPrefix(err.Error(), "json: ")), 100)
}

// at says what is wrong with a path, in a result.
func at(name string, err error) Result {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed("there is no file %s below the repository's top: look with %s, or read a directory", quote(name), nameSearch)
	case errors.Is(err, errSecret) || errors.Is(err, errBox):
		return refused("%s can't be read: %s", quote(name), err)
	case errors.As(err, &p):
		err = p.Err
	}
	return failed("%s can't be read: %s", quote(name), err)
}

var (
	errOutside = errors.New("it leads out of the repository; paths are relative to its top")
	errSecret  = errors.New("it may hold secrets, which are not for a model")
	errKind    = errors.New("it is neither a file nor a directory")
	errNoDir   = errors.New("what is before the last slash is not a directory")
	errDeep    = fmt.Errorf("it lies more than %d directories deep", maxDepth)
	errChanged = errors.New("it was replaced while it was opened: try again")
)

// way leads to a place below the top: the directories on it are held open, so that nothing that is
// renamed meanwhile leads elsewhere.
type way struct {
	hide  identities
	dirs  []*os.Root // the first is the top, which stays open
	names []string   // of those below the top
	file  string     // the name of a file in the last directory; "" is the directory itself
}

func (w *way) dir() *os.Root { return w.dirs[len(w.dirs)-1] }

// place is the path from the top, without links.
func (w *way) place() string {
	return path.Join(".", path.Join(w.names...), w.file)
}

func (w *way) into(name string) error {
	if len(w.names) == maxDepth {
		return errDeep
	}
	dir, err := enter(w.dir(), name, w.hide)
	if err == nil {
		w.dirs, w.names = append(w.dirs, dir), append(w.names, name)
	}
	return err
}

func (w *way) up() error {
	last := len(w.names) - 1
	if last < 0 {
		return errOutside
	}
	err := w.dir().Close()
	w.dirs, w.names = w.dirs[:last+1], w.names[:last]
	return err
}

func (w *way) close() {
	for _, dir := range w.dirs[1:] {
		_ = dir.Close() // nothing was written
	}
}

// find follows a path, and its symbolic links, to the place where the file or directory really is.
// What is hidden, or may hold secrets by a name on the way, is refused. The way has to be closed.
func (c *code) find(name string) (found *way, err error) {
	name = filepath.ToSlash(name)
	if path.IsAbs(name) || name != "" && !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, errOutside
	}
	hide, err := c.hidden.now()
	if err != nil {
		return nil, err
	}
	w := &way{hide: hide, dirs: []*os.Root{c.root}}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	links := 0
	for rest := strings.Split(name, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			if err := w.up(); err != nil {
				return nil, err
			}
			continue
		}
		if secret(part) {
			return nil, errSecret
		}
		info, err := w.dir().Lstat(part)
		switch {
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := w.dir().Readlink(part)
			if err != nil {
				return nil, err
			}
			if links++; links > maxLinks || filepath.IsAbs(target) {
				return nil, errOutside
			}
			rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
		case info.IsDir():
			if err := w.into(part); err != nil {
				return nil, err
			}
		case len(rest) > 0:
			return nil, errNoDir
		default:
			w.file = part
		}
	}
	return w, nil
}

// enter opens a directory in another one, which is no link and not hidden.
func enter(in *os.Root, name string, hide identities) (*os.Root, error) {
	before, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	dir, err := in.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(before, info):
		err = errChanged
	case hide.have(info) || isBox(dir):
		err = errSecret
	default:
		return dir, nil
	}
	return nil, errors.Join(err, dir.Close())
}

// open opens a regular file in a directory, which is no link and not hidden.
func open(in *os.Root, name string, hide identities) (*os.File, error) {
	before, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	f, err := regular.OpenIn(in, name)
	if errors.Is(err, regular.ErrIrregular) {
		return nil, errKind
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !os.SameFile(before, info):
		err = errChanged
	case hide.have(info):
		err = errSecret
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// secretNames are the base names, in lower case, of files and directories that hold
// secrets by their use.
var secretNames = []string{
	".git", ".signalbox", "api.token", "gate.token", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store",
	".env", ".envrc", ".netrc", "_netrc", ".npmrc", ".yarnrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd",
	".git-credentials", ".dockercfg", ".boto", ".s3cfg", ".vault-token", "credentials", "credentials.json",
	"secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
	"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.tfstate", ".env.*", "*.env", "*.token",
	"service-account.json", "service_account.json",
}

// harmless are names that look like those, and are written to be read.
var harmless = []string{".env.example", ".env.sample", ".env.template", ".env.dist"}

// secret reports whether a file, or a directory above it, holds secrets by its name.
func secret(place string) bool {
	for part := range strings.SplitSeq(strings.ToLower(place), "/") {
		part, _, _ = strings.Cut(part, ":") // a stream of a file, on Windows
		if part != "." && part != ".." {
			part = strings.TrimRight(part, ". ")
		}
		for _, pattern := range secretNames {
			if ok, _ := path.Match(pattern, part); ok && !slices.Contains(harmless, part) {
				return true
			}
		}
	}
	return false
}
