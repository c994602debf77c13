package agentformat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
)

// rules is a snapshot that shows two of its rules.
type rules struct {
	Count int      `json:"count"`
	Rules []string `json:"rules"`
	flags []agentformat.Flag
}

func (r rules) Flags() []agentformat.Flag {
	flags := r.flags
	for _, name := range r.Rules {
		if name == "failed" {
			flags = append(flags, agentformat.Flag{"rule_error", agentformat.Warning, fmt.Sprintf("1 of %d failed", len(r.Rules))})
		}
	}
	return flags
}

func (r rules) Capped() rules {
	r.Rules = r.Rules[:min(len(r.Rules), 2)]
	return r
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Flags see what the caps leave out, and come sorted.
func TestRespondFlagsBeforeCaps(t *testing.T) {
	own := []agentformat.Flag{{"hold", agentformat.Success, "none triggered"}}
	snapshot := rules{Count: 3, Rules: []string{"a", "b", "failed"}, flags: own}
	got := marshal(t, agentformat.Respond("success", snapshot, agentformat.File{}))
	want := `{"status":"success","format":"agent","snapshot":{"count":3,"rules":["a","b"]},"flags":[` +
		`{"flag":"rule_error","severity":"warning","message":"1 of 3 failed"},` +
		`{"flag":"hold","severity":"success","message":"none triggered"}],"file_path":null}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(snapshot.Rules) != 3 {
		t.Error("the snapshot itself was capped")
	}
}

// The flags of a snapshot stay in its own order.
func TestRespondLeavesTheSnapshotsFlags(t *testing.T) {
	own := []agentformat.Flag{{"hold", agentformat.Success, ""}, {"failed", agentformat.Error, ""}}
	response := agentformat.Respond("success", rules{flags: own}, agentformat.File{})
	if response.Flags[0].Name != "failed" || own[0].Name != "hold" {
		t.Errorf("%v, %v", response.Flags, own)
	}
}

// No flags are an empty list, and only "success" is a success; the keys are the same.
func TestRespondStatus(t *testing.T) {
	for status, want := range map[string]string{"success": "success", "error": "error", "": "error", "Success": "error", "partial": "error"} {
		got := marshal(t, agentformat.Respond(status, rules{Rules: []string{}}, agentformat.File{}))
		want := `{"status":"` + want + `","format":"agent","snapshot":{"count":0,"rules":[]},"flags":[],"file_path":null}`
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", status, diff)
		}
	}
}

// A reply names a file that is there, or says why it is not, never both.
func TestRespondFile(t *testing.T) {
	for _, c := range []struct {
		file agentformat.File
		want string
	}{
		{agentformat.File{}, `"file_path":null}`},
		{agentformat.File{Path: "/logs/a.json"}, `"file_path":"/logs/a.json"}`},
		{agentformat.File{Err: errors.New("disk full")}, `"file_path":null,"file_error":"disk full"}`},
		{agentformat.File{Path: "/logs/a.json", Err: errors.New("disk full")}, `"file_path":null,"file_error":"disk full"}`},
	} {
		got := marshal(t, agentformat.Respond("success", rules{}, c.file))
		want := `{"status":"success","format":"agent","snapshot":{"count":0,"rules":null},"flags":[],` + c.want
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}
