package httpapi

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// description is the part of docs/openapi.yaml that the code can be held against.
type description struct {
	Security []map[string][]string           `yaml:"security"`
	Paths    map[string]map[string]yaml.Node `yaml:"paths"`

	Components struct {
		Schemas map[string]schema `yaml:"schemas"`
	} `yaml:"components"`
}

type operation struct {
	Security  *[]map[string][]string `yaml:"security"` // nil for that of the whole API
	Responses map[string]yaml.Node   `yaml:"responses"`
}

type schema struct {
	Ref        string            `yaml:"$ref"`
	Type       kind              `yaml:"type"`
	Required   []string          `yaml:"required"`
	Properties map[string]schema `yaml:"properties"`
	Additional *bool             `yaml:"additionalProperties"`
	Enum       []string          `yaml:"enum"`
}

func describe(t *testing.T) description { return read[description](t) }

func read[T any](t *testing.T) T {
	t.Helper()
	data, err := os.ReadFile("../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOpenAPIIsWhole(t *testing.T) {
	root := read[map[string]any](t)
	var walk func(any)
	walk = func(node any) {
		switch n := node.(type) {
		case []any:
			for _, child := range n {
				walk(child)
			}
		case map[string]any:
			if ref, ok := n["$ref"].(string); ok && lookUp(root, ref) == nil {
				t.Errorf("%s leads nowhere", ref)
			}
			for name, child := range n {
				if child == nil {
					t.Errorf("%q has no value: a text with a comma needs quotes", name)
				}
				walk(child)
			}
		}
	}
	walk(root)
	if limit, _ := lookUp(root, "#/components/parameters/Limit/schema").(map[string]any); limit["maximum"] != api.PageSize {
		t.Errorf("the largest limit is %d, and described as %v", api.PageSize, limit["maximum"])
	}
}

// lookUp returns what a reference such as #/components/schemas/Work leads to.
func lookUp(root map[string]any, ref string) any {
	var at any = root
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		members, _ := at.(map[string]any)
		at = members[name]
	}
	return at
}

// operations returns what is described, by method and path, with the names of the
// security schemes, each with its scopes; "" for none.
func (d description) operations(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for path, methods := range d.Paths {
		for method, node := range methods {
			if method == "parameters" {
				continue
			}
			var o operation
			if err := node.Decode(&o); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			if len(o.Responses) < 1 {
				t.Errorf("%s %s has no answers", method, path)
			}
			if o.Security == nil {
				o.Security = &d.Security
			}
			var schemes []string
			for _, s := range *o.Security {
				for name, scopes := range s {
					schemes = append(schemes, strings.Join(append([]string{name}, scopes...), ":"))
				}
			}
			all[strings.ToUpper(method)+" "+path] = strings.Join(schemes, " ")
		}
	}
	return all
}

func TestOpenAPIRoutes(t *testing.T) {
	b := openBox(t)
	s := New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).WithCluster(clusterOf(made(t)))
	want := map[string]string{"GET /healthz": "", "GET /readyz": ""}
	for _, r := range slices.Concat(s.routes(), s.enrolment(), s.clusterRoutes()) {
		if r.needs == access.ToShare || r.pattern == "POST "+introducePath { // as what runners are told, what boxes say to each other is no API
			continue
		}
		want[r.pattern] = schemes(r.needs)
	}
	described := describe(t).operations(t)
	if diff := cmp.Diff(want, described); diff != "" {
		t.Errorf("routes (-) and docs/openapi.yaml (+):\n%s", diff)
	}
}

// What any box answers by what it has is described so, and nothing else is.
func TestOpenAPIStale(t *testing.T) {
	for path, methods := range describe(t).Paths {
		for method, node := range methods {
			text, err := yaml.Marshal(&node)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Contains(slices.Concat(answeredFromFold, answeredOld), strings.ToUpper(method)+" "+path)
			for _, ref := range []string{"parameters/Stale", "headers/Events", "headers/Age"} {
				if got := strings.Contains(string(text), "#/components/"+ref); got != want {
					t.Errorf("%s %s: %s is there: %t, want %t", method, path, ref, got, want)
				}
			}
		}
	}
}

// schemes says how the description has who may do what.
func schemes(needs access.Right) string {
	switch needs {
	case access.ToReport:
		return "gateToken"
	case access.ToOwn:
		return "apiToken"
	case access.ToJoin:
		return "runnerKey"
	case access.ToAttend:
		return "apiToken clientToken:operate sessionToken"
	}
	return "apiToken clientToken:" + access.Words(needs.Scopes(), ":")
}

func TestOpenAPISchemas(t *testing.T) {
	d := describe(t)
	requests := []any{
		api.AddWork{}, api.Claim{}, api.Report{}, api.Override{}, api.StartRun{}, api.Answer{}, api.Message{},
		api.Ask{}, api.Signalled{}, api.CallDecided{}, api.CallEnded{}, api.Answered{}, api.NewToken{}, api.NewPage{}, api.NewRunner{}, api.DrainRunner{}, api.JoinRunner{}, api.NewMember{}, api.JoinCluster{},
	}
	sessions := []any{api.SessionReport{}, api.SaidSignal{}}
	answers := []any{
		api.Work{}, work.Statement{}, work.Evidence{}, api.Holder{}, api.Grant{}, api.Emitted{}, api.NearMiss{}, api.Recorded{}, api.Event{}, api.NextEvents{}, api.Status{}, api.BoxStatus{}, api.LedgerStatus{}, api.Messages{}, api.InCluster{},
		api.Run{}, api.Task{}, api.Agent{}, api.Repair{}, api.Provider{}, api.Question{}, api.Notice{}, api.Told{}, api.SessionCommand{}, delivery.Usage{},
		api.Conversation{}, conversation.Exchange{}, api.ClientToken{}, api.CreatedToken{}, api.PageLink{}, api.Runner{}, api.Invitation{}, api.JoinedRunner{}, api.ClusterStatus{}, api.MemberStatus{}, api.JoinedCluster{}, access.Member{},
	}
	for _, v := range slices.Concat(requests, sessions, answers) {
		d.compare(t, reflect.TypeOf(v).Name(), v)
	}
	d.compare(t, "LedgerEvent", ledger.Event{})
	d.compare(t, "Proof", ledger.Proof{})
	d.compare(t, "AgentConversation", delivery.Conversation{})
	d.compare(t, "Problem", api.ProblemDetails{})
	for _, v := range requests {
		// The box refuses members that it does not know, unless they are a session's.
		if a := d.Components.Schemas[reflect.TypeOf(v).Name()].Additional; a == nil || *a {
			t.Errorf("%T: additionalProperties has to be false", v)
		}
	}
}

// compare holds a schema against the type that is written or read.
func (d description) compare(t *testing.T, name string, v any) {
	t.Helper()
	s, ok := d.Components.Schemas[name]
	if !ok {
		t.Errorf("there is no schema %s", name)
		return
	}
	want, got := map[string]string{}, map[string]string{}
	var required []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if f.Anonymous || f.Tag.Get("json") == "-" { // its fields are visible themselves; what is on no wire
			continue
		}
		member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		want[member] = jsonType(f.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, member)
		}
	}
	for member, p := range s.Properties {
		if p.Ref != "" {
			p = d.Components.Schemas[strings.TrimPrefix(p.Ref, "#/components/schemas/")]
		}
		got[member] = string(p.Type)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, members of %T (-) and of the schema (+):\n%s", name, v, diff)
	}
	slices.Sort(required)
	slices.Sort(s.Required)
	if diff := cmp.Diff(required, s.Required); diff != "" {
		t.Errorf("%s, what %T always has (-) and what the schema requires (+):\n%s", name, v, diff)
	}
}

// kind is a schema's type. One that may be null besides is a list of both.
type kind string

func (k *kind) UnmarshalYAML(n *yaml.Node) error {
	var both [2]string
	if n.Kind != yaml.SequenceNode {
		return n.Decode((*string)(k))
	}
	if err := n.Decode(&both); err != nil {
		return err
	}
	if both[1] != "null" {
		return fmt.Errorf("line %d: a list of types is one and null", n.Line)
	}
	*k = kind(both[0])
	return nil
}

// jsonType is what a Go type becomes in JSON.
func jsonType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "object"
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return "string"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string" // base64
		}
		return "array"
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.Struct:
		return "object"
	}
	return t.String()
}

func TestOpenAPIEnums(t *testing.T) {
	d := describe(t)
	schemas := d.Components.Schemas
	codes := slices.Concat(constants(t, "../api/api.go", "Code"), constants(t, "../api/session.go", "Code"))
	codes = slices.DeleteFunc(codes, func(code string) bool { return code == api.CodeFailed || code == api.CodeUsage }) // which clients say
	answered := slices.Collect(maps.Keys(statuses))
	answered = append(answered, api.CodeForbidden) // whatever the reason
	for _, p := range problems {
		answered = append(answered, p.code)
	}
	slices.Sort(codes)
	slices.Sort(answered)
	if diff := cmp.Diff(codes, slices.Compact(answered)); diff != "" {
		t.Errorf("codes of problems (-) and those that have a status (+):\n%s", diff)
	}
	described := slices.Sorted(slices.Values(schemas["Problem"].Properties["code"].Enum))
	if diff := cmp.Diff(codes, described); diff != "" {
		t.Errorf("codes of problems (-) and the schema's (+):\n%s", diff)
	}
	for name, want := range map[string][]string{
		"Phase": texts(agentsig.Phases()), "Role": texts(agentsig.Roles()), "ExitReason": texts(agentsig.ExitReasons()),
		"EventType": work.Types(), "RunEventType": delivery.Types(), "ConversationEventType": conversation.Types(), "TokenEventType": access.Types(), "Scope": texts(access.Scopes()),
		"ConversationOutcome": constants(t, "../conversation/event.go", "Outcome"), "Reflection": reflections(),
		"DecidedBy":   constants(t, "../conversation/event.go", "DecidedBy"),
		"CallOutcome": constants(t, "../conversation/event.go", "CallOutcome"),
		"RunState":    constants(t, "../api/run.go", "RunState"),
		"ReportKind":  constants(t, "../api/session.go", "Report"),
		"Ending":      constants(t, "../api/session.go", "How"),
		"MemberRole":  constants(t, "../api/cluster.go", "Role"),
		"MemberState": constants(t, "../api/cluster.go", "Member"),
		"CommandKind": constants(t, "../api/session.go", "Command"),
		"Cause":       slices.Concat(constants(t, "../delivery/event.go", "Cause"), constants(t, "../work/check.go", "Cause")),
		"Choice":      constants(t, "../delivery/event.go", "Choose"),
		"Outcome":     constants(t, "../delivery/event.go", "Outcome"),
		"PromptKind":  constants(t, "../delivery/run.go", "Ask"),
		"Wait":        constants(t, "../delivery/wait.go", "Wait"),
	} {
		if diff := cmp.Diff(want, schemas[name].Enum); diff != "" {
			t.Errorf("%s in the code (-) and in the schema (+):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(schemas["Wait"].Enum, texts(delivery.Waits())); diff != "" {
		t.Errorf("what tasks wait for in the schema (-) and in the list of all (+):\n%s", diff)
	}
	said, recorded := constants(t, "../api/session.go", "How"), constants(t, "../delivery/event.go", "How")
	said = append(said, string(delivery.Broken), string(delivery.Lost)) // which the box says itself
	slices.Sort(said)
	slices.Sort(recorded)
	if diff := cmp.Diff(said, recorded); diff != "" {
		t.Errorf("ends that a session reports (-) and that a run knows (+):\n%s", diff)
	}
}

// TestDeliveryPage sees that docs/delivery.md names every cause of a question and
// every field of a prompt.
func TestDeliveryPage(t *testing.T) {
	data, err := os.ReadFile("../../docs/delivery.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, cause := range constants(t, "../delivery/event.go", "Cause") {
		if cause != string(delivery.CauseInfrastructure) { // which blocks, and is not asked
			names = append(names, cause)
		}
	}
	for _, v := range []any{prompt.Data{}, plan.Check{}, delivery.Brief{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			names = append(names, "."+f.Name)
		}
	}
	for _, name := range names {
		if !strings.Contains(string(data), "`"+name+"`") {
			t.Errorf("docs/delivery.md does not name %s", name)
		}
	}
}

// constants returns the values of a file's constants of a type, or whose names begin
// so if they have none, in their order: a new one has to be described.
func constants(t *testing.T, file, of string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, d := range parsed.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			spec, ok := s.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				continue
			}
			named, typed := spec.Type.(*ast.Ident)
			text, isText := spec.Values[0].(*ast.BasicLit)
			if !isText || typed && named.Name != of || !typed && !strings.HasPrefix(spec.Names[0].Name, of) {
				continue
			}
			value, err := strconv.Unquote(text.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
	}
	return values
}

// reflections lists the signals of a model about its own turn.
func reflections() []string {
	var kinds []string
	for _, e := range agentsig.Vocabulary() {
		if e.Dialect == agentsig.DialectXML {
			kinds = append(kinds, string(e.Kind))
		}
	}
	return kinds
}

func texts[S ~string](all []S) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s)
	}
	return out
}
