package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/saysohq/sayso/core/people/keyring"
)

// errKeyMissing is a database with keys in it and no file to open them with. A fresh
// file would open none of them, and would stand in the way of the right one.
var errKeyMissing = errors.New("the file is missing, and only it opens the keys in the database: put it back")

// ring opens the secret key file, or makes it for a deployment that has no keys yet.
func (b *builder) ring(ctx context.Context) (*keyring.Ring, error) {
	path := b.Config.SecretKeyFile
	if path == "" {
		path = filepath.Join(b.Config.Data, SecretKeyFile)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		sealed, err := b.store.SealedKeys(ctx, keyring.PurposeCallbacks)
		if err != nil {
			return nil, fmt.Errorf("look for sealed keys: %w", err)
		}
		if len(sealed) > 0 {
			return nil, fmt.Errorf("open secret key: %w", b.sameKey(errKeyMissing))
		}
	}
	sealer, err := keyring.OpenSealer(path)
	if err != nil {
		return nil, fmt.Errorf("open secret key: %w", cause(err))
	}
	return keyring.New(b.store, sealer), nil
}

// keys loads the keys of a purpose, newest first. Of replicas that start together on an
// empty database with different key files, those fail here that were not the first.
func (b *builder) keys(ctx context.Context, ring *keyring.Ring, purpose string) ([]keyring.Key, error) {
	keys, err := ring.LoadOrCreate(ctx, purpose)
	if errors.Is(err, keyring.ErrNotOpened) {
		err = b.sameKey(err)
	}
	if err != nil {
		return nil, fmt.Errorf("load keys of %s: %w", purpose, err)
	}
	return keys, nil
}

// sameKey adds what a fleet has to do about a key file that does not fit.
func (b *builder) sameKey(err error) error {
	if !b.store.shared {
		return err
	}
	return fmt.Errorf("%w (every replica needs the same secret_key_file)", err)
}
