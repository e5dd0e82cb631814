package keyring

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// KeySize is the size in bytes of the secret key file and of every key of a ring.
const KeySize = 32

// ErrNotOpened is a sealed key that the secret key file does not open: it is the
// file of another installation, or the row is damaged.
var ErrNotOpened = fmt.Errorf("a sealed key does not open with the secret key file: %w", core.ErrCorrupt)

// sealedVersion is the first byte of everything sealed, so that another scheme can follow.
const sealedVersion = 1

// Sealer encrypts keys for the database. It is safe for concurrent use.
type Sealer struct{ aead cipher.AEAD }

// OpenSealer loads the secret key file, or makes it (see LoadOrCreate).
func OpenSealer(path string) (*Sealer, error) {
	key, err := LoadOrCreate(path, func() []byte { return random(KeySize) })
	if err != nil {
		return nil, err
	}
	return NewSealer(key)
}

// NewSealer seals with the given 32 bytes. Errors: ErrDamaged for another length.
func NewSealer(key []byte) (*Sealer, error) {
	if len(key) != KeySize {
		return nil, ErrDamaged
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("use secret key: %w", err)
	}
	// The mode draws a fresh 96-bit nonce for every message and puts it in front:
	// far more messages than there will ever be keys stay clear of a collision.
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("use secret key: %w", err)
	}
	return &Sealer{aead: aead}, nil
}

// Seal encrypts a key, bound to its purpose and id.
func (s *Sealer) Seal(purpose, id string, plain []byte) []byte {
	return s.aead.Seal([]byte{sealedVersion}, nil, plain, bound(purpose, id)) //nolint:gosec // No nonce is passed: the mode draws it.
}

// Open decrypts what Seal made for the same purpose and id. Errors: ErrNotOpened.
func (s *Sealer) Open(purpose, id string, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 || sealed[0] != sealedVersion {
		return nil, ErrNotOpened
	}
	plain, err := s.aead.Open(nil, nil, sealed[1:], bound(purpose, id))
	if err != nil {
		return nil, ErrNotOpened // The cause says nothing more: authentication failed.
	}
	return plain, nil
}

// bound is the additional data: the zero bytes keep its parts apart.
func bound(purpose, id string) []byte { return []byte("sayso sealed key\x00" + purpose + "\x00" + id) }

// random draws n bytes; crypto/rand never fails, it ends the process instead.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
