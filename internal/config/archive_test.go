package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/config"
)

func TestArchive(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, config.File)
	for text, want := range map[string]config.Archive{
		"":                                      {},
		"archive: ''":                           {},
		"archive:":                              {},
		"archive: copy":                         {Dir: filepath.Join(dir, "copy")},
		"archive: {dir: copy}":                  {Dir: filepath.Join(dir, "copy")},
		"archive: {keep: 2160h}":                {Keep: 90 * 24 * time.Hour},
		"archive: {keep: 0s}":                   {},
		"archive: {segments: /a, mirror: ../b}": {Segments: "/a", Mirror: filepath.Join(dir, "../b")},
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(file)
		if err != nil || c.Archive != want {
			t.Errorf("%q: %+v, %v; want %+v", text, c.Archive, err, want)
		}
	}
	for text, said := range map[string]string{
		"archive: [a]":                           "archive: it has to be settings, with these names: dir, segments, mirror, keep",
		"archive: {keep: 90}":                    "archive.keep: it has to be a time",
		"archive: {keep: 1h}":                    "archive.keep: 1h0m0s: it has to be 24h0m0s or longer",
		"archive: {keep: -24h}":                  "archive.keep: -24h0m0s: it has to be",
		"archive: {path: a}":                     "archive.path: it is no setting",
		"archive: {segments: a, mirror: a/../a}": "archive.mirror: ",
		"archive: {segments: /a, mirror: /a/b}":  "archive.mirror: ",
		"archive: {dir: /a/b, segments: /a}":     "archive.segments: ",
		"archive: {dir: /a, mirror: /a/mirror}":  "archive.mirror: ",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(file); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
