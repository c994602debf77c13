package archtest

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The pages of the sources: what they ask for, and where it is done otherwise.
const (
	sourcesPage    = "docs/sources.md"
	deviationsPage = "docs/deviations.md"
)

// The tables of the page: one of the documents, and after each document's heading those of its requirements.
const (
	documentsHead    = "| key | document | what it is about | what it became |"
	requirementsHead = "| requirement | where | test | deviation |"
)

// What a cell says instead of naming something: that a requirement is not met, that no test is about it, and that there is
// no deviation, or nothing to test.
const (
	notDone = "not done"
	noTest  = "no test of its own"
	none    = "—"
)

var (
	documentHeading = regexp.MustCompile("^## `([^`]+)`")
	deviationLink   = regexp.MustCompile(`\]\(deviations\.md#([^)]+)\)`)
)

// sources holds the page of the sources against the module.
type sources struct {
	module fs.FS
	wrong  []string
	rows   map[string]int // of each document, by its key

	headings map[string]bool // of the deviations, as links have them
}

// checkSources says what is wrong with the page of the sources, and how many rows each document has. The page names files
// of the module, what is declared in them, tests, and headings of the page of deviations.
func checkSources(module fs.FS) (wrong []string, rows map[string]int) {
	s := &sources{module: module, rows: map[string]int{}, headings: map[string]bool{}}
	for line := range strings.Lines(s.text(deviationsPage)) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			s.headings[anchor(title)] = true
		}
	}
	s.page(s.text(sourcesPage))
	return s.wrong, s.rows
}

func (s *sources) say(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

func (s *sources) text(name string) string {
	data, err := fs.ReadFile(s.module, name)
	if err != nil {
		s.say("%s can't be read", name)
	}
	return string(data)
}

func (s *sources) page(text string) {
	var keys []string
	document, table := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := documentHeading.FindStringSubmatch(line); m != nil {
			if document = m[1]; !slices.Contains(keys, document) {
				s.say("%s has rows, and is not among the documents", document)
			}
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			table = ""
		case table == "":
			if table = line; line != documentsHead && line != requirementsHead {
				s.say("a table begins with %s", line)
			}
		case strings.HasPrefix(line, "|---"):
		default:
			cells := s.cells(line)
			switch {
			case cells == nil:
			case table == documentsHead:
				keys = append(keys, strings.Trim(cells[0], "`"))
			case table == requirementsHead:
				s.rows[document]++
				s.requirement(cells[1], cells[2], cells[3], document+": "+cells[0])
			}
		}
	}
	if len(keys) == 0 {
		s.say("%s names no documents", sourcesPage)
	}
	for _, key := range keys {
		if s.rows[key] == 0 {
			s.say("%s has no rows", key)
		}
	}
}

// cells returns the four cells of a row; nil if there are others, or none.
func (s *sources) cells(row string) []string {
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|"), " | ")
	for i := range cells {
		if cells[i] = strings.TrimSpace(cells[i]); cells[i] == "" {
			s.say("a cell is empty: %s", row)
			return nil
		}
	}
	if len(cells) != 4 {
		s.say("a row has not four cells: %s", row)
		return nil
	}
	return cells
}

// requirement checks a row: what is quoted in where are files, what is quoted in test are tests, and files of their cases.
func (s *sources) requirement(where, test, deviation, about string) {
	places, tests := quoted.FindAllStringSubmatch(where, -1), quoted.FindAllStringSubmatch(test, -1)
	links := deviationLink.FindAllStringSubmatch(deviation, -1)
	missing := strings.HasPrefix(where, notDone)
	for _, m := range places {
		s.place(m[1], about)
	}
	cases := 0
	for _, m := range tests {
		if s.test(m[1], about) {
			cases++
		}
	}
	for _, m := range links {
		if !s.headings[m[1]] {
			s.say("%s: %s has no heading #%s", about, deviationsPage, m[1])
		}
	}
	switch {
	case len(places) == 0 && !missing:
		s.say("%s: it is nowhere, and not said to be %q", about, notDone)
	case cases > 0 && cases == len(tests):
		s.say("%s: it names no test that reads the cases", about)
	case len(tests) == 0 && !strings.HasPrefix(test, noTest) && (!missing || test != none):
		s.say("%s: it names no test, and does not say %q", about, noTest)
	case len(links) == 0 && deviation != none:
		s.say("%s: the deviation is neither a link to deviations.md nor %s", about, none)
	case len(links) == 0 && missing:
		s.say("%s: it is %s, and no deviation says why", about, notDone)
	}
}

// place checks what is named as path or path#name. The name is a declaration of a Go file; elsewhere it stands in the file.
func (s *sources) place(place, about string) {
	name, symbol, named := strings.Cut(place, "#")
	info, err := fs.Stat(s.module, name)
	switch {
	case err != nil:
		s.say("%s: there is no %s", about, name)
	case !named:
	case info.IsDir():
		s.say("%s: %s is a directory, and has no %s", about, name, symbol)
	case path.Ext(name) != ".go":
		if text := s.text(name); symbol == "" || !strings.Contains(text, symbol) {
			s.say("%s: %s has no %s", about, name, symbol)
		}
	case !declares(s.parsed(name), symbol):
		s.say("%s: %s declares no %s", about, name, symbol)
	}
}

func (s *sources) parsed(name string) *ast.File {
	f, err := parse(name, []byte(s.text(name)))
	if err != nil {
		s.say("%s: %v", name, err)
	}
	return f.ast
}

// declares reports whether a file has a function, a method (Type.Name), a type, a constant or a variable of a name.
func declares(f *ast.File, name string) bool {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if receiver(d)+d.Name.Name == name {
				return true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.Name == name {
						return true
					}
				case *ast.ValueSpec:
					if slices.ContainsFunc(spec.Names, func(id *ast.Ident) bool { return id.Name == name }) {
						return true
					}
				}
			}
		}
	}
	return false
}

// test checks what is named as a file of tests and a test, fuzz target or example in it; or as a file of cases, which is below
// a directory testdata. It reports whether it is cases.
func (s *sources) test(test, about string) (cases bool) {
	name, symbol, _ := strings.Cut(test, "#")
	if cases = strings.Contains(name, "/testdata/"); cases || strings.HasSuffix(name, "_test.go") && isTest(symbol) {
		s.place(test, about)
	} else {
		s.say("%s: %s is not a file of tests and a test", about, test)
	}
	return cases
}

func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && name != "TestMain" && (rest == "" || !unicode.IsLower([]rune(rest)[0])) {
			return true
		}
	}
	return false
}

// anchor is a heading as links have it: without punctuation, in lower case, with dashes for blanks.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-':
			return '-'
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}
