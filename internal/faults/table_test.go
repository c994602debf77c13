package faults_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const tableFile = "testdata/damage.txt"

// kind is one kind of file, with what can happen to it, as testdata/damage.txt has it.
type kind struct {
	name   string
	file   string   // a pattern below the box's directory
	pick   string   // which of those that match: first, last, or a number
	images []string // whose directories it is damaged in
	rows   []row
}

// row is one damage, and what becomes of it in each image.
type row struct {
	damage   string
	outcomes []string // as many as there are images
}

// readTable reads testdata/damage.txt.
func readTable(t *testing.T) (head string, kinds []kind) {
	t.Helper()
	data, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		wrong := func() { t.Fatalf("%s:%d: %q", tableFile, n+1, line) }
		switch name, isKind := strings.CutPrefix(line, "== "); {
		case strings.HasPrefix(line, "#"):
			head += line + "\n"
		case line == "":
		case isKind:
			kinds = append(kinds, kind{name: name})
		case len(kinds) == 0:
			wrong()
		default:
			if !kinds[len(kinds)-1].add(line) {
				wrong()
			}
		}
	}
	return head, kinds
}

// add takes a line of the table.
func (k *kind) add(line string) bool {
	if rest, ok := strings.CutPrefix(line, "file: "); ok {
		k.file, k.pick, ok = strings.Cut(rest, ", ")
		return ok
	}
	if rest, ok := strings.CutPrefix(line, "images: "); ok {
		k.images = strings.Fields(rest)
		return true
	}
	damage, outcomes, ok := cutLast(line, ": ")
	r := row{damage, strings.Split(outcomes, " / ")}
	if len(r.outcomes) == 1 {
		r.outcomes = slices.Repeat(r.outcomes, len(k.images))
	}
	k.rows = append(k.rows, r)
	return ok && len(r.outcomes) == len(k.images)
}

// cutLast cuts at the last separator: damages may have one in their names.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// choose returns the file that is damaged, of those that match.
func (k kind) choose(names []string) (string, error) {
	slices.Sort(names)
	switch n, err := strconv.Atoi(k.pick); {
	case len(names) == 0:
		return "", fmt.Errorf("there is no %s", k.file)
	case k.pick == "first":
		return names[0], nil
	case k.pick == "last":
		return names[len(names)-1], nil
	case err != nil || n >= len(names):
		return "", fmt.Errorf("there is no number %s of the %d %s", k.pick, len(names), k.file)
	default:
		return names[n], nil
	}
}

// writeTable writes the table with other outcomes.
func writeTable(t *testing.T, head string, kinds []kind, outcome func(k kind, r row, image int) string) {
	t.Helper()
	b := strings.Builder{}
	b.WriteString(head)
	for _, k := range kinds {
		fmt.Fprintf(&b, "\n== %s\nfile: %s, %s\nimages: %s\n", k.name, k.file, k.pick, strings.Join(k.images, " "))
		for _, r := range k.rows {
			var outcomes []string
			for n := range k.images {
				outcomes = append(outcomes, outcome(k, r, n))
			}
			if len(slices.Compact(slices.Clone(outcomes))) == 1 {
				outcomes = outcomes[:1]
			}
			fmt.Fprintf(&b, "%s: %s\n", r.damage, strings.Join(outcomes, " / "))
		}
	}
	if err := os.WriteFile(tableFile, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// markdown returns the table as docs/testing.md has it: damages of one kind of file with the
// same outcomes in one line.
func markdown(kinds []kind) string {
	var b strings.Builder
	b.WriteString("| file | damage | outcome |\n|---|---|---|\n")
	for _, k := range kinds {
		var order []string
		by := map[string][]string{}
		for _, r := range k.rows {
			o := described(k.images, r.outcomes)
			if by[o] == nil {
				order = append(order, o)
			}
			by[o] = append(by[o], r.damage)
		}
		for _, o := range order {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", k.name, strings.Join(by[o], "; "), o)
		}
	}
	return b.String()
}

// described names the images of outcomes, unless all are the same.
func described(images, outcomes []string) string {
	if len(slices.Compact(slices.Clone(outcomes))) == 1 {
		return outcomes[0]
	}
	var parts []string
	for i, o := range outcomes {
		parts = append(parts, images[i]+": "+o)
	}
	return strings.Join(parts, "; ")
}
