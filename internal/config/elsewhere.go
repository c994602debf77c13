package config

import (
	"maps"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// PromptsDir is where a runner on another machine keeps the prompts of roles, in the directory of its settings.
const PromptsDir = "prompts"

// Elsewhere returns the settings as a runner on another machine goes by them, and the prompts of roles that have one of the user's. Where the box listens, keeps
// its archive and whom it tells is its own; what is in the user's home is in that of whoever runs there; an agent that asks a model works at home.
func (c Config) Elsewhere() (text string, prompts map[string]string, err error) {
	c.Archive, c.Listen, c.Notify, prompts = Archive{}, "", Notify{}, map[string]string{}
	agents := maps.Clone(c.Agents)
	maps.DeleteFunc(agents, func(_ string, a Agent) bool { return a.Adapter == AdapterAsk })
	for _, role := range agentsig.Roles() {
		r := c.Roles.of(role)
		if _, ok := agents[r.Agent]; !ok && c.Agents[r.Agent].Adapter == AdapterAsk {
			r.Agent = Person
		}
		if r.Prompt != "" {
			text, err := regular.Read(r.Prompt, maxLook)
			if err != nil {
				return "", nil, err
			}
			prompts[string(role)], r.Prompt = string(text), PromptsDir+"/"+string(role)
		}
	}
	c.Agents = agents
	write := make([]string, len(c.Sandbox.Write))
	for i, path := range c.Sandbox.Write {
		write[i] = fromTilde(path)
	}
	c.Sandbox.Write = write
	data, err := yaml.Marshal(c)
	var said map[string]any
	if err == nil {
		err = yaml.Unmarshal(data, &said)
	}
	if err == nil {
		data, err = yaml.Marshal(filled(said))
	}
	return string(data), prompts, err
}

// filled leaves out what is set to nothing: that is how settings are left out, and not how they are set.
func filled(all map[string]any) map[string]any {
	for name, v := range all {
		switch v := v.(type) {
		case map[string]any:
			if len(filled(v)) == 0 {
				delete(all, name)
			}
		case []any:
			for _, one := range v {
				if m, ok := one.(map[string]any); ok {
					filled(m)
				}
			}
			if len(v) == 0 {
				delete(all, name)
			}
		case string:
			if v == "" {
				delete(all, name)
			}
		case nil:
			delete(all, name)
		}
	}
	return all
}

// fromTilde is the other way round from [Config.fromHome].
func fromTilde(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return "~" + filepath.ToSlash(rest)
	}
	return path
}
