// Package plugin puts the box's tool server and skills where Claude Code, Codex and Gemini CLI look for them, and takes them
// away again.
//
// [Install] and [Remove] are pure: they make a [Plan] out of what was found. [Look] reads it, and [Plan.Do] carries the plan
// out. What was installed is known by a manifest with hashes that lies beside it, so nothing of the user's is written over or
// taken away: a file is ours if it has one of the hashes, and an entry in a file of the user's if its text has.
package plugin

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/access"
)

// Program is an agent's program that can be given the tool server.
type Program string

// The programs.
const (
	Claude Program = "claude"
	Codex  Program = "codex"
	Gemini Program = "gemini"
)

// Programs returns all of them.
func Programs() []Program { return []Program{Claude, Codex, Gemini} }

// Title is the name that people know the program by.
func (p Program) Title() string {
	return map[Program]string{Claude: "Claude Code", Codex: "Codex", Gemini: "Gemini CLI"}[p]
}

// Next says what a person does after an installation.
func (p Program) Next(user bool) string {
	switch {
	case p == Claude && !user:
		return "start `claude` here, trust the directory, and choose \"Use this MCP server\", which is not its default; then /reload-plugins loads the skills, and /mcp shows the server plugin:signalbox:signalbox"
	case p == Claude:
		return "start `claude` anew; /mcp shows the server plugin:signalbox:signalbox"
	case p == Codex && !user:
		return "start `codex` here and trust the directory; until then it does not read .codex/config.toml. /mcp shows the server signalbox"
	case p == Codex:
		return "start `codex` anew; /mcp shows the server signalbox"
	case !user:
		return "start `gemini` here and trust the directory; until then it starts no server. /mcp shows the server signalbox"
	}
	return "start `gemini` anew; /mcp shows the server signalbox"
}

// Prevails says which of two servers the program starts when a project and the user's directory each have one, as they
// were seen to do it.
func (p Program) Prevails() (user bool) { return p == Claude }

// Wanted is what is to be installed.
type Wanted struct {
	Program Program
	User    bool           // in the user's own directory, and not in a project's
	Command string         // that starts this program
	Scopes  []access.Scope // of the tool server
}

// server is the tool server as programs that read JSON have it.
type server struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// Server is how the tool server is started.
func (w Wanted) Server() []string { return append([]string{w.Command}, w.server().Args...) }

func (w Wanted) server() server {
	var scopes []string
	for _, s := range w.Scopes {
		scopes = append(scopes, string(s))
	}
	return server{w.Command, []string{"mcp", "--name", string(w.Program), "--scope", strings.Join(scopes, ",")}}
}

// layout is where a program looks for what is installed. All paths are below its base directory, and have slashes.
type layout struct {
	own     []string          // what the paths of files begin with that can be ours
	files   map[string][]byte // files of ours
	entry   string            // the file of the user's that has an entry of ours; empty if there is none
	serves  string            // the file that has the server: that one, or one of ours
	keeping keeping           // how that file keeps it
}

// keeping is a way to keep an entry in a file. Data is the whole file; nil if there is none.
type keeping interface {
	// find returns the entry's text in a form that does not depend on line ends, if there is one. With more, others have
	// added to it at another place in the file.
	find(data []byte) (text string, there, more bool, err error)
	// put adds the entry, or replaces it; made says whether it had to make an object around it.
	put(data []byte, s server) (after []byte, made bool, err error)
	// take takes it away, and with parent the object around it if nothing else is in that; empty says that the file has
	// nothing else.
	take(data []byte, parent bool) (after []byte, empty bool, err error)
	// text is what find returns after put.
	text(s server) (string, error)
	// read returns the server whose text this is, if it is one.
	read(text string) server
}

// The texts of the skills, by name.
//
//go:embed skills/*.md
var texts embed.FS

// Name is what plugin, extension and server are called, and skills begin with where they have no plugin around them.
const Name = "signalbox"

// manifestName is the file that knows what was installed.
const manifestName = "signalbox-plugin.json"

const version = "1.0.0" // of the files; programs show it

// Base returns the program's directory in a project.
func (p Program) Base() string { return "." + string(p) }

// layout returns what is to be where.
func (w Wanted) layout() (layout, error) {
	inPlugin := ""
	l := layout{files: map[string][]byte{}, own: []string{"skills/" + Name + "-"}}
	servers := map[string]any{"mcpServers": map[string]server{Name: w.server()}}
	about := map[string]any{
		"name": Name, "version": version,
		"description": "Deliver plans with agents, follow runs and answer their questions with Signalbox",
	}
	switch {
	case w.Program == Claude:
		inPlugin = "skills/" + Name
		about["author"], about["license"] = map[string]string{"name": "Signalbox"}, "Apache-2.0"
		l.files[inPlugin+"/.claude-plugin/plugin.json"] = printed(about)
		l.serves, l.keeping = inPlugin+"/.mcp.json", jsonFile{}
		l.files[l.serves] = printed(servers)
	case w.Program == Gemini && w.User:
		inPlugin = "extensions/" + Name
		about["mcpServers"] = servers["mcpServers"]
		l.serves, l.keeping = inPlugin+"/gemini-extension.json", jsonFile{}
		l.files[l.serves] = printed(about)
	case w.Program == Gemini:
		l.entry, l.keeping = "settings.json", jsonFile{}
	case w.Program == Codex:
		l.entry, l.keeping = "config.toml", tomlFile{}
	default:
		return layout{}, fmt.Errorf("there is no plugin for %q: it is one of %v", w.Program, Programs())
	}
	if inPlugin != "" {
		l.own = []string{inPlugin + "/"}
	} else {
		l.serves = l.entry
	}
	return l, l.addSkills(inPlugin)
}

// addSkills adds the skills: in a plugin by their names, elsewhere by names that say whose they are.
func (l layout) addSkills(inPlugin string) error {
	names, err := fs.Glob(texts, "skills/*.md")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := texts.ReadFile(name)
		if err != nil {
			return err
		}
		skill := strings.TrimSuffix(path.Base(name), ".md")
		if inPlugin == "" {
			text = bytes.Replace(text, []byte("name: "+skill), []byte("name: "+Name+"-"+skill), 1)
			skill = Name + "-" + skill
		}
		l.files[path.Join(inPlugin, "skills", skill, "SKILL.md")] = text
	}
	return nil
}

// printed is a value as a file that people read.
func printed(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(err) // only maps, strings and the like get here
	}
	return b.Bytes()
}

// RefusedError says what stands in the way of an installation. Nothing was written.
type RefusedError struct{ Reasons []string }

func (e *RefusedError) Error() string {
	return "nothing was installed: " + strings.Join(e.Reasons, "; ")
}

// ErrNotInstalled is returned where there is nothing to remove.
var ErrNotInstalled = errors.New("nothing was installed there by signalbox plugin install")
