package webhooks

import "net/netip"

// Reachable reports whether an address may be called by a runtime with these networks.
func Reachable(ip netip.Addr, networks ...netip.Prefix) bool { return guard{networks}.allows(ip) }
