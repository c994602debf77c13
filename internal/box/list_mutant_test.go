package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults in lists, and in what the box says of itself, is noticed by the test beside it.
func TestListMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	for _, m := range []struct {
		name, file, before, after, test string
	}{
		{"a page begins with the item that was seen", "list.go",
			"if subject > q.After {", "if subject >= q.After {", "TestListPages"},
		{"a page of runs begins with the one that was seen", "list.go",
			"if s.firstOf(subject) > first {", "if s.firstOf(subject) >= first {", "TestRunPages"},
		{"a full page at the end says that there is more", "list.go",
			"len(l.kept) > l.limit; more", "len(l.kept) >= l.limit; more", "TestListPages"},
		{"what is larger keeps out what is smaller", "list.go",
			"text >= l.bound {", "text < l.bound {", "TestLeast"},
		{"a page is not of the smallest", "list.go",
			"slices.Sort(l.kept)\n", "_ = slices.Sort[[]string]\n", "TestLeast"},
		{"a page that was cut does not say so", "list.go",
			"case page.Next != \"\":", "case false:", "TestListPages"},
		{"what can't be written ends a list", "list.go",
			"return brokeOff(logger, before != \"[\", err)\n\t\t\t}\n\t\t\tif _", "return nil\n\t\t\t}\n\t\t\tif _", "TestBrokenList"},
		{"a list that broke off looks whole", "list.go",
			"if begun {", "if false {", "TestBrokenList"},
		{"a whole list ends after its first page", "list.go",
			"if page.Next == \"\" {\n\t\t\tbreak", "if true {\n\t\t\tbreak", "TestWholeList"},
		{"an unknown run to go on after is the first", "list.go",
			"b.state.runNamed(from.After); err != nil {", "b.state.runNamed(from.After); err != nil && false {", "TestListRefusals"},
		{"a run that has ended goes before one that has not", "list.go",
			"len(live) > 0 {", "false {", "TestRunPages"},
		{"the last event of a page comes again", "events.go",
			"sendNext(w, last)", "sendNext(w, last-1)", "TestEventPages"},
		{"events of other items count", "events.go",
			"sent, last = sent+1, rec.Seq\n\t\t\t\t}", "}\n\t\t\t\tsent, last = sent+1, rec.Seq", "TestEventPages"},
		{"a box whose log failed is ready", "health.go",
			"case b.failure.err != nil:", "case false:", "TestCannotWrite"},
		{"a box whose log failed is told to stop", "http.go",
			"\t{errCannotWrite, http.StatusServiceUnavailable, api.CodeCannotWrite}, // whatever made it fail\n", "", "TestCannotWrite"},
		{"a box whose log failed is gone at once", "health.go",
			"case <-time.After(failedListen):", "default:", "TestTellFailure"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
