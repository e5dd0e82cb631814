package slack

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack/socketmode"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// The figures of a connection. The library's own client is not used: it closes one
// connection before it opens the next, sends an acknowledgement on whichever
// connection is there by then, never acknowledges what it cannot decode, and waits for
// pings alone to notice that a connection is dead.
const (
	helloTime  = 10 * time.Second
	writeTime  = 5 * time.Second
	idleTime   = 30 * time.Second // Without a sign of life; we ask for one three times as often.
	lingerTime = 10 * time.Second // Of a connection that was replaced.
	settleTime = time.Minute      // After which a connection counts as good.
	maxFrame   = 4 << 20          // Bytes.
)

// connections keeps as many as there is a turn for, until ctx ends or a token is
// refused.
func (c *Channel) connections(ctx context.Context, s *session) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, Connections)
	var slots sync.WaitGroup
	for range Connections {
		// One after the other: opening is limited, and a fleet opens many.
		first := make(chan struct{})
		slots.Go(func() {
			opened := sync.OnceFunc(func() { close(first) })
			err := c.cfg.Turn.Take(ctx, func(ctx context.Context) error { return c.slot(ctx, s, opened) })
			if err != nil {
				errs <- err
				cancel()
			}
		})
		select {
		case <-first:
		case <-ctx.Done():
		}
	}
	slots.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// slot keeps one connection alive. A successor is opened before the one that was told
// to go is closed.
func (c *Channel) slot(ctx context.Context, s *session, opened func()) error {
	var links sync.WaitGroup
	defer links.Wait()
	var last, before *link // before was replaced and may still finish what it took.
	defer func() {
		for _, l := range []*link{before, last} {
			if l != nil {
				l.stop()
			}
		}
	}()
	tries := 0
	for ctx.Err() == nil {
		l, failed := c.dial(ctx)
		if failed != nil {
			if stop := c.waitOut(ctx, failed, tries); stop != nil {
				return stop
			}
			tries++
			continue
		}
		if before != nil {
			before.stop()
		}
		if last != nil {
			last.retire()
		}
		before, last = last, l
		links.Go(func() { l.read(s) })
		links.Go(l.ping)
		opened()
		select {
		case <-l.leaving:
		case <-ctx.Done():
		}
		if l.settled.Load() {
			tries = 0
			continue
		}
		c.backOff(ctx, tries, 0) // It was brief: the platform may be turning us away.
		tries++
	}
	return nil
}

// dial opens one connection and waits until the platform greets it.
func (c *Channel) dial(ctx context.Context) (*link, *channels.Error) {
	var address string
	_, failed := c.call(ctx, opReceive, func(ctx context.Context) (err error) {
		_, address, err = c.api.StartSocketModeContext(ctx)
		return err
	})
	if failed != nil {
		return nil, failed
	}
	if u, err := url.Parse(address); err != nil || (u.Scheme != "wss" && u.Scheme != "ws") {
		return nil, &channels.Error{Class: core.FailureTemporary, Op: opReceive, Detail: "the platform gave no address to connect to"}
	}
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: helloTime}
	ws, resp, err := d.DialContext(ctx, address, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, &channels.Error{Class: core.FailureTemporary, Op: opReceive, Detail: "the connection did not open", Err: strip(err)}
	}
	l := newLink(c, ws)
	return l, l.greeted(ctx)
}

// link is one connection.
type link struct {
	c       *Channel
	ws      *websocket.Conn
	watch   *time.Timer // Closes the connection when it shows no sign of life.
	leaving chan struct{}
	leave   func()        // Closes leaving, once.
	ended   chan struct{} // Closed when read returned.
	age     *time.Timer   // Sets settled.
	settled atomic.Bool   // It has lasted for a while.

	mu      sync.Mutex
	pending map[string]bool // Interactions taken and not acknowledged.
	open    int             // Payloads taken and not done.
	retired bool
}

func newLink(c *Channel, ws *websocket.Conn) *link {
	l := &link{
		c: c, ws: ws, leaving: make(chan struct{}), ended: make(chan struct{}), pending: map[string]bool{},
		watch: time.AfterFunc(helloTime, func() { _ = ws.Close() }),
	}
	l.age = time.AfterFunc(settleTime, func() { l.settled.Store(true) })
	l.leave = sync.OnceFunc(func() { close(l.leaving) })
	ws.SetReadLimit(maxFrame)
	ws.SetPongHandler(func(string) error {
		l.alive()
		return nil
	})
	ws.SetPingHandler(func(data string) error {
		l.alive()
		// A broken connection shows at the next read.
		_ = ws.WriteControl(websocket.PongMessage, []byte(data), time.Time{})
		return nil
	})
	return l
}

// greeted waits for the hello, and checks that it greets our app.
func (l *link) greeted(ctx context.Context) *channels.Error {
	stop := context.AfterFunc(ctx, func() { _ = l.ws.Close() })
	defer stop()
	failed := &channels.Error{Class: core.FailureTemporary, Op: opReceive, Detail: "the platform did not greet the connection"}
	_, raw, err := l.ws.ReadMessage()
	var f socketmode.Request
	switch {
	case err != nil:
		failed.Err = strip(err)
	case json.Unmarshal(raw, &f) != nil:
	case f.Type == "disconnect":
		failed.Detail = "the platform takes no further connection of this app"
	case f.Type == "hello" && f.ConnectionInfo.AppID != "" && f.ConnectionInfo.AppID != l.c.cfg.App:
		failed.Class, failed.Whole, failed.Detail = core.FailureAuth, true, "the app token belongs to another app"
	case f.Type == "hello":
		l.alive()
		return nil
	}
	l.watch.Stop()
	l.age.Stop()
	_ = l.ws.Close()
	return failed
}

// read takes frames until the connection ends.
func (l *link) read(s *session) {
	defer close(l.ended)
	defer l.leave()
	defer l.watch.Stop()
	defer l.age.Stop()
	defer func() { _ = l.ws.Close() }()
	for {
		_, raw, err := l.ws.ReadMessage()
		if err != nil {
			return
		}
		l.alive()
		l.take(s, raw)
	}
}

// take handles one frame.
func (l *link) take(s *session, raw []byte) {
	var f socketmode.Request
	if err := json.Unmarshal(raw, &f); err != nil {
		l.c.log.LogAttrs(s.ctx, slog.LevelError, "frame cannot be read")
		return
	}
	switch {
	case f.Type == "disconnect":
		l.c.log.LogAttrs(s.ctx, slog.LevelDebug, "connection is to be replaced")
		l.leave()
		return
	case f.EnvelopeID == "":
		return
	}
	interaction := f.Type != kindEvent
	l.mu.Lock()
	l.open++
	if interaction {
		l.pending[f.EnvelopeID] = true
	}
	l.mu.Unlock()
	s.accept(f.Type, f.Payload, sync.OnceFunc(func() { l.ack(f.EnvelopeID, interaction) }))
}

// ack acknowledges on the very connection that brought the payload, once. The body
// stays empty: a dialog closes by that, and everything else ignores it.
func (l *link) ack(id string, interaction bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if !interaction || l.pending[id] {
		delete(l.pending, id)
		l.write(id)
	}
	if l.retired && l.open == 0 {
		_ = l.ws.Close()
	}
}

// write sends an acknowledgement. It runs under the lock, because a connection takes
// one writer at a time.
func (l *link) write(id string) {
	late := time.AfterFunc(writeTime, func() { _ = l.ws.Close() })
	defer late.Stop()
	_ = l.ws.WriteJSON(socketmode.Response{EnvelopeID: id}) // The platform shows a warning, or brings it again.
}

// ping looks for a sign of life until the connection ends.
func (l *link) ping() {
	tick := time.NewTicker(l.c.idle / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = l.ws.WriteControl(websocket.PingMessage, nil, time.Time{}) // watch notices.
		case <-l.ended:
			return
		}
	}
}

// retire lets what was taken here be acknowledged here, and closes the connection
// then: its successor is open.
func (l *link) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retired = true
	if l.open == 0 {
		_ = l.ws.Close()
		return
	}
	l.watch.Reset(lingerTime)
}

// alive puts the end of a silent connection off. One that was replaced gets no more
// time.
func (l *link) alive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.retired {
		l.watch.Reset(l.c.idle)
	}
}

// stop acknowledges neutrally what is under way, because its answer comes another way
// and nobody else is handed it, and closes the connection. Events stay open: they are
// brought to whoever connects next, where repeating them does no harm.
func (l *link) stop() {
	l.mu.Lock()
	for id := range l.pending {
		l.write(id)
	}
	clear(l.pending)
	l.mu.Unlock()
	_ = l.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Time{})
	_ = l.ws.Close()
	<-l.ended
}
