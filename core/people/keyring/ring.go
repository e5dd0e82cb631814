package keyring

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/saysohq/sayso/core"
)

// The purposes of keys.
const (
	PurposeCallbacks = "callbacks" // Signs the buttons of cards.
	PurposePage      = "page"      // Signs the forms and views of the page.
)

// alphabet holds the ids of a purpose's keys, in the order in which they are used:
// one character each, because a button's payload has room for no more. Keys are
// never deleted, so a purpose can be rotated 63 times.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Key is an opened key.
type Key struct {
	ID        string // One character of the base64url alphabet.
	Secret    []byte // KeySize bytes.
	CreatedAt core.Millis
}

// String implements fmt.Stringer; the secret is left out.
func (k Key) String() string { return "key " + k.ID }

// GoString implements fmt.GoStringer; the secret is left out.
func (k Key) GoString() string { return k.String() }

// LogValue implements slog.LogValuer; the secret is left out.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Store is where the sealed keys are; core.Keys has it.
type Store interface {
	// SealedKeys lists the keys of a purpose, newest first.
	SealedKeys(ctx context.Context, purpose string) ([]core.SealedKey, error)
	// AddSealedKey stores a key; an id that exists is left alone.
	AddSealedKey(ctx context.Context, k core.SealedKey) error
}

// Ring opens the keys in the store. It is safe for concurrent use.
type Ring struct {
	store  Store
	sealer *Sealer
}

// New wires the ring; it reads nothing.
func New(store Store, sealer *Sealer) *Ring { return &Ring{store: store, sealer: sealer} }

// LoadOrCreate returns the keys of a purpose, newest first and at least one: use
// the first to sign, all of them to verify. Errors: ErrNotOpened.
func (r *Ring) LoadOrCreate(ctx context.Context, purpose string) ([]Key, error) {
	keys, err := r.load(ctx, purpose)
	if err != nil || len(keys) > 0 {
		return keys, err
	}
	return r.add(ctx, purpose, alphabet[:1])
}

// Rotate adds a key, which is the newest from then on. Errors: core.ErrConflict
// when the purpose has used up its ids, ErrNotOpened.
func (r *Ring) Rotate(ctx context.Context, purpose string) ([]Key, error) {
	keys, err := r.load(ctx, purpose)
	if err != nil {
		return nil, err
	}
	next := 0
	for _, k := range keys {
		next = max(next, strings.Index(alphabet, k.ID)+1)
	}
	if next == len(alphabet) {
		return nil, fmt.Errorf("rotate key: no id is left: %w", core.ErrConflict)
	}
	return r.add(ctx, purpose, alphabet[next:next+1])
}

// add offers a fresh key under the id and returns what the store has then: of
// processes that offer the same id at once, all end up with the first one's.
func (r *Ring) add(ctx context.Context, purpose, id string) ([]Key, error) {
	sealed := core.SealedKey{ID: id, Purpose: purpose, Sealed: r.sealer.Seal(purpose, id, random(KeySize))}
	if err := r.store.AddSealedKey(ctx, sealed); err != nil {
		return nil, fmt.Errorf("add key: %w", err)
	}
	keys, err := r.load(ctx, purpose)
	if err == nil && len(keys) == 0 {
		return nil, fmt.Errorf("add key: it is not there: %w", core.ErrUnavailable)
	}
	return keys, err
}

func (r *Ring) load(ctx context.Context, purpose string) ([]Key, error) {
	sealed, err := r.store.SealedKeys(ctx, purpose)
	if err != nil {
		return nil, fmt.Errorf("load keys: %w", err)
	}
	keys := make([]Key, 0, len(sealed))
	for _, k := range sealed {
		secret, err := r.sealer.Open(purpose, k.ID, k.Sealed)
		if err != nil {
			return nil, fmt.Errorf("load keys: %w", err)
		}
		keys = append(keys, Key{ID: k.ID, Secret: secret, CreatedAt: k.CreatedAt})
	}
	return keys, nil
}
