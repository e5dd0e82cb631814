package keyring

import (
	"fmt"
	"io/fs"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExposed(t *testing.T) {
	t.Parallel()
	const root, service, other = 0, 1000, 1001
	for _, test := range []struct {
		mode        fs.FileMode
		owner, self int
		want        bool
	}{
		{0o600, service, service, false},
		{0o400, root, root, false},
		{0o640, service, service, true},
		{0o640, root, root, true},
		{0o440, root, service, false}, // A mounted secret.
		{0o640, root, service, false},
		{0o660, root, service, true}, // The group could put another key there.
		{0o644, root, service, true},
		{0o640, other, service, true},
		{0o640, noOwner, service, true},
	} {
		want := test.want && runtime.GOOS != "windows"
		require.Equal(t, want, exposed(test.mode, test.owner, test.self), fmt.Sprint(test))
	}
}
