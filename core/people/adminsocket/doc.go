// Package adminsocket is the operator's way into the running service: an HTTP
// server that only the same user of this machine, or root, can reach, and the
// client for it.
//
//	Linux, macOS   a Unix socket, mode 0600; each connection's user is asked of the
//	               kernel and must be the service's own or root
//	other Unix     a Unix socket, mode 0600, in a folder of mode 0700
//	Windows        a loopback port whose number and random token stand in a file
//	               that is as private as its folder (the user's own profile)
//
// What it promises: whoever gets an answer could also have read the data folder; a
// refused connection learns nothing. What it does not do: it knows no people. The
// handler decides what the operator may do, as core.Caller{Operator: true}; against
// an agent that runs as the same user it can only advise.
package adminsocket
