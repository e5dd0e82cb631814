//go:build !unix

package redisserver

import (
	"errors"
	"os/exec"
)

func apart(*exec.Cmd) error {
	return errors.New("a private Redis runs only where there are Unix sockets and a shell")
}
