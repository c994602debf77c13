package cli

import (
	"net"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/membership"
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
