package toolbox

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// inner are the addresses of this machine and of private networks: a host that the
// configuration names may have one.
var inner = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7", "fec0::/10")

// never are the addresses that no name may stand for: those of the link, where clouds keep
// their metadata, other places of metadata, and what is no host's address. They can be
// reached only if the configuration names the address itself.
var never = prefixes(
	"169.254.0.0/16", "fe80::/10", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.0/24", "fd00:ec2::254/128",
	"192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/128", "100::/64", "2001::/23", "2001:db8::/32", "ff00::/8",
)

// carriers are IPv6 addresses that hold an IPv4 address, from a byte on.
var carriers = []struct {
	netip.Prefix
	from int
}{
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

func prefixes(list ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, p := range list {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

// guard returns what a dialler asks before it connects to an address that a host's name
// stands for. A host that the configuration names may be in a private network.
func guard(host string, named bool) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%s is no address", quote(address))
		}
		itself, err := netip.ParseAddr(host)
		if named && err == nil && itself.Unmap() == ap.Addr().Unmap() || reachable(ap.Addr(), named) {
			return nil
		}
		return fmt.Errorf("the host %s has the address %s, which is not on the public internet: name the host in builtin.web.hosts of the tools' configuration to allow it", quote(host), ap.Addr())
	}
}

// reachable reports whether an address may be reached.
func reachable(a netip.Addr, named bool) bool {
	a = a.Unmap().WithZone("")
	in := func(p netip.Prefix) bool { return p.Contains(a) }
	if slices.ContainsFunc(never, in) {
		return false
	}
	if slices.ContainsFunc(inner, in) {
		return named
	}
	for _, c := range carriers {
		if c.Contains(a) {
			bytes := a.As16()
			return reachable(netip.AddrFrom4([4]byte(bytes[c.from:])), named)
		}
	}
	return a.Is4() || netip.MustParsePrefix("2000::/3").Contains(a)
}
