package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// problems are everything that is wrong with a file, so that it can be put right
// at once.
type problems struct {
	file string
	errs []error
}

func (p *problems) add(setting, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s: %s: %w", p.file, setting, fmt.Errorf(format, args...)))
}

func (p *problems) err() error { return errors.Join(p.errs...) }

// read reads settings from YAML over those that are there.
func (c *Config) read(file string, data []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: it goes on after the settings: remove the line with --- and what follows it", file)
	}
	p := problems{file: file}
	p.check(doc.Content[0], reflect.TypeFor[Config](), "")
	if err := p.err(); err != nil {
		return err
	}
	if err := doc.Decode(c); err != nil {
		return fmt.Errorf("%s: %w", file, err)
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
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			f, ok := fields[key.Value]
			if !ok {
				p.add(join(at, key.Value), "line %d: it is no setting; there are: %s", key.Line, strings.Join(names(t), ", "))
				continue
			}
			p.check(value, f, join(at, key.Value))
		}
	case t.Kind() == reflect.Map && n.Kind == yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			p.check(n.Content[i+1], t.Elem(), join(at, n.Content[i].Value))
		}
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, e := range n.Content {
			p.check(e, t.Elem(), fmt.Sprintf("%s[%d]", at, i+1))
		}
	case !scalar(n, t):
		if at == "" {
			at = "the file"
		}
		p.add(at, "line %d: it has to be %s", n.Line, kind(t))
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
