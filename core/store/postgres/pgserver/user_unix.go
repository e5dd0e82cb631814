//go:build unix

package pgserver

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// credential is whom the server runs as; nil for ourselves.
func credential() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // Nobody else is an answer.
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("find a user for PostgreSQL: %w", err)
		}
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read user id: %w", err)
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read group id: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// handOver gives a folder to whom the server runs as.
func handOver(folder string) error {
	as, err := credential()
	if err != nil || as == nil {
		return err
	}
	if err := os.Chown(folder, int(as.Uid), int(as.Gid)); err != nil {
		return fmt.Errorf("hand folder over: %w", err)
	}
	return nil
}

// asOther makes a command run as that user, in a group of its own: a Ctrl-C for us
// is none for it.
func asOther(cmd *exec.Cmd) error {
	as, err := credential()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
	return err
}
