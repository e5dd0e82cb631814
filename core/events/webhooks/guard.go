package webhooks

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"syscall"
)

// errAddress is a connection to an address that may not be called.
var errAddress = errors.New("the address may not be called")

// guard says which addresses may be called.
type guard struct{ networks []netip.Prefix }

// control is a net.Dialer's ControlContext: it sees the address that was resolved, of
// each attempt to connect, before anything is sent to it.
func (g guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !g.allows(at.Addr()) {
		return errAddress
	}
	return nil
}

func (g guard) allows(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return public(ip) || slices.ContainsFunc(g.networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// public reports whether an address is one of the public internet, by the IANA's
// registries of special-purpose addresses. What carries another address within it
// (6to4, Teredo, NAT64) is not: it may lead back inside.
func public(ip netip.Addr) bool {
	if !ip.IsValid() {
		return false
	}
	special := specialV4()
	if ip.Is6() {
		if !netip.MustParsePrefix("2000::/3").Contains(ip) { // Nothing else is given out.
			return false
		}
		special = specialV6()
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) })
}

func specialV4() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	)
}

func specialV6() []netip.Prefix {
	return prefixes("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
}

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, p := range list {
		all[i] = netip.MustParsePrefix(p)
	}
	return all
}
