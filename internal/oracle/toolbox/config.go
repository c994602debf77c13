package toolbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/internal/worktree"
)

const maxConfig = 1 << 20 // bytes of a configuration's file

// Config says which tools there are.
type Config struct {
	Servers map[string]Server // by their names
	Root    string            // the directory that search_code and read_file see; "" turns them off
	Web     Web

	// Hidden are files and directories that search_code and read_file don't see, by any name, also if they come
	// to be later; nor do they see any directory that looks like a box's.
	Hidden []string
}

// Server is an MCP server: a program (Command) or an address (URL).
type Server struct {
	Command string
	Args    []string
	Env     map[string]string // what the program gets beside the user's own environment
	Dir     string            // "" is the working directory

	URL     string
	Headers map[string]string // sent with every request

	// Timeout bounds a call, and connecting; 0 means a minute.
	Timeout time.Duration

	// secrets are values of environment variables that Load has put into the arguments or the URL. They
	// are kept out of errors, as those of Env and Headers are.
	secrets []string
}

// Web is about fetch_web.
type Web struct {
	Enabled bool

	// Hosts are the only ones that may be asked, as name or name:port; none means every
	// host of the public internet. A host that is named may have a private address.
	Hosts []string
}

// Default is the configuration of those who have none: search_code and read_file, below
// the top of the git working tree that dir is in, or below dir.
func Default(dir string) Config { return Config{Root: top(dir)} }

// top returns the top of the git working tree that dir is in, or dir.
func top(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for at := abs; ; at = filepath.Dir(at) {
		if worktree.IsTop(at) {
			return at
		}
		if at == filepath.Dir(at) {
			return abs
		}
	}
}

// Load reads a configuration. It has the form that MCP clients share, with the built-in
// tools beside it:
//
//	{
//	  "mcpServers": {
//	    "portfolio": {"command": "portfolio", "args": ["mcp"], "env": {"A": "b"}, "cwd": ".", "timeout": "60s"},
//	    "notes": {"url": "http://127.0.0.1:8000/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
//	  },
//	  "builtin": {
//	    "code": {"root": "."},
//	    "web": {"enabled": true, "hosts": ["go.dev"]}
//	  }
//	}
//
// ${NAME} in a server's texts is the value of an environment variable, and ${NAME:-text}
// has a text for when it is not set. Relative directories, and a relative command with a
// slash, are seen from the file's directory. Without "code" the directory is that of
// [Default] for the working directory; {"enabled": false} turns it off. An error names the
// file and the key, and holds everything that is wrong.
func Load(file string) (Config, error) {
	data, err := readConfig(file)
	if err != nil {
		return Config{}, fmt.Errorf("the tools' configuration: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return Config{}, fmt.Errorf("the tools' configuration %s: %w", file, err)
	}
	r := reader{file: file, dir: dir, lookup: os.LookupEnv}
	c := r.config(data)
	if err := errors.Join(r.errs...); err != nil {
		return Config{}, err
	}
	return c, nil
}

func readConfig(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(data) > maxConfig {
		err = fmt.Errorf("%s has more than %d bytes: it is no configuration", file, maxConfig)
	}
	return data, err
}
