package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/runner"
)

// A box that listens elsewhere than where the others look for it is told so; who is in no cluster is not.
func TestMisplaced(t *testing.T) {
	dir := t.TempDir()
	at := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 3), Port: port} }
	if got := misplaced(dir, at(7443)); got != "" {
		t.Errorf("in no cluster: %s", got)
	}
	one := access.Member{ID: 3, Name: "c", Key: strings.Repeat("0", 64), Addresses: []string{"192.0.2.3:7443", "c.example.org:443"}}
	if err := membership.Write(dir, membership.Membership{ID: 3, Name: "c", Members: []access.Member{one}}); err != nil {
		t.Fatal(err)
	}
	for port, want := range map[int]string{
		7443: "", 443: "",
		7071: "it listens at 192.0.2.3:7071, and the other boxes look for it at 192.0.2.3:7443, c.example.org:443: if nothing there passes that on, start it with --listen 192.0.2.3:7443; or give it another address (`signalbox cluster replace c` at another box, and join with --address)",
	} {
		if got := misplaced(dir, at(port)); got != want {
			t.Errorf("%d: %q, want %q", port, got, want)
		}
	}
}

// Work that is in another box's repository is not told as gone: it is said whose; and elsewhere an error stays as it is.
func TestAtHome(t *testing.T) {
	a := &app{dir: t.TempDir()}
	gone := fmt.Errorf("%w: the commit x", runner.ErrGone)
	if got := a.atHome("b", "signalbox/R1", gone); !errors.Is(got, gone) || got.Error() != gone.Error() {
		t.Errorf("in no cluster: %v", got)
	}
	one := access.Member{ID: 1, Name: "a", Key: strings.Repeat("0", 64), Addresses: []string{"192.0.2.1:7443"}}
	if err := membership.Write(a.dir, membership.Membership{ID: 1, Name: "a", Members: []access.Member{one}}); err != nil {
		t.Fatal(err)
	}
	for home, want := range map[string]string{"": gone.Error(), "a": gone.Error(), "b": "the run's home is b, and its branch signalbox/R1 is in that box's repository alone"} {
		if got := a.atHome(home, "signalbox/R1", gone); !errors.Is(got, runner.ErrGone) || !strings.HasPrefix(got.Error(), want) {
			t.Errorf("%q: %v", home, got)
		}
	}
	if got := a.atHome("b", "", errors.New("git is away")); got.Error() != "git is away" {
		t.Error(got)
	}
	var out bytes.Buffer
	a.Out = &out
	if err := a.runRows(part{})([]listedRun{{ID: "R1", Home: "b"}}); err != nil || !strings.Contains(out.String(), "HOME") || !strings.Contains(out.String(), "R1   b ") {
		t.Errorf("%v: %s", err, &out)
	}
}
