package groot_test

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tag is an element of a file, read without what this package reads files by.
type tag struct {
	XMLName    xml.Name
	Attributes []xml.Attr `xml:",any,attr"`
	Children   []tag      `xml:",any"`
}

func (t tag) get(name string) string {
	for _, a := range t.Attributes {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// node is what a file or the format says of a node.
type node struct {
	class string
	ports []string
}

// builtin are the nodes of BehaviorTree.CPP 4 that this package writes, with their ports.
var builtin = map[string]node{
	"AlwaysSuccess": {class: "Action"}, "AlwaysFailure": {class: "Action"},
	"Sequence": {class: "Control"}, "Fallback": {class: "Control"},
	"ReactiveSequence": {class: "Control"}, "ReactiveFallback": {class: "Control"},
	"Switch2":  {"Control", []string{"variable", "case_1", "case_2"}},
	"Switch3":  {"Control", []string{"variable", "case_1", "case_2", "case_3"}},
	"Switch4":  {"Control", []string{"variable", "case_1", "case_2", "case_3", "case_4"}},
	"Switch5":  {"Control", []string{"variable", "case_1", "case_2", "case_3", "case_4", "case_5"}},
	"Switch6":  {"Control", []string{"variable", "case_1", "case_2", "case_3", "case_4", "case_5", "case_6"}},
	"Parallel": {"Control", []string{"success_count", "failure_count"}},
	"Inverter": {class: "Decorator"}, "ForceSuccess": {class: "Decorator"}, "ForceFailure": {class: "Decorator"},
	"Timeout":              {"Decorator", []string{"msec"}},
	"RetryUntilSuccessful": {"Decorator", []string{"num_attempts"}},
	"Repeat":               {"Decorator", []string{"num_cycles"}},
}

// numbers are ports that take a whole number.
var numbers = []string{"success_count", "failure_count", "msec", "num_attempts", "num_cycles"}

var portName = regexp.MustCompile(`^[A-Za-z][^ \t\n\r<>&"'/\\:*?|.]*$`)

// checker holds a file against the rules by which BehaviorTree.CPP 4 takes it.
type checker struct {
	problems []string
	trees    map[string]bool
	models   map[string]node
}

func (c *checker) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// formatProblems says what BehaviorTree.CPP 4 would refuse in a file: its program is in no package registry, so these are
// its rules, written down once more.
func formatProblems(file []byte) []string {
	var root tag
	if err := xml.Unmarshal(file, &root); err != nil {
		return []string{err.Error()}
	}
	c := &checker{trees: map[string]bool{}, models: map[string]node{}}
	if root.XMLName.Local != "root" || root.get("BTCPP_format") != "4" {
		c.say("no root of format 4")
	}
	models := 0
	for _, e := range root.Children {
		switch e.XMLName.Local {
		case "BehaviorTree":
			if c.trees[e.get("ID")] {
				c.say("the tree %q twice", e.get("ID"))
			}
			c.trees[e.get("ID")] = true
		case "TreeNodesModel":
			if models++; models > 1 {
				c.say("two models")
			}
			for _, m := range e.Children {
				c.model(m)
			}
		default:
			c.say("<%s> below the root", e.XMLName.Local)
		}
	}
	if main := root.get("main_tree_to_execute"); !c.trees[main] && (main != "" || len(c.trees) != 1) {
		c.say("no main tree")
	}
	for _, e := range root.Children {
		if e.XMLName.Local == "BehaviorTree" {
			c.named(e.get("ID"))
			if len(e.Children) != 1 {
				c.say("the tree %q has %d roots", e.get("ID"), len(e.Children))
			}
			for _, child := range e.Children {
				c.node(child)
			}
		}
	}
	return c.problems
}

// model takes what a file declares.
func (c *checker) model(m tag) {
	id, class := m.get("ID"), m.XMLName.Local
	_, has := c.models[id]
	if _, ours := builtin[id]; id == "" || has || ours || !slices.Contains([]string{"Action", "Condition", "Control", "Decorator", "SubTree"}, class) {
		c.say("the model <%s> %q", class, id)
	}
	if class == "SubTree" && !c.trees[id] {
		c.say("the model of the tree %q, which is none", id)
	}
	n := node{class: class}
	for _, p := range m.Children {
		name := p.get("name")
		if slices.Contains(n.ports, name) || !portName.MatchString(name) || name == "name" || name == "ID" || !strings.HasSuffix(p.XMLName.Local, "put_port") && p.XMLName.Local != "inout_port" {
			c.say("the port <%s> %q of %q", p.XMLName.Local, name, id)
		}
		n.ports = append(n.ports, name)
	}
	c.models[id] = n
}

// named holds the name of a tree against those of nodes.
func (c *checker) named(tree string) {
	_, ours := builtin[tree]
	if n, has := c.models[tree]; tree == "" || ours || has && n.class != "SubTree" {
		c.say("a tree of the name %q", tree)
	}
}

func (c *checker) node(e tag) {
	name := e.XMLName.Local
	var n node
	switch name {
	case "Action", "Condition", "Control", "Decorator", "SubTree":
		id, has := e.get("ID"), false
		if n, has = c.models[id]; !has {
			n, has = builtin[id]
		}
		if name == "SubTree" {
			n.class, has = "SubTree", c.trees[id]
		}
		if id == "" || !has || n.class != name {
			c.say("<%s> of the ID %q", name, id)
		}
	default:
		var has bool
		if n, has = builtin[name]; !has {
			n, has = c.models[name]
		}
		if !has || n.class == "SubTree" || e.get("ID") != "" {
			c.say("<%s>, which is not declared or has an ID", name)
		}
	}
	children := map[string]bool{"": true, "Action": len(e.Children) == 0, "Condition": len(e.Children) == 0, "SubTree": len(e.Children) == 0,
		"Decorator": len(e.Children) == 1, "Control": len(e.Children) > 0}
	if !children[n.class] {
		c.say("<%s> with %d children", name, len(e.Children))
	}
	if k, isSwitch := strings.CutPrefix(name, "Switch"); isSwitch && len(k) == 1 && strconv.Itoa(len(e.Children)-1) != k {
		c.say("<%s> with %d children", name, len(e.Children))
	}
	for _, a := range e.Attributes {
		port := a.Name.Local
		if port == "name" || port == "ID" || strings.HasPrefix(port, "_") {
			continue
		}
		if !slices.Contains(n.ports, port) {
			c.say("%s of <%s>, which has no such port", port, name)
		}
		if _, err := strconv.Atoi(a.Value); err != nil && slices.Contains(numbers, port) {
			c.say("%s of <%s>: %q", port, name, a.Value)
		}
	}
	for _, child := range e.Children {
		c.node(child)
	}
}

// TestFormatIsChecked has files that BehaviorTree.CPP 4 would refuse.
func TestFormatIsChecked(t *testing.T) {
	if problems := formatProblems([]byte(in("<Sequence><AlwaysSuccess/></Sequence>"))); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
	model := func(content, models string) string {
		return `<root BTCPP_format="4"><BehaviorTree ID="t">` + content + `</BehaviorTree><TreeNodesModel>` + models + `</TreeNodesModel></root>`
	}
	for _, c := range []struct{ file, want string }{
		{`<root BTCPP_format="3"><BehaviorTree ID="t"><AlwaysSuccess/></BehaviorTree></root>`, "no root of format 4"},
		{`<root BTCPP_format="4" main_tree_to_execute="x"/>`, "no main tree"},
		{in("<AlwaysSuccess/><AlwaysSuccess/>"), `the tree "t" has 2 roots`},
		{in("<Sequence/>"), "<Sequence> with 0 children"},
		{in("<ReactiveSequence/>"), "<ReactiveSequence> with 0 children"},
		{in("<Inverter><AlwaysSuccess/><AlwaysSuccess/></Inverter>"), "<Inverter> with 2 children"},
		{in("<Switch2 variable='{x}' case_1='1' case_2='2'><AlwaysSuccess/></Switch2>"), "<Switch2> with 1 children"},
		{in("<AlwaysSuccess x='1'/>"), "x of <AlwaysSuccess>, which has no such port"},
		{in("<Timeout msec='1.5'><AlwaysSuccess/></Timeout>"), `msec of <Timeout>: "1.5"`},
		{in("<Jump/>"), "<Jump>, which is not declared or has an ID"},
		{in("<SubTree ID='other'/>"), `<SubTree> of the ID "other"`},
		{model("<Condition ID='A'/>", "<Action ID='A'/>"), `<Condition> of the ID "A"`},
		{model("<Action ID='A' x='1'/>", "<Action ID='A'/>"), "x of <Action>, which has no such port"},
		{model("<AlwaysSuccess/>", "<Action ID='t'/>"), `a tree of the name "t"`},
		{model("<AlwaysSuccess/>", "<Action ID='A'/><Action ID='A'/>"), `the model <Action> "A"`},
		{model("<AlwaysSuccess/>", "<Action ID='A'><input_port name='1'/></Action>"), `the port <input_port> "1" of "A"`},
	} {
		if problems := formatProblems([]byte(c.file)); len(problems) != 1 || problems[0] != c.want {
			t.Errorf("%s: %q, want %q", c.file, problems, c.want)
		}
	}
}
