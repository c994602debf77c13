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
	"syscall"
)

const (
	nameSearch = "search_code"
	nameRead   = "read_file"

	maxLinks = 40 // symbolic links on the way to a file
)

// code reads files below one directory. os.Root keeps it there, whatever links say.
type code struct{ root *os.Root }

func openCode(dir string) (*code, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the directory that %s and %s are to see: %w: correct builtin.code.root in the tools' configuration", nameSearch, nameRead, err)
	}
	return &code{root}, nil
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
	return "the arguments do not fit the tool's schema: " + quote(strings.TrimPrefix(err.Error(), "json: "))
}

// at says what is wrong with a path, in a result.
func at(name string, err error) Result {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed("there is no file %s below the repository's top: look with %s, or read a directory", quote(name), nameSearch)
	case errors.As(err, &p):
		err = p.Err
	}
	return failed("%s can't be read: %s", quote(name), err)
}

var (
	errOutside = errors.New("it leads out of the repository; paths are relative to its top")
	errSecret  = errors.New("it may hold secrets, which are not for a model")
	errKind    = errors.New("it is neither a file nor a directory")
)

// find follows a path, and its symbolic links, to the place where the file really is. What
// may hold secrets is refused by the name of that place too.
func (c *code) find(name string) (string, fs.FileInfo, error) {
	name = filepath.ToSlash(name)
	if name == "" {
		name = "."
	}
	if path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", nil, errOutside
	}
	place, rest := ".", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		next := path.Join(place, rest[0])
		rest = rest[1:]
		if !filepath.IsLocal(next) {
			return "", nil, errOutside
		}
		if secret(next) {
			return "", nil, errSecret
		}
		info, err := c.root.Lstat(next)
		if err != nil {
			return "", nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			place = next
			continue
		}
		target, err := c.root.Readlink(next)
		if err != nil {
			return "", nil, err
		}
		if links++; links > maxLinks || filepath.IsAbs(target) {
			return "", nil, errOutside
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	info, err := c.root.Lstat(place)
	return place, info, err
}

// open opens a regular file, and never waits for one that is something else by now.
func (c *code) open(place string) (*os.File, error) {
	f, err := c.root.OpenFile(place, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, errors.Join(err, errKind)
	}
	return f, nil
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
