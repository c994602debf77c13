package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/command"
)

// What was typed wrong, or not at all, is named, and is wrong usage.
func TestClusterUsage(t *testing.T) {
	far := access.Invitation{Box: []string{"192.0.2.1:7443"}, Key: strings.Repeat("0", 64), Secret: access.InvitationSecret([32]byte{1})}.ClusterString()
	for want, args := range map[string][]string{
		"name where the other boxes reach this one: --address": {"init", "--name", "a"},
		"--address HOST:PORT": {"join", far},
		"the other boxes do not reach this one at 127.0.0.1:7443":  {"join", far, "--address", "127.0.0.1:7443"},
		"the other boxes do not reach this one at localhost:7443,": {"join", far, "--address", "192.0.2.2:7443", "--address", "localhost:7443"},
		"--name: ":           {"init", "--name", "../x", "--address", "192.0.2.1:7443"},
		"--ttl 48h0m0s: ":    {"invite", "b", "--ttl", "48h"},
		"the name is empty":  {"leave", ""},
		"the name is empty:": {"replace", "", "--as", "d"},
		"takes one argument at most, and there is \"c\" too": {"leave", "b", "c"},
	} {
		dir := filepath.Join(t.TempDir(), "box")
		code, out, errOut := run(t, command.Env{}, append([]string{"--dir", dir, "cluster"}, args...)...)
		if code != command.ExitUsage || !strings.Contains(errOut, want) || strings.Contains(errOut, "127.0.0.1:0") {
			t.Errorf("%q: exit %d, without %q: %s%s", args, code, want, out, errOut)
		}
	}
	code, _, errOut := run(t, command.Env{}, "--dir", filepath.Join(t.TempDir(), "box"), "cluster", "init", "--name", "a", "--address", "127.0.0.1:7443")
	if code != 0 || !strings.Contains(errOut, "only boxes on this machine reach this one at 127.0.0.1:7443") {
		t.Errorf("a first box on loopback: exit %d, %s", code, errOut)
	}
}

// A box of a cluster that does not run says as whom it would.
func TestStoppedMember(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "box")
	if code, _, errOut := run(t, command.Env{}, "--dir", dir, "cluster", "init", "--name", "a", "--address", "192.0.2.1:7443"); code != 0 {
		t.Fatal(errOut)
	}
	for _, args := range [][]string{{"status"}, {"cluster", "status"}, {"inbox"}} {
		code, out, errOut := run(t, command.Env{}, append([]string{"--dir", dir}, args...)...)
		if code != command.ExitFailure || !strings.Contains(errOut, "this is the box a of a cluster, and it does not run: start it with `signalbox up`") {
			t.Errorf("%q: exit %d, %s%s", args, code, out, errOut)
		}
	}
}
