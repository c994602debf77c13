package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/config"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	got, err := config.Load("")
	if want := (config.Config{Listen: config.DefaultListen}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	if _, err := config.Load("missing.yaml"); err == nil {
		t.Error("a file that was named and is not there is no error")
	}
	for _, c := range []struct {
		text string
		want config.Config
		err  string
	}{
		{"", config.Config{Listen: config.DefaultListen}, ""},
		{"exit_protocol: true\narchive: ../copy\nlisten: 127.0.0.1:7071\nhosts: [git.example.org]\nredact: ['X-[0-9]+']\n", config.Config{
			ExitProtocol: true, Archive: filepath.Join(dir, "../copy"), Listen: "127.0.0.1:7071",
			Hosts: []string{"git.example.org"}, Redact: []string{"X-[0-9]+"},
		}, ""},
		{"exit_protcol: true\n", config.Config{}, "exit_protcol"},
		{"exit_protocol: maybe\n", config.Config{}, "line 1"},
	} {
		path := filepath.Join(dir, config.File)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := config.Load(path)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want an error with %q", c.text, err, c.err)
			}
			continue
		}
		if err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%q: %v\n%s", c.text, err, cmp.Diff(c.want, got))
		}
	}
}
