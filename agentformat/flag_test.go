package agentformat_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/agentformat"
)

// The worst comes first; what is not known stands with info.
func TestSortFlags(t *testing.T) {
	flags := []agentformat.Flag{
		{"hold", agentformat.Success, ""},
		{"odd", "critical", ""},
		{"trade", agentformat.Info, ""},
		{"unsaid", "", ""},
		{"low", agentformat.Warning, ""},
		{"failed", agentformat.Error, ""},
	}
	agentformat.SortFlags(flags)
	var names []string
	for _, f := range flags {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"failed", "low", "odd", "trade", "unsaid", "hold"}, names); diff != "" {
		t.Error(diff)
	}
	agentformat.SortFlags(nil)
}

// Sorting is picking out each severity in turn, in the order the flags had.
func TestSortFlagsIsStable(t *testing.T) {
	severities := rapid.SliceOf(rapid.SampledFrom([]agentformat.Severity{
		agentformat.Success, agentformat.Info, agentformat.Warning, agentformat.Error, "", "ERROR", "critical",
	}))
	rapid.Check(t, func(t *rapid.T) {
		var flags []agentformat.Flag
		for i, s := range severities.Draw(t, "severities") {
			flags = append(flags, agentformat.Flag{Name: fmt.Sprint(i), Severity: s})
		}
		var want []agentformat.Flag
		for _, severity := range []agentformat.Severity{agentformat.Error, agentformat.Warning, agentformat.Info, agentformat.Success} {
			for _, f := range flags {
				known := f.Severity == agentformat.Error || f.Severity == agentformat.Warning || f.Severity == agentformat.Success
				if f.Severity == severity || severity == agentformat.Info && !known && f.Severity != agentformat.Info {
					want = append(want, f)
				}
			}
		}
		agentformat.SortFlags(flags)
		if diff := cmp.Diff(want, flags); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestFlagKeys(t *testing.T) {
	got, err := json.Marshal(agentformat.Flag{"low_coverage", agentformat.Warning, "Only 40% is known"})
	if want := `{"flag":"low_coverage","severity":"warning","message":"Only 40% is known"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
