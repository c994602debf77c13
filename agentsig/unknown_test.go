package agentsig_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// A field that a signal does not have is read, and written again as it was; one that nobody marked is
// taken for a mistake.
func TestUnknownFields(t *testing.T) {
	r, ok := agentsig.ParseReflection(`<signal type="need_turn"><reason>API</reason><mood>a &lt; b</mood><tools>["grep"]</tools></signal>`, time.Time{})
	if !ok {
		t.Fatal("no signal")
	}
	if diff := cmp.Diff([]string{"mood", "tools"}, r.Unknown); diff != "" {
		t.Error(diff)
	}
	wire, err := r.Signal().Wire()
	if err != nil {
		t.Fatal(err)
	}
	again, _ := agentsig.ParseReflection(wire, time.Time{})
	if diff := cmp.Diff(r.Fields, again.Fields); diff != "" {
		t.Error(diff)
	}
	r.Unknown = nil
	if _, err := r.Signal().Wire(); err == nil {
		t.Error("fields that are not marked are written")
	}
	r.Unknown = []string{"mood", "tools"}
	r.Fields[len(r.Fields)-1].Value = 7
	if _, err := r.Signal().Wire(); err == nil {
		t.Error("a field is written that reads otherwise")
	}
}

// TestUnknownMutants drops each rule about unknown fields once.
func TestUnknownMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestCorpus$|^TestUnknownFields$", []mutant.Mutant{
		{Name: "any number is kept", File: "reflection.go", Old: "if len(names) == maxUnknown {", New: "if false {"},
		{Name: "texts of any length are kept", File: "reflection.go", Old: "case utf8.RuneCountInString(text) > maxUnknownText:", New: "case false:"},
		{Name: "a field says what was read", File: "reflection.go", Old: "slices.Contains(reservedNames, name) || ", New: ""},
		{Name: "they are not marked", File: "reflection.go", Old: `f = append(f, Field{"unknown", r.Unknown})`, New: "_ = r.Unknown"},
		{Name: "a mistake is written", File: "write.go", Old: "slices.Equal(a.Unknown, b.Unknown) && ", New: "slices.Equal(a.Unknown, a.Unknown) && "},
		{Name: "another value is written", File: "write.go", Old: "!reflect.DeepEqual(before, after)", New: "before == nil && after == nil"},
	}))
}
