package archtest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reaches are the parts of the standard library that the table of packages names: they reach outside of
// the process.
var reaches = []string{"net/http", "os/exec"}

var (
	tableHead = "| package | what it is | imports besides the standard library |"
	quoted    = regexp.MustCompile("`([^`]+)`")
)

// fillTable returns the page with its table of packages as it has to be: the last column says what each
// package imports, as the files have it. Which packages there are, and in which row, is for people to say: what is wrong with
// that is returned in words.
func fillTable(page string, files []file) (filled string, wrong []string) {
	before, rest, found := strings.Cut(page, tableHead+"\n|---|---|---|\n")
	if !found {
		return page, []string{"there is no table that begins with " + tableHead}
	}
	table, after, _ := strings.Cut(rest, "\n\n")
	imports := importsOf(files)
	shown := map[string]bool{}
	rows := strings.Split(table, "\n")
	for i, row := range rows {
		cells := strings.Split(strings.Trim(row, "|"), " | ")
		if len(cells) != 3 {
			wrong = append(wrong, "a row has not three cells: "+row)
			continue
		}
		here := map[string]bool{}
		var names []string
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			if imports[m[1]] == nil {
				wrong = append(wrong, "there is no package "+m[1])
			}
			if shown[m[1]] {
				wrong = append(wrong, m[1]+" has two rows")
			}
			shown[m[1]] = true
			names = append(names, m[1])
			maps.Copy(here, imports[m[1]])
		}
		for _, name := range names {
			delete(here, name)
		}
		rows[i] = "|" + cells[0] + " | " + cells[1] + " | " + listed(here) + " |"
	}
	for _, dir := range slices.Sorted(maps.Keys(imports)) {
		if !shown[dir] {
			wrong = append(wrong, dir+" has no row")
		}
	}
	return before + tableHead + "\n|---|---|---|\n" + strings.Join(rows, "\n") + "\n\n" + after, wrong
}

// importsOf returns for each package what it imports of the module, of other modules, and of what reaches outside.
func importsOf(files []file) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, f := range files {
		if all[f.dir()] == nil {
			all[f.dir()] = map[string]bool{}
		}
		for _, spec := range f.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			inside, isOurs := strings.CutPrefix(imported, module+"/")
			switch first, _, _ := strings.Cut(imported, "/"); {
			case isOurs:
				all[f.dir()][inside] = true
			case strings.Contains(first, "."):
				all[f.dir()][ownedModule(imported)] = true
			case slices.Contains(reaches, imported):
				all[f.dir()][imported] = true
			}
		}
	}
	return all
}

// ownedModule returns the outside module that a package is of.
func ownedModule(imported string) string {
	for dependency := range owners {
		if imported == dependency || strings.HasPrefix(imported, dependency+"/") {
			return dependency
		}
	}
	return imported
}

// listed writes imports as a cell: the module's own, then others.
func listed(imports map[string]bool) string {
	if len(imports) == 0 {
		return "nothing"
	}
	var own, others []string
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		first, _, _ := strings.Cut(name, "/")
		if strings.Contains(first, ".") || slices.Contains(reaches, name) {
			others = append(others, fmt.Sprintf("`%s`", name))
		} else {
			own = append(own, fmt.Sprintf("`%s`", name))
		}
	}
	return strings.Join(append(own, others...), ", ")
}
