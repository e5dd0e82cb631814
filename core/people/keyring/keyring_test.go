package keyring_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people/keyring"
)

func TestASecretFileIsMadeOnceForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "secret")
	made, err := keyring.LoadOrCreate(path, func() []byte { return []byte("first") })
	require.NoError(t, err)
	require.Equal(t, "first", string(made))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	again, err := keyring.LoadOrCreate(path, func() []byte { return []byte("second") })
	require.NoError(t, err)
	require.Equal(t, "first", string(again))

	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file stays")
}

func TestProcessesThatCreateAtOnceAgree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	contents := make([][]byte, 16)
	var group sync.WaitGroup
	for i := range contents {
		group.Go(func() {
			content, err := keyring.LoadOrCreate(path, func() []byte { return fmt.Append(nil, "secret ", i) })
			if err == nil {
				contents[i] = content
			}
		})
	}
	group.Wait()
	for _, content := range contents {
		require.NotEmpty(t, content)
		require.Equal(t, string(contents[0]), string(content))
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want error
	}{
		{"readable by the group", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("secret"), 0o600))
			require.NoError(t, os.Chmod(path, 0o640))
		}, keyring.ErrExposed},
		{"empty", func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, nil, 0o600)) }, keyring.ErrDamaged},
		{"too large", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, make([]byte, 4<<10+1), 0o600))
		}, keyring.ErrDamaged},
		{"a folder", func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, keyring.ErrDamaged},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "secret")
			test.make(t, path)
			_, err := keyring.LoadOrCreate(path, func() []byte { return []byte("new") })
			require.ErrorIs(t, err, test.want)
		})
	}
}

func TestOpenSealerNeedsThirtyTwoBytes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte("too short"), 0o600))
	_, err := keyring.OpenSealer(path)
	require.ErrorIs(t, err, keyring.ErrDamaged)
}

func newSealer(t *testing.T, fill byte) *keyring.Sealer {
	t.Helper()
	s, err := keyring.NewSealer(bytes.Repeat([]byte{fill}, keyring.KeySize))
	require.NoError(t, err)
	return s
}

func TestSealedKeysOpenOnlyAsTheyWereSealed(t *testing.T) {
	t.Parallel()
	s := newSealer(t, 1)
	secret := []byte("0123456789abcdef0123456789abcdef")
	sealed := s.Seal("page", "A", secret)
	require.NotContains(t, string(sealed), string(secret))
	require.NotEqual(t, sealed, s.Seal("page", "A", secret), "a nonce is never used twice")

	plain, err := s.Open("page", "A", sealed)
	require.NoError(t, err)
	require.Equal(t, secret, plain)

	spoiled := func(at int) []byte {
		b := slices.Clone(sealed)
		b[at] ^= 1
		return b
	}
	tests := []struct {
		name        string
		with        *keyring.Sealer
		purpose, id string
		sealed      []byte
	}{
		{"another purpose", s, "callbacks", "A", sealed},
		{"another id", s, "page", "B", sealed},
		{"the parts moved", s, "pag", "e\x00A", sealed},
		{"another secret key", newSealer(t, 2), "page", "A", sealed},
		{"another version", s, "page", "A", spoiled(0)},
		{"another nonce", s, "page", "A", spoiled(1)},
		{"a flipped bit", s, "page", "A", spoiled(20)},
		{"a flipped last bit", s, "page", "A", spoiled(len(sealed) - 1)},
		{"cut", s, "page", "A", sealed[:len(sealed)-1]},
		{"only the version", s, "page", "A", sealed[:1]},
		{"nothing", s, "page", "A", nil},
	}
	for _, test := range tests {
		_, err := test.with.Open(test.purpose, test.id, test.sealed)
		require.ErrorIs(t, err, keyring.ErrNotOpened, test.name)
		require.ErrorIs(t, err, core.ErrCorrupt, test.name)
	}
}

// store keeps sealed keys in memory; the first of an id wins.
type store struct {
	mu   sync.Mutex
	keys []core.SealedKey
}

func (s *store) SealedKeys(_ context.Context, purpose string) ([]core.SealedKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []core.SealedKey
	for _, k := range slices.Backward(s.keys) {
		if k.Purpose == purpose {
			list = append(list, k)
		}
	}
	return list, nil
}

func (s *store) AddSealedKey(_ context.Context, k core.SealedKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, has := range s.keys {
		if has.ID == k.ID && has.Purpose == k.Purpose {
			return nil
		}
	}
	k.CreatedAt = core.Millis(len(s.keys) + 1)
	s.keys = append(s.keys, k)
	return nil
}

func TestReplicasThatStartTogetherShareOneKey(t *testing.T) {
	t.Parallel()
	keys := &store{}
	rings := make([][]keyring.Key, 8)
	var group sync.WaitGroup
	for i := range rings {
		ring := keyring.New(keys, newSealer(t, 1))
		group.Go(func() {
			loaded, err := ring.LoadOrCreate(t.Context(), keyring.PurposePage)
			if err == nil {
				rings[i] = loaded
			}
		})
	}
	group.Wait()
	for _, loaded := range rings {
		require.Len(t, loaded, 1)
		require.Len(t, loaded[0].Secret, keyring.KeySize)
		require.Equal(t, rings[0], loaded)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	keys := &store{}
	ring := keyring.New(keys, newSealer(t, 1))
	first, err := ring.LoadOrCreate(t.Context(), keyring.PurposeCallbacks)
	require.NoError(t, err)
	second, err := ring.Rotate(t.Context(), keyring.PurposeCallbacks)
	require.NoError(t, err)
	require.Len(t, second, 2)
	require.Equal(t, "B", second[0].ID, "newest first")
	require.Equal(t, first[0], second[1], "what was signed before still verifies")

	other, err := ring.LoadOrCreate(t.Context(), keyring.PurposePage)
	require.NoError(t, err)
	require.Len(t, other, 1, "purposes share nothing")
	require.NotEqual(t, first[0].Secret, other[0].Secret)

	seen := map[string]bool{"A": true, "B": true}
	for range 62 {
		rotated, err := ring.Rotate(t.Context(), keyring.PurposeCallbacks)
		require.NoError(t, err)
		require.False(t, seen[rotated[0].ID])
		seen[rotated[0].ID] = true
	}
	_, err = ring.Rotate(t.Context(), keyring.PurposeCallbacks)
	require.ErrorIs(t, err, core.ErrConflict)
}

func TestAnotherSecretKeyFileIsNoticed(t *testing.T) {
	t.Parallel()
	keys := &store{}
	_, err := keyring.New(keys, newSealer(t, 1)).LoadOrCreate(t.Context(), keyring.PurposePage)
	require.NoError(t, err)
	_, err = keyring.New(keys, newSealer(t, 2)).LoadOrCreate(t.Context(), keyring.PurposePage)
	require.ErrorIs(t, err, keyring.ErrNotOpened)
}

func TestKeysPrintWithoutTheirSecret(t *testing.T) {
	t.Parallel()
	k := keyring.Key{ID: "A", Secret: []byte("hush")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		require.Equal(t, "key A", fmt.Sprintf(verb, k))
	}
	require.Equal(t, "key A", k.LogValue().String())
}
