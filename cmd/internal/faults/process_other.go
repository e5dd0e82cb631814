//go:build unix && !linux

package faults

import "syscall"

// ownGroup starts a process as the leader of a group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
