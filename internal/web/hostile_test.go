package web_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
)

// views returns the addresses of all views below the page.
func views(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/views.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			all = append(all, strings.TrimPrefix(line, "./"))
		}
	}
	return all
}

// hostileStrings are what a browser, a terminal or a template might act upon.
func hostileStrings(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{strings.Repeat("overlong", 2000), strings.Repeat("<b>", 2000)}
	for line := range strings.Lines(string(text)) {
		s, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, s)
	}
	if len(all) < 300 {
		t.Fatalf("there are %d hostile strings", len(all))
	}
	return all
}

// markup returns the tags of a page without what their attributes are.
func markup(text string) map[string]bool {
	all := map[string]bool{}
	for _, one := range regexp.MustCompile(`<[^>]*>?`).FindAllString(text, -1) {
		all[quoted.ReplaceAllString(one, `""`)] = true
	}
	return all
}

var everyString = flag.Bool("strings", false, "each hostile string in every view, and in every plan; otherwise in one of four, by turns")

// Whatever is said in any field of a run, a task, a question, a review or a diff: no view has a tag or an attribute that it does not
// have if harmless words are said there, a link to elsewhere, or a character that nobody sees.
func TestHostileStrings(t *testing.T) {
	world := func(text, file string) func(path string) string {
		diff := fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode 100755\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1,2 @@ %[2]s\n+%[2]s\n+%[2]s\n", file, strings.ReplaceAll(text, "\n", " "))
		p, page := play(text, diff)
		p.run, p.runners, p.cluster = aRun(text), someRunners(text), someBoxes(text)
		p.sight.Role = "critic"
		return func(path string) string {
			status, text := p.look(page, "GET", path, access.Answer)
			if status != http.StatusOK && status != http.StatusNotFound {
				t.Errorf("%s: %d", path, status)
			}
			return text
		}
	}
	harmless := world("words", "file.txt")
	known := map[string]map[string]bool{}
	for _, path := range views(t) {
		known[path] = markup(harmless(path))
	}
	inbox := known[""]
	maps.Copy(inbox, markup(world("words", "\"quoted\\tname\"")(""))) // git quotes it
	all := hostileStrings(t)
	if testing.Short() {
		all = all[:len(all)/8]
	}
	for n, s := range all {
		look := world(s, strings.NewReplacer("\n", "", "/", "", "\x00", "", " ", "").Replace(s)+".txt")
		for m, path := range views(t) {
			if (n+m)%4 != 0 && !*everyString {
				continue
			}
			if strings.Contains(path, "link=") {
				path += url.QueryEscape(s)
			}
			text := look(path)
			inert(t, text)
			for one := range markup(text) {
				if in := known[strings.TrimSuffix(path, url.QueryEscape(s))]; !in[one] && !strangeDiff[one] {
					t.Errorf("%q: %q has %s", s, path, one)
				}
			}
			if t.Failed() {
				t.Fatalf("%q in %q:\n%.6000s", s, path, text)
			}
		}
	}
}

// strangeDiff are the tags of a diff that is shown as git wrote it.
var strangeDiff = map[string]bool{`<pre class="">`: true, `<p class="">`: true, `</pre>`: true}
