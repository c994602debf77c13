package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox-dev/signalbox/internal/redact"
)

// Setting is one of the settings, as people are shown it.
type Setting struct {
	Name    string // as notify.kinds
	Value   string // empty if it is not set
	Default bool   // it is as it is where nobody has set it
	Means   string // what the value comes to, where it does not say that itself
}

// What stands for a value that may be a secret.
const notShown = "set, and not shown"

// Shown lists the settings in their order, with every default. Of what is a secret, or often has one, only that it is set is there: the
// environment of agents and checks, the webhook's address after its host, patterns of secrets. In the rest secrets that are known by
// their form are redacted.
func (c Config) Shown() ([]Setting, error) {
	r, err := redact.New(c.Redact)
	if err != nil {
		return nil, err
	}
	none, err := Parse(c.Path, nil)
	if err != nil {
		return nil, err
	}
	usual, known := map[Setting]bool{}, map[string]bool{}
	defaults, err := none.list()
	for _, s := range defaults {
		usual[s], known[s.Name] = true, true
	}
	if err != nil {
		return nil, err
	}
	follow, err := c.bare().list()
	for _, s := range follow {
		part, _, _ := strings.Cut(s.Name, ".")
		part, _, _ = strings.Cut(part, "[")
		usual[s] = usual[s] || slices.Contains([]string{"roles", "agents", "checks"}, part)
	}
	if err != nil {
		return nil, err
	}
	all, err := c.concealed().list()
	for i, s := range all {
		all[i].Default = usual[s] || !known[s.Name] && slices.Contains([]string{"", "0", "0s", "false"}, s.Value)
		all[i].Value, all[i].Means = r.Text(s.Value), meaning(s.Name, s.Value)
	}
	return all, err
}

// bare returns settings with the same agents and checks, of which nothing is said, and with what roles go by: what follows for agents,
// checks and roles then is by default.
func (c Config) bare() Config {
	b := Default()
	b.Dir, b.Path, b.Sandbox.Kind, b.Sandbox.Network, b.Limits.Agents = c.Dir, c.Path, c.Sandbox.Kind, c.Sandbox.Network, c.Limits.Agents
	b.Agents, b.Checks = map[string]Agent{}, make([]Check, len(c.Checks))
	for name := range c.Agents {
		b.Agents[name] = Agent{}
	}
	for i := range b.Checks {
		b.Checks[i].Timeout = DefaultCheckTimeout
	}
	b.settle()
	return b
}

// meaning says what a value comes to that means something else than it seems to, or that is not set.
func meaning(name, value string) string {
	switch {
	case value == "0" && (strings.HasPrefix(name, "budget.") || name == "keep.megabytes"):
		return "no limit"
	case value == "0s" && (name == "archive.keep" || strings.HasPrefix(name, "keep.")):
		return "for ever"
	case name == "listen" && strings.HasSuffix(value, ":0"):
		return "the port of before, or any that is free"
	case value == "":
		return unset[name]
	}
	if d, err := time.ParseDuration(value); err == nil && d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return ""
}

// unset says what holds where nothing is set.
var unset = map[string]string{
	"archive.dir":       "in the box's directory",
	"archive.segments":  "in the archive",
	"archive.mirror":    "there is none",
	"tls.cert":          "the box's own",
	"tls.key":           "the box's own",
	"checks":            "nothing is checked",
	"merge.approve":     "nobody besides critic and auditor",
	"notify.secret_env": "messages are not signed",
}

// concealed returns the settings without what may be a secret.
func (c Config) concealed() Config {
	agents := map[string]Agent{}
	for name, a := range c.Agents {
		a.Env = maps.Clone(a.Env)
		for variable := range a.Env {
			a.Env[variable] = notShown
		}
		agents[name] = a
	}
	c.Agents, c.Checks = agents, slices.Clone(c.Checks)
	for i := range c.Checks {
		if c.Checks[i].Environment != "" {
			c.Checks[i].Environment = notShown
		}
	}
	if len(c.Redact) > 0 {
		c.Redact = []string{notShown}
	}
	if u, err := url.Parse(c.Notify.Webhook); c.Notify.Webhook != "" && err == nil {
		c.Notify.Webhook = u.Scheme + "://" + u.Hostname() + "/…"
	}
	return c
}

// list returns the settings as they are.
func (c Config) list() (all []Setting, err error) {
	var n yaml.Node
	if err := n.Encode(c); err != nil {
		return nil, fmt.Errorf("the settings of %s can't be listed: %w", c.Path, err)
	}
	walk("", &n, func(name, value string) { all = append(all, Setting{Name: name, Value: value}) })
	return all, nil
}

// walk calls f with each setting below a node. A list of plain values is one.
func walk(name string, n *yaml.Node, f func(name, value string)) {
	switch {
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			walk(strings.TrimPrefix(name+"."+n.Content[i].Value, "."), n.Content[i+1], f)
		}
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode:
		for i, item := range n.Content {
			walk(fmt.Sprintf("%s[%d]", name, i+1), item, f)
		}
	case n.Kind == yaml.SequenceNode:
		values := make([]string, len(n.Content))
		for i, item := range n.Content {
			values[i] = item.Value
		}
		f(name, strings.Join(values, ", "))
	default:
		f(name, brief(n.Value))
	}
}

// brief writes a length of time as somebody would: 1h, and not 1h0m0s.
func brief(value string) string {
	if _, err := time.ParseDuration(value); err != nil {
		return value
	}
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(value, none) {
			value = value[:len(value)-2]
		}
	}
	return value
}
