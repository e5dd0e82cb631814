package adminsocket

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel who connected.
func peerOf(conn net.Conn) (p Peer, known bool, err error) {
	err = rawConn(conn, func(fd int) error {
		cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err == nil {
			p = Peer{UID: int(cred.Uid)}
		}
		return err
	})
	return p, true, err
}

// restrict does nothing: macOS has no mode on an unbound socket.
func restrict(string, string, syscall.RawConn) error { return nil }
