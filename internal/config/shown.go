package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox-dev/signalbox/internal/redact"
)

// Setting is one of the settings, as people are shown it.
type Setting struct {
	Name    string // as notify.kinds
	Value   string // empty if it is not set
	Default bool   // it is as it is where nothing is set
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
	defaults, err := none.list()
	if err != nil {
		return nil, err
	}
	usual := map[Setting]bool{}
	for _, s := range defaults {
		usual[s] = true
	}
	all, err := c.concealed().list()
	for i, s := range all {
		all[i].Default, all[i].Value = usual[s], r.Text(s.Value)
	}
	return all, err
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
		f(name, n.Value)
	}
}
