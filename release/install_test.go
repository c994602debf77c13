package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
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

// archive returns an archive with these files, which are executable, and before them these entries without content.
func archive(t *testing.T, files map[string]string, entries ...tar.Header) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		if err := w.WriteHeader(&e); err != nil {
			t.Fatal(err)
		}
	}
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

// link is an entry of an archive that is a link.
func link(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777}
}

// archiveName is the name of this system's archive.
var archiveName = fmt.Sprintf("signalbox_0.1.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)

func sum(name, content string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name)
}

// installer returns the command that runs a script as a user would who has nothing but a home directory, and a proxy that
// does not answer.
func installer(t *testing.T, home, temporary, script, url string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{script}, args...)...)
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + temporary, "PATH=" + os.Getenv("PATH"), "SIGNALBOX_RELEASE_URL=" + url, "http_proxy=http://127.0.0.1:9"}
	return cmd
}

// install runs a script as a user would whose home directory is empty, and returns the files that it left in home and
// in the directory for temporary files.
func install(t *testing.T, script, url string, args ...string) (said string, home, left []string, err error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("install.sh is for Linux and macOS")
	}
	homeDir, temporary := t.TempDir(), t.TempDir()
	out, err := installer(t, homeDir, temporary, script, url, args...).CombinedOutput()
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
	strange := whole()
	strange["man/two\nlines.1"] = "page"
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
		"lines of Windows":   {map[string]string{archiveName: good, "checksums.txt": strings.ReplaceAll(sum(archiveName, good), "\n", "\r\n")}, nil, "names 0 archives"},
		"a name of no kind":  {map[string]string{archiveName: good, "checksums.txt": strings.Replace(sum(archiveName, good), "  ", " *", 1)}, nil, "names 0 archives"},
		"endless checksums":  {map[string]string{archiveName: good, "checksums.txt": sum(archiveName, good) + strings.Repeat("\n", 2<<20)}, nil, "larger than it can be"},
		"a program's link":   {release(archive(t, without(whole(), "portfolio"), link("portfolio", "/bin/sh"))), nil, "has links"},
		"a page's link":      {release(archive(t, whole(), link("man/link.1", "/etc/passwd"))), nil, "has links"},
		"a link inside":      {release(archive(t, whole(), tar.Header{Name: "a"}, tar.Header{Typeflag: tar.TypeLink, Name: "b", Linkname: "a"})), nil, "has links"},
		"a way out":          {release(archive(t, whole(), tar.Header{Name: "../../out"})), nil, "can't be unpacked"},
		"a way by a link":    {release(archive(t, whole(), link("out", "/tmp"), tar.Header{Name: "out/side"})), nil, "can't be unpacked"},
		"a strange page":     {release(archive(t, strange)), nil, "a manual page whose name is none"},
		"a prefix of lines":  {release(good), []string{"--prefix", t.TempDir() + "/a\nb"}, "of two lines"},
		"a version's path":   {release(good), []string{"--version", "../../../other/repository"}, "is no version"},
		"no prefix":          {release(good), []string{"--prefix", ""}, "no directory is named"},
		"a name before @":    {release(good), []string{"--url", "http://localhost:80@release.invalid"}, "only https is used"},
		"no port":            {release(good), []string{"--url", "http://localhost:80.release.invalid"}, "only https is used"},
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
		{"no completions", `rm -f "$file.$new"`, `:`},
		{"no completions", `rmdir "$dir" 2>/dev/null`, `:`},
		{"unsafe URL", `^(https://|`, `^(https?://|`},
		{"a name before @", `:[0-9]+/)'`, `:[0-9]+)'`},
		{"endless checksums", `ulimit -f "$3" &&`, ``},
		{"a program's link", `! -type d ! -type f -o`, ``},
		{"a link inside", `-o -type f -links +1`, ``},
		{"a version's path", `in *[!0-9A-Za-z.+-]*)`, `in "")`},
		{"a strange page", `*[!0-9a-z.-]*) fail`, `"") fail`},
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

// What is in the place of a file is replaced if it is a file or a link, which is not followed, and refused if it is a directory.
func TestInstallInTheWay(t *testing.T) {
	a := archive(t, whole())
	url := served(t, map[string]string{archiveName: a, "checksums.txt": sum(archiveName, a)})
	for _, c := range []struct {
		name     string
		put      func(path, other string) error
		installs bool
	}{
		{"file", func(path, _ string) error { return os.WriteFile(path, []byte("before"), 0o600) }, true},
		{"link to a file", func(path, other string) error { return os.Symlink(other, path) }, true},
		{"directory", func(path, _ string) error { return os.Mkdir(path, 0o700) }, false},
		{"link to a directory", func(path, other string) error { return os.Symlink(filepath.Dir(other), path) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, others := t.TempDir(), t.TempDir()
			bin, other := filepath.Join(home, ".local", "bin"), filepath.Join(others, "file")
			if err := errors.Join(os.MkdirAll(bin, 0o700), os.WriteFile(other, []byte("mine"), 0o600), c.put(filepath.Join(bin, "signalbox"), other)); err != nil {
				t.Fatal(err)
			}
			said, err := installer(t, home, t.TempDir(), "../install.sh", url).CombinedOutput()
			data, _ := os.ReadFile(filepath.Join(bin, "signalbox")) // a directory has none
			if installed := string(data) == scripted; installed != c.installs || (err == nil) != c.installs {
				t.Errorf("installed %v, want %v: %v\n%s", installed, c.installs, err, said)
			}
			if !c.installs && !slices.Equal(below(t, filepath.Join(home, ".local")), []string{"bin/", "bin/signalbox"}) && !slices.Equal(below(t, filepath.Join(home, ".local")), []string{"bin/", "bin/signalbox/"}) {
				t.Errorf("left: %q", below(t, home))
			}
			mine, err := os.ReadFile(other)
			if err != nil || string(mine) != "mine" || len(below(t, others)) != 1 {
				t.Errorf("what the link leads to has %q, and beside it is %q: %v", mine, below(t, others), err)
			}
		})
	}
}

// Nobody but the user can write what is installed, whatever modes the archive has, and whatever the user's mask is; a prefix may
// have blanks and backslashes, and need not be absolute.
func TestInstallModes(t *testing.T) {
	set := archive(t, without(whole(), "man/signalbox.1"), tar.Header{Name: "man/signalbox.1", Mode: 0o6777}, tar.Header{Typeflag: tar.TypeDir, Name: "completions/", Mode: 0o777})
	url := served(t, map[string]string{archiveName: set, "checksums.txt": sum(archiveName, set)})
	home := t.TempDir()
	script, err := filepath.Abs("../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := installer(t, home, t.TempDir(), "-c", url)
	cmd.Args = append(cmd.Args, `umask 000; exec sh "$1" --prefix "$2"`, "sh", script, ` -a\nb `)
	cmd.Dir = home
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	names := below(t, home)
	if !slices.Contains(names, ` -a\nb /bin/signalbox`) {
		t.Errorf("installed: %q", names)
	}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(home, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode()&(0o022|fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
	}
}

// Files take their places all together, also if the user interrupts it then; and it works with wget and shasum.
func TestInstallPrograms(t *testing.T) {
	a := archive(t, whole())
	url := served(t, map[string]string{archiveName: a, "checksums.txt": sum(archiveName, a)})
	// found is a directory of programs: those that the script needs, and these.
	found := func(t *testing.T, more ...string) string {
		dir := t.TempDir()
		for _, name := range append([]string{"sh", "grep", "cut", "tar", "gzip", "uname", "mktemp", "mkdir", "dirname", "find", "cp", "chmod", "sort", "rm", "rmdir", "head"}, more...) {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is not installed", name)
			}
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	try := func(t *testing.T, path string) {
		home := t.TempDir()
		cmd := installer(t, home, t.TempDir(), "../install.sh", url)
		cmd.Env = append(cmd.Env, "PATH="+path)
		said, err := cmd.CombinedOutput()
		if err != nil || len(slices.DeleteFunc(below(t, home), func(name string) bool { return strings.HasSuffix(name, "/") })) != 10 {
			t.Errorf("%v, %q\n%s", err, below(t, home), said)
		}
	}
	t.Run("interrupted", func(t *testing.T) {
		dir := found(t, "curl", "sha256sum")
		mv, err := exec.LookPath("mv")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "mv"), []byte("#!/bin/sh\nkill -INT $PPID\nexec "+mv+" \"$@\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		try(t, dir)
	})
	t.Run("others", func(t *testing.T) { try(t, found(t, "wget", "shasum", "mv")) })
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
