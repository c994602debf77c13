package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// problems are everything that is wrong with a file, so that it can be put right
// at once.
type problems struct {
	file  string
	lines map[string]int // where each setting stands
	shape []string       // settings that could not be read
	lost  bool           // there is a section that is none: what it says is not known
	errs  []error
}

// add names a problem, with the line that the setting stands on, or what it would be
// part of.
func (p *problems) add(setting, format string, args ...any) {
	if slices.ContainsFunc(p.shape, func(s string) bool { return within(setting, s) }) {
		return // it has been named
	}
	where := p.file
	for at := setting; at != ""; at = at[:max(strings.LastIndexAny(at, ".["), 0)] {
		if line, ok := p.lines[at]; ok {
			where = fmt.Sprintf("%s:%d", p.file, line)
			break
		}
	}
	p.errs = append(p.errs, fmt.Errorf("%s: %s: %w", where, setting, fmt.Errorf(format, args...)))
}

// misshapen names a setting that can't be read, and of which no more is said.
func (p *problems) misshapen(setting, format string, args ...any) {
	p.add(setting, format, args...)
	p.shape = append(p.shape, setting)
}

// whole reports whether everything in a section could be read.
func (p *problems) whole(section string) bool {
	return !slices.ContainsFunc(p.shape, func(s string) bool { return within(s, section) })
}

// has reports whether the file has a setting.
func (p *problems) has(setting string) bool {
	_, ok := p.lines[setting]
	return ok
}

// within reports whether a setting is another one, or a part of it.
func within(setting, other string) bool {
	rest, ok := strings.CutPrefix(setting, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func (p *problems) err() error { return errors.Join(p.errs...) }

// read reads settings from YAML over those that are there. What is wrong with a
// setting is a problem; the error is that there are no settings to read.
func (c *Config) read(p *problems, data []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%s: %w", p.file, err)
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: it goes on after the settings: remove the line with --- and what follows it", p.file)
	}
	p.check(doc.Content[0], reflect.TypeFor[Config](), "")
	if err := doc.Decode(c); err != nil && len(p.errs) == 0 { // what is named is left as it was
		return fmt.Errorf("%s: %w", p.file, err)
	}
	return nil
}

// check finds what is no setting, and values of another kind than the setting's.
// The type bounds how deep it goes.
func (p *problems) check(n *yaml.Node, t reflect.Type, at string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Tag == "!!null" {
		return // the same as left out
	}
	switch {
	case t.Kind() == reflect.Struct && n.Kind == yaml.MappingNode:
		fields := settings(t)
		p.pairs(n, at, func(key string, value *yaml.Node, setting string) {
			if f, ok := fields[key]; ok {
				p.check(value, f, setting)
				return
			}
			p.lost = p.lost || at == ""
			p.misshapen(setting, "it is no setting; there are: %s", strings.Join(names(t), ", "))
		})
	case t.Kind() == reflect.Map && n.Kind == yaml.MappingNode:
		p.pairs(n, at, func(_ string, value *yaml.Node, setting string) { p.check(value, t.Elem(), setting) })
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, e := range n.Content {
			element := fmt.Sprintf("%s[%d]", at, i+1)
			p.lines[element] = e.Line
			if e.Tag == "!!null" { // which would be passed over
				p.misshapen(element, "%q is nothing: it has to be %s; put it in quotes if it is meant as it stands", e.Value, kind(t.Elem()))
				continue
			}
			p.check(e, t.Elem(), element)
		}
	case !scalar(n, t):
		if at == "" {
			at = "the file"
			p.lines[at] = n.Line
		}
		p.misshapen(at, "it has to be %s", kind(t))
	}
}

// pairs goes through the settings of a section, and notes where each stands.
func (p *problems) pairs(n *yaml.Node, at string, each func(key string, value *yaml.Node, setting string)) {
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		setting := join(at, key.Value)
		p.lines[setting] = key.Line
		if seen[key.Value] {
			p.misshapen(setting, "it is there twice")
			continue
		}
		seen[key.Value] = true
		each(key.Value, n.Content[i+1], setting)
	}
}

// scalar says whether a node is a value of a type. A number with a fraction is no
// whole number, though it could be cut to one.
func scalar(n *yaml.Node, t reflect.Type) bool {
	whole := t.Kind() == reflect.Int || t.Kind() == reflect.Int64 && t != reflect.TypeFor[time.Duration]()
	return n.Kind == yaml.ScalarNode && (!whole || n.ShortTag() == "!!int") && n.Decode(reflect.New(t).Interface()) == nil
}

func join(at, key string) string {
	if key == "" || strings.ContainsAny(key, " .\n") {
		key = fmt.Sprintf("%q", key)
	}
	if at == "" {
		return key
	}
	return at + "." + key
}

// settings returns the types of a struct's settings, by name.
func settings(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for f := range t.Fields() {
		if name := f.Tag.Get("yaml"); name != "-" {
			all[name] = f.Type
		}
	}
	return all
}

// names returns the names of a struct's settings, in order.
func names(t reflect.Type) []string {
	var all []string
	for f := range t.Fields() {
		if name := f.Tag.Get("yaml"); name != "-" {
			all = append(all, name)
		}
	}
	return all
}

// kind says in words what a setting of a type has to be.
func kind(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a time such as 90s, 5m or 1h30m"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list, such as [a, b]"
	case reflect.Map:
		return "names, each with what it stands for"
	case reflect.Struct:
		return "settings, with these names: " + strings.Join(names(t), ", ")
	}
	return "text"
}
