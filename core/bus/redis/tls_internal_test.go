package redis

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/bus/redis/redistest"
)

// encrypted puts TLS before a server, with the certificate that httptest has for
// 127.0.0.1, and returns the address.
func encrypted(t *testing.T, s redistest.Server, certificate tls.Certificate) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer in.Close()
				out, err := net.Dial("unix", s.Socket())
				if err != nil {
					return
				}
				defer out.Close()
				all.Go(func() { _, _ = io.Copy(in, out) })
				_, _ = io.Copy(out, in)
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		all.Wait()
	})
	return listener.Addr().String()
}

// With rediss:// nobody is spoken to who cannot show a certificate for that host.
func TestTLS(t *testing.T) {
	t.Parallel()
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	address := encrypted(t, redistest.Start(t), known.TLS.Certificates[0])
	ping := func(roots *x509.CertPool) error {
		cfg := Config{URL: "rediss://" + address, Deployment: "d1"}
		o, err := cfg.options()
		require.NoError(t, err)
		o.TLSConfig.RootCAs = roots
		c := goredis.NewClient(o)
		defer func() { require.NoError(t, c.Close()) }()
		return c.Ping(t.Context()).Err()
	}
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, ping(nil), &unknown)
	roots := x509.NewCertPool()
	roots.AddCert(known.Certificate())
	require.NoError(t, ping(roots))
}
