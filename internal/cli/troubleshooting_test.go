package cli_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/command"
)

// minQuoted is how many characters a message on the page has, at least, in one piece: less would be found anywhere.
const minQuoted = 8

// TestTroubleshooting holds docs/troubleshooting.md against the program: what it quotes is said somewhere, and the commands
// that it advises are there.
func TestTroubleshooting(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := quotedRows(string(page))
	if len(rows) < 50 || len(rows) > 100 {
		t.Errorf("the page has %d entries, and is to have 50 to 100", len(rows))
	}
	said := sayings(t, "../..")
	quoted := 0
	for _, row := range rows {
		for _, message := range quotes(row[0]) {
			quoted++
			if wrong := unsaid(message, said); wrong != "" {
				t.Errorf("%q: no source says %q", message, wrong)
			}
		}
	}
	if quoted < len(rows)*9/10 {
		t.Errorf("%d messages are quoted in %d entries", quoted, len(rows))
	}
	for _, line := range regexp.MustCompile("`signalbox ([^`]+)`").FindAllStringSubmatch(string(page), -1) {
		args := commandWords(line[1])
		if code, out, errOut := run(t, command.Env{}, append(args, "--help")...); code != 0 || !strings.Contains(out, "signalbox "+strings.Join(args, " ")) {
			t.Errorf("`signalbox %s`: exit %d, %s", line[1], code, errOut)
		}
	}
}

// What the page quotes and nobody says is noticed.
func TestTroubleshootingNotices(t *testing.T) {
	said := []string{"there is no box in %s: `signalbox up` makes one", "%s is held by %s", "it is there"}
	for message, want := range map[string]string{
		"there is no box in …":          "",
		"… is held by …":                "",
		"there is no box in … makes it": "makes it",
		"there was no box in …":         "there was no box in",
		"…it is…":                       "…it is…", // too short to mean this program
		"…":                             "…",
	} {
		if got := unsaid(message, said); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// quotedRows returns the cells of the tables that begin with what one sees.
func quotedRows(page string) (rows [][]string) {
	in := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case !strings.HasPrefix(line, "|"):
			in = false
		case cells[0] == "you see":
			in = true
		case in && !strings.HasPrefix(line, "|---"):
			rows = append(rows, cells)
		}
	}
	return rows
}

// quotes returns what stands in backquotes.
func quotes(cell string) (all []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			all = append(all, part)
		}
	}
	return all
}

// unsaid returns the part of a message that nothing says; none if all of it is said. A message without a part that is long enough
// is returned as a whole.
func unsaid(message string, said []string) string {
	longest := ""
	for part := range strings.SplitSeq(message, "…") {
		part = strings.TrimSpace(part)
		if len(part) > len(longest) {
			longest = part
		}
		if part != "" && !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, part) }) {
			return part
		}
	}
	if len(longest) < minQuoted {
		return message
	}
	return ""
}

// commandWords are the words of a line that name a command: those before the first argument or flag.
func commandWords(line string) (words []string) {
	for word := range strings.FieldsSeq(line) {
		if !regexp.MustCompile(`^[a-z][a-z-]+$`).MatchString(word) {
			break
		}
		words = append(words, word)
	}
	return words
}

// sayings returns the strings in the sources that are no tests. Those that are added to each other are one.
func sayings(t *testing.T, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "examples" || strings.HasPrefix(d.Name(), ".") && path != root):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			if text, ok := text(e); ok {
				all = append(all, text)
				return false
			}
			return true
		})
		return nil
	})
	if err != nil || len(all) < 1000 {
		t.Fatalf("%d strings: %v", len(all), err)
	}
	return all
}

// text is a string literal, or several that are added to each other.
func text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, ok := text(e.X)
		right, also := text(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}
