package engine_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/engine/enginetest"
)

func TestConformance(t *testing.T) {
	enginetest.Conformance(t, func(t *testing.T, dir string) engine.Log {
		j, err := engine.Open(t.Context(), engine.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return j
	})
}
