package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// Every adapter that can be written in signalbox.yaml drives agents, and there are no others.
func TestAdapters(t *testing.T) {
	var names []string
	for _, a := range adapters() {
		names = append(names, string(a))
	}
	if diff := cmp.Diff(agent.Adapters(), names); diff != "" {
		t.Errorf("adapters that drive agents (-) and that signalbox.yaml may name (+):\n%s", diff)
	}
}
