package adminsocket

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel who connected.
func peerOf(conn net.Conn) (p Peer, known bool, err error) {
	err = rawConn(conn, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			p = Peer{UID: int(cred.Uid), PID: int(cred.Pid)}
		}
		return err
	})
	return p, true, err
}

// restrict sets the mode on the unbound socket, which Linux gives to the name when
// it appears: at no moment can others connect.
func restrict(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), socketMode) })
	if err != nil {
		return err
	}
	return failed
}
