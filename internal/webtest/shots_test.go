//go:build unix

package webtest_test

import (
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	shots   = flag.String("shots", "", "TestShots writes pictures of every view to this directory")
	inWorld = flag.String("world", "", "of this world alone")
	readme  = flag.Bool("readme", false, "TestReadmeShots writes the pictures of the README")
)

// mostHeight is how much of a long page is in a picture, in pixels.
const mostHeight = 2400

// shoot writes a picture of the page, or of the upper part of a long one.
func (b *browser) shoot(file string, height float64) {
	b.t.Helper()
	var size struct {
		CSSContentSize struct{ Width, Height float64 } `json:"cssContentSize"`
	}
	b.ask("Page.getLayoutMetrics", nil, &size)
	var picture struct{ Data string }
	b.ask("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true, "clip": map[string]any{
		"x": 0, "y": 0, "width": size.CSSContentSize.Width, "height": min(size.CSSContentSize.Height, height), "scale": 1,
	}}, &picture)
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	if err == nil {
		err = os.WriteFile(file, data, 0o644) //nolint:gosec // a picture for everybody
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestShots writes a picture of every view in every world, at three widths, light and dark, for somebody to look at.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Skip("-shots DIR writes pictures there")
	}
	if err := os.MkdirAll(*shots, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, made := range worlds {
		if *inWorld != "" && name != *inWorld {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := openBrowser(t)
			root := made(t).in(b)
			for _, view := range views(t) {
				if name == "fresh" && strings.Contains(view, "R1") {
					continue
				}
				at := strings.Trim(regexp.MustCompile(`\W+`).ReplaceAllString(view, "-"), "-")
				if at == "" {
					at = "inbox"
				}
				for _, width := range []int{390, 1280, 2560} {
					for _, scheme := range []string{"light", "dark"} {
						b.screen(width, scheme)
						b.visit(root + view)
						b.until("!document.body.dataset.topics || document.getElementById('live').textContent === 'Live'")
						b.shoot(filepath.Join(*shots, fmt.Sprintf("%s-%s-%d-%s.png", name, at, width, scheme)), mostHeight)
					}
				}
			}
		})
	}
}

// TestReadmeShots writes the two pictures that the README shows.
func TestReadmeShots(t *testing.T) {
	if !*readme {
		t.Skip("-readme writes the README's pictures")
	}
	b := openBrowser(t)
	root := waitingWorld(t).in(b)
	for _, p := range []struct {
		view, scheme, file string
		height             float64
	}{{"run?id=R1", "light", "page-run.png", 1110}, {"task?id=R1.T-1", "dark", "page-task.png", 1010}} {
		b.screen(1280, p.scheme)
		b.visit(root + p.view)
		b.until("document.getElementById('live').textContent === 'Live'")
		b.shoot(filepath.Join("..", "..", "docs", p.file), p.height)
	}
}
