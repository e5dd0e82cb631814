package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/saysohq/sayso/core/people"
)

// The files of the data folder.
const (
	DatabaseFile  = "sayso.db"
	TokenFile     = "local-token"
	SocketFile    = "admin.sock"
	SecretKeyFile = "secret.key"
	AddressFile   = "address"
	BootstrapFile = "first-sign-in"
)

// makeFolder makes the data folder for its owner alone, and refuses one that
// others may enter: the database and the keys are in it.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("data folder: cannot be made: %w", cause(err))
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("data folder: %w", cause(err))
	}
	if !info.IsDir() {
		return errors.New("data folder: is a file")
	}
	if info.Mode().Perm()&0o077 != 0 {
		return errors.New("data folder: others can enter it: chmod 700 it")
	}
	return nil
}

// cause drops the path that a file error repeats.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// localToken reads the bearer with which this machine's own CLI asks, or makes
// one. The file is complete before it has its name, so that a crash leaves either
// no token or a whole one.
func localToken(folder string) (people.Secret, error) {
	path := filepath.Join(folder, TokenFile)
	b, err := os.ReadFile(path)
	switch {
	case err == nil:
		return people.SecretOf(strings.TrimSpace(string(b))), nil
	case !errors.Is(err, fs.ErrNotExist):
		return people.Secret{}, fmt.Errorf("local token: %w", cause(err))
	}
	secret := people.NewTokenSecret()
	if err := writeFile(path, secret.Reveal()+"\n"); err != nil {
		return people.Secret{}, fmt.Errorf("local token: %w", cause(err))
	}
	return secret, nil
}

// writeFile replaces a private file in one step.
func writeFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // Gone already after the rename.
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close() // The first error is the one to report.
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
