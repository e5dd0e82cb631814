package webhooks_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// rebinding is a name server whose answer for any name changes with each question: it
// answers with the next address, and goes on with the last.
type rebinding struct {
	mu      sync.Mutex
	answers []netip.Addr
	asked   int
}

func (r *rebinding) next() netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := min(r.asked, len(r.answers)-1)
	r.asked++
	return r.answers[i]
}

// serve answers questions for IPv4 addresses; others get no address.
func (r *rebinding) serve(conn net.PacketConn) {
	buf := make([]byte, 512)
	for {
		n, from, err := conn.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || n < 12 {
			continue
		}
		if _, err := conn.WriteTo(r.reply(buf[:n]), from); err != nil {
			return
		}
	}
}

// reply is the question with an answer behind it, as RFC 1035 has it.
func (r *rebinding) reply(question []byte) []byte {
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end += 5 // The name's end, type and class.
	reply := append([]byte{}, question[:end]...)
	reply[2], reply[3] = 0x81, 0x80 // An answer without a fault.
	copy(reply[6:12], make([]byte, 6))
	if binary.BigEndian.Uint16(question[end-4:end-2]) != 1 { // Not an A record: nothing there.
		return reply
	}
	reply[7] = 1
	address := r.next().As4()
	reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4) // The same name, A, IN, no life, 4 bytes.
	return append(reply, address[:]...)
}

// A name that led to an allowed address leads to another one at the next call: what is
// resolved is looked at each time, when the connection is made.
func TestRebindingNameIsCaught(t *testing.T) {
	t.Parallel()
	names := &rebinding{answers: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() { names.serve(conn) })
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		serving.Wait()
	})
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}

	calls := make(chan string, 10)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { calls <- r.Host })
	outside := httptest.NewServer(handler)
	t.Cleanup(outside.Close)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(outside.URL, "http://"))
	require.NoError(t, err)
	inside, err := net.Listen("tcp", "127.0.0.2:"+port) // What the name leads to later.
	require.NoError(t, err)
	within := &httptest.Server{Listener: inside, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the inside was called")
	}), ReadHeaderTimeout: 0}}
	within.Start()
	t.Cleanup(within.Close)

	origin := "http://hooks.example.com:" + port
	list := runtimes(t, loopback(), origin)
	require.Empty(t, send(t, list, resolver, nudge(origin+"/hook"))[0].Error)
	require.Equal(t, "hooks.example.com:"+port, <-calls)
	require.Equal(t, "address-refused", send(t, list, resolver, nudge(origin+"/hook"))[0].Error)
	require.Equal(t, "address-refused", send(t, list, resolver, nudge(origin+"/hook"))[0].Error)
	require.Empty(t, calls)
}
