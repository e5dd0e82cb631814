package keyring

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/saysohq/sayso/core"
)

var (
	// ErrExposed is a secret file that others may read (0640 is as good as 0600 where
	// root owns it and the service is not root): chmod 600 and, if somebody
	// could have, replace the secret.
	ErrExposed = fmt.Errorf("the secret file is readable by others: %w", core.ErrForbidden)
	// ErrDamaged is a secret file without the expected content.
	ErrDamaged = fmt.Errorf("the secret file does not hold what it should: %w", core.ErrInvalid)
)

// maxFile bounds a secret file, in bytes.
const maxFile = 4 << 10

// LoadOrCreate reads the secret file at path; when there is none it is made, 0600,
// with what fresh returns. Of processes that create it at the same time one wins
// and all return its content. A process that dies on the way leaves no file or the
// whole file. Errors: ErrExposed, ErrDamaged (empty, too large, not a plain file).
func LoadOrCreate(path string, fresh func() []byte) ([]byte, error) {
	content, err := load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	if err := create(path, fresh()); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create secret file: %w", err)
	}
	return load(path)
}

func load(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open secret file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("inspect secret file: %w", err)
	case !info.Mode().IsRegular():
		return nil, ErrDamaged
	case exposed(info.Mode(), ownerOf(info), os.Getuid()):
		return nil, ErrExposed
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read secret file: %w", err)
	}
	if len(content) == 0 || len(content) > maxFile {
		return nil, ErrDamaged
	}
	return content, nil
}

// noOwner is the owner of a file where the system does not tell.
const noOwner = -1

// exposed reports whether others than the service may read a secret file. A file of
// root's that the service reads through its group is how an orchestrator hands a
// secret over: whoever else is in that group was put there by root.
func exposed(mode fs.FileMode, owner, self int) bool {
	if runtime.GOOS == "windows" { // Its permissions are not in the mode.
		return false
	}
	if owner == 0 && self != 0 {
		return mode.Perm()&0o037 != 0
	}
	return mode.Perm()&0o077 != 0
}

// create writes beside the path and links the whole file into place, which fails
// with fs.ErrExist where another process was first. A temporary file that a crash
// leaves behind is a secret that nobody uses.
func create(path string, content []byte) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(folder, ".secret-*") // Made 0600.
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // Only the link is wanted.
	_, err = temporary.Write(content)
	if err == nil {
		err = temporary.Sync()
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes the new name survive a power cut. Windows has no such call.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
