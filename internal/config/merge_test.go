package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/config"
)

func TestMerge(t *testing.T) {
	file := filepath.Join(t.TempDir(), config.File)
	load := func(text string) (config.Config, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Load(file)
	}
	for text, want := range map[string]config.Merge{
		"":                                     {Into: config.IntoBranch},
		"merge:":                               {Into: config.IntoBranch},
		"merge: {}":                            {Into: config.IntoBranch},
		"merge: branch":                        {Into: config.IntoBranch},
		"merge: pr":                            {Into: config.IntoPR},
		"merge: {into: pr}":                    {Into: config.IntoPR},
		"merge: {approve: person}":             {Into: config.IntoBranch, Approve: config.Person},
		"merge: {into: pr, approve: person}":   {Into: config.IntoPR, Approve: config.Person},
		"merge: {into: branch, approve: null}": {Into: config.IntoBranch},
	} {
		if c, err := load(text); err != nil || c.Merge != want {
			t.Errorf("%q: %+v, %v; want %+v", text, c.Merge, err, want)
		}
	}
	for text, said := range map[string]string{
		"merge: person":            `merge: "person": it has to be branch or pr`,
		"merge: [pr]":              "merge: it has to be settings, with these names: into, approve",
		"merge: {into: main}":      `merge.into: "main": it has to be branch or pr`,
		"merge: {approve: true}":   `merge.approve: "true": it has to be person, or left out`,
		"merge: {approve: codex}":  `merge.approve: "codex": it has to be person, or left out`,
		"merge: {approved: codex}": "merge.approved: it is no setting; there are: into, approve",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%q: %v, want %s", text, err, said)
		}
	}
}
