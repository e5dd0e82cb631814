package channeltest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// patience bounds every wait for the fake; only a failing test waits that long.
const patience = 20 * time.Second

// bundle is what a case works with.
type bundle struct {
	*Harness
	ctx   context.Context
	codec *callbacks.Codec
	ch    channels.Channel
	logs  *logBuffer

	listening atomic.Int64 // Channels that were started and not stopped.
}

func setup(t *testing.T, factory Factory) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	b := &bundle{Harness: factory(t), ctx: ctx, codec: newCodec(t, 'k'), logs: new(logBuffer)}
	b.ch = b.open(t, Options{})
	t.Cleanup(func() {
		require.Empty(t, b.Platform.Violations(), "the platform's rules were broken")
		b.clean(t, b.logs.String())
	})
	return b
}

func newCodec(t *testing.T, key byte) *callbacks.Codec {
	t.Helper()
	c, err := callbacks.NewCodec(callbacks.Key{ID: string(key), Secret: bytes.Repeat([]byte{key}, 32)})
	require.NoError(t, err)
	return c
}

// open makes another channel of the same account.
func (b *bundle) open(t *testing.T, o Options) channels.Channel {
	t.Helper()
	if o.Codec == nil {
		o.Codec = b.codec
	}
	o.Logger = slog.New(slog.NewJSONHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return b.Open(t, o)
}

// clean fails when a text holds one of the platform's secrets or the content of a
// card.
func (b *bundle) clean(t *testing.T, text string) {
	t.Helper()
	for _, secret := range append(b.Secrets, contentMark) {
		require.NotContains(t, text, secret, "a secret or content got out")
	}
}

// failed checks an error of a channel: its class, and that nothing in its chain
// tells a secret.
func (b *bundle) failed(t *testing.T, err error, class core.FailureClass) channels.Error {
	t.Helper()
	var e *channels.Error
	require.ErrorAs(t, err, &e)
	for at := err; at != nil; at = errors.Unwrap(at) {
		b.clean(t, at.Error())
	}
	require.Equal(t, class, e.Class, "class of %v", err)
	require.LessOrEqual(t, len(e.Error()), 200, "the ledger keeps 200 bytes")
	return *e
}

// send renders and sends a card to an address.
func (b *bundle) send(t *testing.T, address string, card presentation.Card) (locator string, r channels.Rendered) {
	t.Helper()
	r, err := b.ch.Render(card)
	require.NoError(t, err)
	locator, err = b.ch.Send(b.ctx, address, r)
	require.NoError(t, err)
	require.NotEmpty(t, locator)
	require.LessOrEqual(t, len(locator), core.MaxLocator)
	return locator, r
}

func (b *bundle) render(t *testing.T, card presentation.Card) channels.Rendered {
	t.Helper()
	r, err := b.ch.Render(card)
	require.NoError(t, err)
	return r
}

// receive runs a channel until the returned function is called, which also
// returns what Run did. The channel is listening when receive returns.
func (b *bundle) receive(t *testing.T, ch channels.Channel, in channels.Inbound) (stop func() error) {
	t.Helper()
	stop, _ = b.run(t, ch, in)
	return stop
}

// run is receive that also returns how to wait for Run to end by itself.
func (b *bundle) run(t *testing.T, ch channels.Channel, in channels.Inbound) (stop, ended func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, in) }()
	b.listening.Add(1)
	ended = sync.OnceValue(func() error { return <-done })
	stop = sync.OnceValue(func() error {
		b.listening.Add(-1)
		cancel()
		return ended()
	})
	t.Cleanup(func() { _ = stop() })
	require.NoError(t, b.Platform.AwaitListening(b.ctx, int(b.listening.Load())))
	return stop, ended
}

// receiveLater is for clicks that come before anybody listens: the returned function
// begins to receive. Where the platform keeps no clicks it has begun already.
func (b *bundle) receiveLater(t *testing.T, in channels.Inbound) (begin func()) {
	t.Helper()
	if !b.Redelivers {
		b.receive(t, b.ch, in)
		return func() {}
	}
	return func() { b.receive(t, b.ch, in) }
}

// replies checks that a message replies to another, as far as the platform has it.
func (b *bundle) replies(t *testing.T, m fakes.Message, address, locator string) {
	t.Helper()
	if b.ReplyAddress != nil {
		require.Equal(t, b.ReplyAddress(address, locator), m.Address)
		return
	}
	require.Equal(t, address, m.Address)
	require.Equal(t, locator, m.ReplyTo)
}

// logBuffer collects log lines.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what was logged.
func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
