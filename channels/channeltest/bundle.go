package channeltest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
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
// returns what Run did.
func (b *bundle) receive(t *testing.T, ch channels.Channel, in channels.Inbound) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, in) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return stop
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
