package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// programs are what is released, and systems what for.
var (
	programs = []string{"./cmd/signalbox", "./cmd/portfolio"}
	systems  = []string{"linux", "darwin", "windows"}
)

// unread are files about licences that don't count, with the reason.
var unread = map[string]string{
	"modernc.org/memory LICENSE-LOGO":         "names a picture, which is not linked",
	"modernc.org/sqlite LICENSE-3RD-PARTY.md": "lists the modules of its own tests too; what is linked has its own entry here",
}

// embedded is what the programs carry that is no module of Go: each with the program, the place that it is from, and where it lies.
var embedded = []struct{ program, registry, name, version, dir string }{
	{"signalbox", "npm", "idiomorph", "0.8.0", "internal/web/assets/idiomorph"},
}

// A module is one that is linked, with its texts of licences.
type module struct {
	path, version string
	licences      []string
	texts         []text
}

// A text is one file of a module.
type text struct{ file, content string }

// linked returns the modules that packages of the programs come from on any of the systems, and Go itself, which is
// linked too. The directory is the main module's.
func linked(ctx context.Context, dir string) ([]module, error) {
	found := map[string]string{} // a path and a version, and where it lies
	for _, system := range systems {
		cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-json=Module"}, programs...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
			var p struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := d.Decode(&p); err != nil {
				return nil, fmt.Errorf("go list for %s: %w", system, err)
			}
			if p.Module != nil && !p.Module.Main {
				found[p.Module.Path+" "+p.Module.Version] = p.Module.Dir
			}
		}
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	found["std"] = strings.TrimSpace(string(out)) // of any version: its licence has been the same since the first
	for _, e := range embedded {
		found[e.registry+":"+e.name+" "+e.version] = filepath.Join(dir, filepath.FromSlash(e.dir))
	}
	var modules []module
	for name, at := range found {
		m := module{}
		m.path, m.version, _ = strings.Cut(name, " ")
		if err := m.read(at); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return modules, nil
}

// read reads the texts of licences in a module's directory.
func (m *module) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		licence := strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING")
		if e.IsDir() || !licence && !strings.HasPrefix(name, "NOTICE") || unread[m.path+" "+e.Name()] != "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		content := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
		if safetext.EscapeLines(content) != content { // it would stand in NOTICE, which people print
			return fmt.Errorf("%s: has characters that no text has, such as those that move a terminal: leave the module out", e.Name())
		}
		m.texts = append(m.texts, text{e.Name(), content})
		if !licence {
			continue
		}
		found, err := licencesOf(string(data))
		if err != nil {
			return fmt.Errorf("%s: %w: leave the module out, or ask whether the licence can be allowed (internal/inventory/licence.go)", e.Name(), err)
		}
		m.licences = append(m.licences, found...)
	}
	if len(m.licences) == 0 {
		return fmt.Errorf("has no licence: nobody may distribute it")
	}
	slices.Sort(m.licences)
	m.licences = slices.Compact(m.licences)
	return nil
}

// head begins NOTICE.
const head = `Signalbox
Licensed under the Apache License, Version 2.0: see LICENSE.

The programs signalbox and portfolio are linked with the modules below, on at least one of the systems that they are
built for. "std" is Go's own library and runtime; "npm:" is a script that the page of a box sends to browsers. The texts of their licences and notices follow; one that several
modules have is printed once. Written by: go run ./internal/inventory notice > NOTICE

`

// notice writes the file of that name: a line for each module, then the texts.
func notice(modules []module) string {
	var b strings.Builder
	b.WriteString(head)
	var order []string
	users := map[string][]string{} // of a text
	for _, m := range modules {
		fmt.Fprintf(&b, "%s: %s\n", strings.TrimSpace(m.path+" "+m.version), strings.Join(m.licences, " AND "))
		for _, t := range m.texts {
			if users[t.content] == nil {
				order = append(order, t.content)
			}
			users[t.content] = append(users[t.content], m.path+" "+t.file)
		}
	}
	for _, content := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[content], "\n"), content)
	}
	return b.String()
}

// noticed reads from NOTICE which licences the modules have.
func noticed(notice string) map[string]string {
	licences := map[string]string{}
	list, _, _ := strings.Cut(strings.TrimPrefix(notice, head), "\n\n")
	for line := range strings.Lines(list) {
		if module, licence, found := strings.Cut(strings.TrimSpace(line), ": "); found {
			licences[module] = licence
		}
	}
	return licences
}
