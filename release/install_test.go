package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var snapshot = flag.String("snapshot", "", "install from this `DIRECTORY`, which release/snapshot has made, and not from a small release of the test's own")

// scripted is what stands for both programs in the test's own release.
const scripted = "#!/bin/sh\necho \"${0##*/} $1\"\n"

// served serves the files of a release on loopback, and returns its address.
func served(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return serve(t, dir)
}

func serve(t *testing.T, dir string) string {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL
}

// archive returns an archive with these files, which are executable.
func archive(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// whole are the files of an archive as a release has them.
func whole() map[string]string {
	files := map[string]string{"man/signalbox.1": "page", "man/signalbox-run.1": "page", "LICENSE": "text"}
	for _, name := range []string{"signalbox", "portfolio"} {
		files[name] = scripted
		files["completions/"+name+".bash"], files["completions/_"+name], files["completions/"+name+".fish"] = "b", "z", "f"
	}
	return files
}

// without returns files without one of them.
func without(files map[string]string, name string) map[string]string {
	delete(files, name)
	return files
}

// archiveName is the name of this system's archive.
var archiveName = fmt.Sprintf("signalbox_0.1.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)

func sum(name, content string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name)
}

// install runs a script as a user would whose home directory is empty, and returns the files that it left in home and
// in the directory for temporary files.
func install(t *testing.T, script, url string, args ...string) (said string, home, left []string, err error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("install.sh is for Linux and macOS")
	}
	homeDir, temporary := t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{script}, args...)...)
	cmd.Env = []string{"HOME=" + homeDir, "TMPDIR=" + temporary, "PATH=" + os.Getenv("PATH"), "SIGNALBOX_RELEASE_URL=" + url, "no_proxy=127.0.0.1"}
	out, err := cmd.CombinedOutput()
	return string(out), below(t, homeDir), below(t, temporary), err
}

// below lists what is below a directory: directories with a slash at the end.
func below(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if d.IsDir() {
			name += "/"
		}
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A release is installed, and what was done is said.
func TestInstall(t *testing.T) {
	var url string
	if *snapshot != "" {
		url = serve(t, *snapshot)
	} else {
		a := archive(t, whole())
		url = served(t, map[string]string{archiveName: a, "checksums.txt": sum("other.deb", "x") + sum(archiveName, a)})
	}
	said, home, left, err := install(t, "../install.sh", url)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Log(said)
	files := slices.DeleteFunc(home, func(name string) bool {
		return strings.HasSuffix(name, "/") || strings.Contains(name, "man1/signalbox-") || strings.Contains(name, "man1/portfolio")
	})
	want := []string{
		".local/bin/portfolio", ".local/bin/signalbox",
		".local/share/bash-completion/completions/portfolio", ".local/share/bash-completion/completions/signalbox",
		".local/share/fish/vendor_completions.d/portfolio.fish", ".local/share/fish/vendor_completions.d/signalbox.fish",
		".local/share/man/man1/signalbox.1",
		".local/share/zsh/site-functions/_portfolio", ".local/share/zsh/site-functions/_signalbox",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(left) > 0 {
		t.Errorf("left in the directory for temporary files: %q", left)
	}
	for _, part := range []string{"signalbox ", "installed signalbox and portfolio in ", "has the SHA-256 that checksums.txt", "is not in your PATH"} {
		if !strings.Contains(said, part) {
			t.Errorf("said %q, without %q", said, part)
		}
	}
}

// A refusal is a release, or a way to ask for one, that is refused, and a part of what is said then.
type refusal struct {
	files map[string]string
	args  []string
	want  string
}

// refusals returns those that there are.
func refusals(t *testing.T) map[string]refusal {
	t.Helper()
	release := func(content string) map[string]string {
		return map[string]string{archiveName: content, "checksums.txt": sum(archiveName, content)}
	}
	broken := whole()
	broken["signalbox"] = "#!/bin/sh\nexit 1\n"
	good := archive(t, whole())
	return map[string]refusal{
		"wrong checksum":     {map[string]string{archiveName: good, "checksums.txt": sum(archiveName, good+"x")}, nil, "and checksums.txt says"},
		"no entry":           {map[string]string{archiveName: good, "checksums.txt": sum("signalbox_0.1.0_plan9_mips.tar.gz", good)}, nil, "names 0 archives"},
		"two entries":        {map[string]string{archiveName: good, "checksums.txt": sum(archiveName, good) + sum(archiveName, "x")}, nil, "names 2 archives"},
		"a name with a path": {map[string]string{archiveName: good, "checksums.txt": sum("../"+archiveName, good)}, nil, "names 0 archives"},
		"no checksums":       {map[string]string{archiveName: good}, nil, "checksums.txt could not be downloaded"},
		"no archive":         {map[string]string{"checksums.txt": sum(archiveName, good)}, nil, "could not be downloaded"},
		"no archive at all":  {release("text"), nil, "can't be unpacked"},
		"no portfolio":       {release(archive(t, without(whole(), "portfolio"))), nil, "has no portfolio"},
		"no completions":     {release(archive(t, without(whole(), "completions/portfolio.bash"))), nil, "completions/portfolio.bash"},
		"does not run":       {release(archive(t, broken)), nil, "does not run on this machine"},
		"unknown flag":       {release(good), []string{"--sudo"}, "--sudo is not known"},
		"flag without value": {release(good), []string{"--prefix"}, "--prefix needs a value"},
		"unsafe URL":         {release(good), []string{"--url", "http://release.invalid"}, "only https is used"},
		"a file in the way":  {release(good), []string{"--prefix", "/dev/null"}, "/dev/null"},
	}
}

// wrong returns what a script does wrong with a release that it has to refuse: not to refuse it, or to leave something behind.
func (r refusal) wrong(t *testing.T, script string) string {
	t.Helper()
	said, home, left, err := install(t, script, served(t, r.files), r.args...)
	switch {
	case err == nil || !strings.Contains(said, r.want):
		return fmt.Sprintf("%v, %q, want %q", err, said, r.want)
	case len(home)+len(left) > 0:
		return fmt.Sprintf("left behind: %q %q", home, left)
	}
	return ""
}

// What is not whole is refused, and nothing is left behind.
func TestInstallRefuses(t *testing.T) {
	for name, r := range refusals(t) {
		t.Run(name, func(t *testing.T) {
			if wrong := r.wrong(t, "../install.sh"); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// Faults of the script, put in on purpose, are noticed.
func TestInstallFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("faults put in on purpose are looked for without -short")
	}
	script, err := os.ReadFile("../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	all := refusals(t)
	for _, c := range []struct{ by, old, new string }{
		{"wrong checksum", `[ "$got" = "$want" ]`, `[ -n "$got" ]`},
		{"two entries", `[ "$lines" = 1 ]`, `[ "$lines" -ge 1 ]`},
		{"no entry", `_${system}_$machine\.tar`, `_.*\.tar`},
		{"does not run", `said=$("$work/files/signalbox" version) ||`, `said=$("$work/files/signalbox" version || true) ||`},
		{"wrong checksum", `trap clean EXIT`, `:`},
		{"no completions", `rm -f "$file.new.$$"`, `:`},
		{"no completions", `rmdir "$dir" 2>/dev/null`, `:`},
		{"unsafe URL", `https://* |`, `http*://* |`},
	} {
		faulty := strings.ReplaceAll(string(script), c.old, c.new)
		if faulty == string(script) {
			t.Errorf("%s does not fit the script", c.old)
			continue
		}
		path := filepath.Join(t.TempDir(), "install.sh")
		if err := os.WriteFile(path, []byte(faulty), 0o644); err != nil {
			t.Fatal(err)
		}
		if all[c.by].wrong(t, path) == "" {
			t.Errorf("%s instead of %s: nobody noticed", c.new, c.old)
		}
	}
}

// A script that was cut off while it was downloaded does nothing, wherever that was.
func TestInstallCutOff(t *testing.T) {
	script, err := os.ReadFile("../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(server.Close)
	url := server.URL
	lines := strings.SplitAfter(strings.TrimSuffix(string(script), "\n"), "\n")
	for n := range lines {
		text := strings.Join(lines[:n], "")
		cut := filepath.Join(t.TempDir(), "install.sh")
		for _, part := range []string{text, text + lines[n][:len(lines[n])/2]} {
			if err := os.WriteFile(cut, []byte(part), 0o644); err != nil {
				t.Fatal(err)
			}
			said, home, left, _ := install(t, cut, url)
			if asked || len(home)+len(left) > 0 {
				t.Fatalf("after %d lines it did something: %q %q %q", n, said, home, left)
			}
		}
	}
}
