package adminsocket

import (
	"context"
	"log/slog"
	"net"
	"net/http"
)

func listen(ctx context.Context, path string, _ *slog.Logger) (net.Listener, func(http.Handler) http.Handler, error) {
	return listenTokenFile(ctx, path)
}

func transport(path string) http.RoundTripper { return newTokenTransport(path) }
