package worktree

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// nested makes a tree of directories in directories, ten in each, with ten entries in the last ones.
func (f *fixture) nested(levels int, entry string) string {
	f.t.Helper()
	for range levels {
		var b strings.Builder
		for n := range 10 {
			fmt.Fprintf(&b, "%s\t%d\n", entry, n)
		}
		entry = "040000 tree " + f.input(b.String(), "mktree")
	}
	return strings.TrimPrefix(entry, "040000 tree ")
}

// input runs git with something to read.
func (f *fixture) input(text string, args ...string) string {
	f.t.Helper()
	var out limited
	must(f.t, f.repo.run(f.t.Context(), f.repo.home, call{args: args, stdin: text, out: &out}))
	return strings.TrimSpace(string(out.text))
}

// A tree that names the same few objects over and over is not checked out, be there files in it or
// not, and it is known without counting all of it. One that begins from as much is.
func TestCheckSize(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("makes trees of a hundred thousand files; not with -short")
	}
	f := newFixture(t)
	blob, empty := "100644 blob "+f.input("x", "hash-object", "-w", "--stdin"), "040000 tree "+f.input("", "mktree")
	commit := func(tree string) string { return f.input("x", "commit-tree", tree, "-p", f.base) }
	large := commit(f.nested(5, blob))
	for name, c := range map[string]struct {
		base, commit string
		over         bool
	}{
		"the same":                {f.base, f.base, false},
		"ten thousand":            {f.base, commit(f.nested(4, blob)), false},
		"a hundred thousand":      {f.base, large, true},
		"it was as large before":  {large, commit(f.nested(5, blob)), false},
		"more than can be":        {f.base, commit(f.nested(12, blob)), true},
		"directories":             {f.base, commit(f.nested(12, empty)), true},
		"more than can be, later": {large, commit(f.nested(12, blob)), true},
	} {
		var size *SizeError
		if err := f.repo.CheckEntries(t.Context(), c.base, c.commit); errors.As(err, &size) != c.over || !c.over && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.take(c.base)
		f.take(c.commit)
		if err := f.exchange.CheckSize(t.Context(), c.base, c.commit); errors.As(err, &size) != c.over || !c.over && err != nil {
			t.Errorf("%s, in the exchange: %v", name, err)
		}
	}
	most := extent{100, 10}
	if has, err := f.repo.extent(t.Context(), commit(f.nested(2, blob)), most, "--long"); has.within(most) || has.entries > 100 || err != nil {
		t.Errorf("bytes are not counted: %+v, %v", has, err)
	}
}
