package redistest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/bus/redis/redisserver"
)

// Server is a private server for one test.
type Server struct{ *redisserver.Server }

// Start starts a server that ends with the test. Settings are further arguments of
// redis-server.
func Start(t testing.TB, settings ...string) Server {
	t.Helper()
	s, err := redisserver.Start(t.Context(), settings...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return Server{s}
}

// Kill ends the server as a crash would; what it held is lost.
func (s Server) Kill(t testing.TB) {
	t.Helper()
	require.NoError(t, s.Server.Kill())
}

// Again starts an empty server at the same address.
func (s Server) Again(t testing.TB) {
	t.Helper()
	require.NoError(t, s.Server.Again(context.Background()))
}
