package faults

import "syscall"

// ownGroup starts a process as the leader of a group of its own, which dies with
// this program, however that ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
