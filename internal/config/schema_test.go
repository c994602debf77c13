package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
)

var update = flag.Bool("update", false, "write docs/signalbox.schema.json and the one in the program")

const schemaFile = "../../docs/signalbox.schema.json"

// schema is the part of JSON Schema that is used, in the order in which it is
// written.
type schema struct {
	Schema      string    `json:"$schema,omitempty"`
	Title       string    `json:"title,omitempty"`
	Description string    `json:"description,omitempty"`
	Type        string    `json:"type,omitempty"`
	AnyOf       []*schema `json:"anyOf,omitempty"`
	Enum        []string  `json:"enum,omitempty"`
	Pattern     string    `json:"pattern,omitempty"`
	MinLength   int       `json:"minLength,omitempty"`
	MinItems    int       `json:"minItems,omitempty"`
	Minimum     *int      `json:"minimum,omitempty"`
	Maximum     *int      `json:"maximum,omitempty"`
	Default     any       `json:"default,omitempty"`
	Items       *schema   `json:"items,omitempty"`
	Required    []string  `json:"required,omitempty"`
	Properties  ordered   `json:"properties,omitempty"`
	Additional  any       `json:"additionalProperties,omitempty"` // false, or a *schema
}

// ordered are properties in the order of the Go type.
type ordered []property

type property struct {
	name string
	*schema
}

func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, p := range o {
		value, err := json.Marshal(p.schema)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%c%q:%s", "{,"[min(i, 1)], p.name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// constrain adds to the schema of a setting what its type does not say.
func (s *schema) constrain(at string) {
	least := func(n int) { s.Minimum = &n }
	switch {
	case at == "agents.*":
		s.Required = []string{"command"}
	case at == "agents.*.command":
		s.MinItems = 1
	case at == "agents.*.input":
		s.Enum, s.Default = []string{string(config.InputOnce), string(config.InputJSON)}, config.InputOnce
	case at == "agents.*.adapter":
		s.Enum, s.Default = []string{"plain", "acp", "claude", "codex"}, "plain"
	case at == "agents.*.commands":
		s.Enum = []string{string(config.CommandsExec)}
	case at == "gate.runner":
		s.Enum = []string{string(config.GateOther), string(config.GateAny), string(config.GateHome)}
	case at == "review":
		s.Enum = []string{string(config.ReviewProtected), string(config.ReviewUnprotected)}
	case at == "audit":
		for _, one := range config.Audits() {
			s.Enum = append(s.Enum, string(one))
		}
	case at == "sandbox.kind":
		s.Enum = []string{"none", "landlock", "bubblewrap"}
	case at == "sandbox.network" || at == "sandbox.checks" || at == "gate.checks":
		s.Enum = []string{"on", "off"}
	case at == "sandbox.write.*":
		s.MinLength = 1
	case strings.HasSuffix(at, ".allow.*"):
		s.Enum = []string{"edit", "execute", "fetch"}
	case strings.HasSuffix(at, ".sandbox"): // of a role: as for all, which is not a value of its own
		s.Enum, s.Default = []string{"none", "landlock", "bubblewrap"}, nil
	case strings.HasSuffix(at, ".network"):
		s.Enum, s.Default = []string{"on", "off"}, nil
	case at == "merge.into":
		s.Enum = []string{string(config.IntoBranch), string(config.IntoPR)}
	case at == "merge.approve":
		s.Enum = []string{"", config.Person}
	case at == "checks.*":
		s.Required = []string{"name", "command"}
	case at == "checks.*.name", at == "checks.*.command":
		s.MinLength, s.Default = 1, nil
	case at == "checks.*.exit":
		least(0)
		most := 255
		s.Maximum = &most
	case at == "checks.*.timeout":
		s.Default = "10m"
	case at == "signals.*":
		s.Required = []string{"kind"}
	case at == "signals.*.kind":
		s.Default = nil
		for _, e := range agentsig.Vocabulary() {
			if e.Dialect == agentsig.DialectLine {
				s.Enum = append(s.Enum, string(e.Kind))
			}
		}
	case at == "signals.*.argument":
		s.Enum, s.Default = []string{"task", "request", "name", "path", agentsig.NoOwnArgument}, nil
	case at == "signals.*.roles.*":
		for _, r := range agentsig.Roles() {
			s.Enum = append(s.Enum, string(r))
		}
	case at == "notify.webhook":
		s.Pattern = "^(https?://.*)?$"
	case at == "notify.kinds.*":
		for _, k := range config.Kinds() {
			s.Enum = append(s.Enum, string(k))
		}
	case strings.HasPrefix(at, "limits.") && s.Type == "integer":
		least(1)
	case s.Type == "integer", s.Type == "number":
		least(0)
	}
}

// describe makes the schema of a value of the configuration.
func describe(v reflect.Value, at string, comments map[string]string) *schema {
	s := &schema{}
	switch t := v.Type(); {
	case t == reflect.TypeFor[time.Duration]():
		s.Type, s.Pattern = "string", `^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
		if d := v.Interface().(time.Duration); d > 0 {
			s.Default = short(d)
		}
	case t.Kind() == reflect.Struct:
		s.Type, s.Additional = "object", false
		for f, field := range v.Fields() {
			name := f.Tag.Get("yaml")
			if name == "-" {
				continue
			}
			p := describe(field, strings.TrimPrefix(at+"."+name, "."), comments)
			if f.Type == reflect.TypeFor[config.Archive]() {
				p = &schema{AnyOf: []*schema{{Type: "string", Default: ""}, p}}
			}
			if f.Type == reflect.TypeFor[config.Merge]() {
				p = &schema{AnyOf: []*schema{describe(field.FieldByName("Into"), "merge.into", comments), p}}
			}
			p.Description = comments[t.Name()+"."+f.Name]
			s.Properties = append(s.Properties, property{name, p})
		}
	case t.Kind() == reflect.Map:
		s.Type, s.Additional = "object", describe(reflect.Zero(t.Elem()), at+".*", comments)
	case t.Kind() == reflect.Slice:
		s.Type, s.Items = "array", describe(reflect.Zero(t.Elem()), at+".*", comments)
		if v.Len() > 0 {
			s.Default = v.Interface()
		}
	default:
		s.Type = map[reflect.Kind]string{
			reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number", reflect.String: "string",
		}[t.Kind()]
		if !strings.HasSuffix(at, ".*") {
			s.Default = v.Interface()
		}
	}
	s.constrain(at)
	return s
}

// short is a duration as a person writes it.
func short(d time.Duration) string {
	s := d.String()
	if t, ok := strings.CutSuffix(s, "m0s"); ok {
		s = t + "m"
	}
	if t, ok := strings.CutSuffix(s, "h0m"); ok {
		s = t + "h"
	}
	return s
}

// comments returns the comment of every field, by type and name.
func comments(t *testing.T) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if fields, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range fields.Fields.List {
				all[spec.Name.Name+"."+f.Names[0].Name] = strings.TrimSpace(f.Comment.Text())
			}
		}
		return false
	})
	return all
}

func wanted(t *testing.T) *schema {
	s := describe(reflect.ValueOf(config.Default()), "", comments(t))
	s.Schema, s.Title, s.Description = "https://json-schema.org/draft/2020-12/schema", config.File, "The settings of a box and of a delivery."
	return s
}

// TestSchema holds the published schema to the Go types: every setting, its
// description, its default.
func TestSchema(t *testing.T) {
	want, err := json.MarshalIndent(wanted(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := errors.Join(os.WriteFile(schemaFile, want, 0o644), os.WriteFile(path.Base(schemaFile), want, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if config.Schema() != string(want) {
		t.Errorf("the schema in the program is another; `go test ./internal/config -update` writes it")
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the types say; `go test ./internal/config -update` writes it:\n%s", path.Base(schemaFile), diff)
	}
	var walk func(s *schema, at string)
	walk = func(s *schema, at string) {
		for _, way := range s.AnyOf {
			walk(way, at)
		}
		for _, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("%s.%s has no comment to describe it", at, p.name)
			}
			walk(p.schema, at+"."+p.name)
		}
	}
	walk(wanted(t), "")
}

// check says where a value is not as the schema has it.
func (s *schema) check(v any, at string) error {
	if v == nil {
		return nil // the same as left out
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
	}
	if len(s.AnyOf) > 0 {
		var errs []error
		for _, way := range s.AnyOf {
			err := way.check(v, at)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" {
			return wrong("it is an object, not of type %s", s.Type)
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return wrong("it has no %s", name)
			}
		}
		for name, value := range v {
			next, _ := s.Additional.(*schema)
			if i := slices.IndexFunc(s.Properties, func(p property) bool { return p.name == name }); i >= 0 {
				next = s.Properties[i].schema
			}
			if next == nil {
				return wrong("%s is not known", name)
			}
			if err := next.check(value, at+"."+name); err != nil {
				return err
			}
		}
	case []any:
		if s.Type != "array" || len(v) < s.MinItems {
			return wrong("it is a list of %d, want %d of type %s", len(v), s.MinItems, s.Type)
		}
		for i, e := range v {
			if err := s.Items.check(e, fmt.Sprintf("%s[%d]", at, i+1)); err != nil {
				return err
			}
		}
	case string:
		if s.Type != "string" || len(v) < s.MinLength || s.Enum != nil && !slices.Contains(s.Enum, v) || !regexp.MustCompile(s.Pattern).MatchString(v) {
			return wrong("%q does not fit", v)
		}
	case bool:
		if s.Type != "boolean" {
			return wrong("it is %v, not of type %s", v, s.Type)
		}
	case int:
		if s.Type != "integer" && s.Type != "number" || s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			return wrong("%d does not fit", v)
		}
	case float64:
		if s.Type != "number" || s.Minimum != nil && v < float64(*s.Minimum) {
			return wrong("%v does not fit", v)
		}
	}
	return nil
}

// defaults returns the defaults of all settings that are not in lists or maps.
func (s *schema) defaults() any {
	if s.Properties == nil {
		return s.Default
	}
	all := map[string]any{}
	for _, p := range s.Properties {
		all[p.name] = p.defaults()
	}
	return all
}

// TestSchemaAgreesWithLoad: an editor that knows the schema marks what Load
// refuses, as far as a schema can tell, and nothing else.
func TestSchemaAgreesWithLoad(t *testing.T) {
	s := wanted(t)
	check := func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return s.check(v, "")
	}
	for _, c := range refused {
		if check(c.text) == nil {
			t.Errorf("%s: the schema allows it, and Load does not", c.text)
		}
	}
	good := strings.ReplaceAll(everything, "PORT: 8080", "PORT: '8080'")
	if err := check(good); err != nil {
		t.Errorf("the schema refuses what Load takes: %v", err)
	}
	text, err := yaml.Marshal(s.defaults())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	got, err := load(t, dir, string(text))
	if diff := cmp.Diff(settled(dir), got); err != nil || diff != "" {
		t.Errorf("the schema's defaults are not those of Load: %v\n%s", err, diff)
	}
}

// TestNoLimitIsZero: what would switch a limit off by accident is refused.
func TestNoLimitIsZero(t *testing.T) {
	dir := t.TempDir()
	for _, p := range wanted(t).Properties {
		if p.name != "limits" {
			continue
		}
		for _, q := range p.Properties {
			zero := "0"
			if q.Type == "string" {
				zero = "0s"
			}
			_, err := load(t, dir, fmt.Sprintf("limits: {%s: %s}\n", q.name, zero))
			if want := "limits." + q.name + ": " + zero; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want an error with %q", err, want)
			}
		}
	}
}
