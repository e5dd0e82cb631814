package transfer

import (
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"

	"github.com/saysohq/sayso/core"
)

// syncFile puts a file on the disk and returns its size.
func syncFile(path string) (int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// syncFolder makes a new name survive a power cut. Windows has no such call.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// copyFile copies a file to one that does not exist, for its owner alone.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// fileFault drops the path that the system's errors carry.
func fileFault(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return core.ErrStorageFull
	}
	cause := err
	if path, ok := errors.AsType[*os.PathError](err); ok {
		cause = path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		cause = link.Err
	}
	return &fault{class: core.ErrUnavailable, detail: cause.Error()}
}
