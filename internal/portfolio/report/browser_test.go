package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// browser is a Chromium on the path, which a computer need not have.
func browser(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starting a browser takes long")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium on the path")
	return ""
}

// dump opens a file without a network and gives the document as the browser has it.
func dump(t *testing.T, path, file string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	profile, err := os.MkdirTemp("", "report-browser-")
	if err != nil {
		t.Fatal(err)
	}
	// Not the test's own directory: a child of the browser may write for a moment longer.
	defer func() { _ = os.RemoveAll(profile) }()
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir="+profile, "--virtual-time-budget=5000",
		"--window-size=1280,900", "--dump-dom", "file://"+filepath.ToSlash(file))
	cmd.WaitDelay = time.Minute
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the browser failed: %v", err)
	}
	return string(out)
}

func write(t *testing.T, file, content string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The page opens from a file without a network, whole.
func TestBrowserOpensPage(t *testing.T) {
	path := browser(t)
	page := html(t, rich())
	document := dump(t, path, write(t, filepath.Join(t.TempDir(), "page.html"), page))
	for _, tag := range []string{"<section", "<article", "<tr", "<svg", "<path", "<rect", "<use", "</html>"} {
		if got, want := strings.Count(document, tag), strings.Count(page, tag); got != want {
			t.Errorf("the document has %d of %s, the page %d", got, tag, want)
		}
	}
}

// The page never has to be moved sideways, neither on a phone nor on a wide screen. A browser's
// window can't be as narrow as a phone, so the pages are in frames; they forbid scripts, so the
// frames have copies that measure themselves.
func TestBrowserPageFits(t *testing.T) {
	path, dir := browser(t), t.TempDir()
	const (
		listen  = `<!DOCTYPE html><script>addEventListener("message", e => document.head.append("[" + e.data + "]"))</script>`
		measure = `<script>addEventListener("load", () => parent.postMessage(%q + " " + document.documentElement.clientWidth + " " + document.documentElement.scrollWidth, "*"))</script></body>`
	)
	policy := regexp.MustCompile(`<meta http-equiv[^>]*>`)
	widths := []int{320, 390, 768, 1280}
	frames := listen
	for name, d := range fixtures() {
		page := policy.ReplaceAllString(html(t, d), "")
		write(t, filepath.Join(dir, name+".html"), strings.Replace(page, "</body>", fmt.Sprintf(measure, name), 1))
		for _, width := range widths {
			frames += fmt.Sprintf(`<iframe src="%s.html" width="%d" height="800" style="border:0"></iframe>`, name, width)
		}
	}
	document := dump(t, path, write(t, filepath.Join(dir, "frames.html"), frames))
	measured := 0
	for _, found := range regexp.MustCompile(`\[(\w+) (\d+) (\d+)\]`).FindAllStringSubmatch(document, -1) {
		measured++
		if found[2] != found[3] {
			t.Errorf("the %s page is %s wide in a frame of %s", found[1], found[3], found[2])
		}
	}
	if want := len(fixtures()) * len(widths); measured != want {
		t.Errorf("%d pages measured themselves, not %d:\n%.400s", measured, want, document)
	}
}
