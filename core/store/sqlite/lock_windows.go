package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"github.com/saysohq/sayso/core"
)

// lockFile takes an exclusive lock that ends with the process. Errors: ErrInUse.
func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return ErrInUse
	case err != nil:
		return core.ErrUnavailable
	}
	return nil
}

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
