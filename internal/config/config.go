// Package config reads signalbox.yaml, the settings of a box.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// File is the name that is looked for if none is given.
const File = "signalbox.yaml"

// Config is what can be set. Every setting has a default.
type Config struct {
	ExitProtocol bool     `yaml:"exit_protocol"` // act upon exit records, if the environment does not say otherwise
	Archive      string   `yaml:"archive"`       // where the archive lies, from the file's own directory; in the box's directory if empty
	Listen       string   `yaml:"listen"`        // the address to listen on
	Hosts        []string `yaml:"hosts"`         // that a pull request's URL may name, besides the common forges
	Redact       []string `yaml:"redact"`        // patterns (RE2) of secrets that must not be stored
}

// DefaultListen is any free port of this machine.
const DefaultListen = "127.0.0.1:0"

// Load reads a configuration. Without a path it reads signalbox.yaml in the
// working directory, if that is there. A setting that it does not know is an
// error.
func Load(path string) (Config, error) {
	name, given := path, path != ""
	if !given {
		name = File
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !given {
		return Config{Listen: DefaultListen}, nil
	}
	if err != nil {
		return Config{}, err
	}
	defer func() { _ = f.Close() }() // read only
	c := Config{Listen: DefaultListen}
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, fmt.Errorf("%s: %s", name, strings.ReplaceAll(err.Error(), " in type config.Config", ": it is no setting"))
	}
	if c.Archive != "" && !filepath.IsAbs(c.Archive) {
		c.Archive = filepath.Join(filepath.Dir(name), c.Archive)
	}
	return c, nil
}
