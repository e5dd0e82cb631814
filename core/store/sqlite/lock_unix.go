//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"

	"github.com/saysohq/sayso/core"
)

// lockFile takes an exclusive lock that ends with the process. Errors: ErrInUse.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrInUse
	case err != nil:
		return core.ErrUnavailable
	}
	return nil
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
