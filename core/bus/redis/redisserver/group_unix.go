//go:build unix

package redisserver

import (
	"os/exec"
	"syscall"
)

// apart puts a command into a group of its own: a Ctrl-C for us is none for it.
func apart(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}
