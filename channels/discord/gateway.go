package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// Operations of the gateway.
const (
	opDispatch   = 0
	opHeartbeat  = 1
	opIdentify   = 2
	opResume     = 6
	opReconnect  = 7
	opInvalid    = 9
	opHello      = 10
	opBeatHeard  = 11
	gatewayQuery = "/?v=10&encoding=json"
)

// Bounds of a connection.
const (
	handshakeTime = 15 * time.Second // For each of: connection, hello, ready.
	maxFrame      = 4 << 20          // Bytes. The list of servers in a ready event may be long.
	shortestBeat  = 10 * time.Millisecond
	longestBeat   = 10 * time.Minute
)

// frame is a message of the gateway, either way.
type frame struct {
	Op   *int            `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int64          `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
}

// outFrame is a message to the gateway.
type outFrame struct {
	Op   int `json:"op"`
	Data any `json:"d"`
}

// gatewaySession is what one connection leaves to the next so that the platform can
// hand over what came in between. It lives in memory alone: a process that dies loses
// clicks of a few seconds, whose senders see an error and press again.
type gatewaySession struct {
	id     string // "" identifies anew.
	resume string // Where the platform wants to be connected to again.
	seq    int64
}

func newDialer() *websocket.Dialer {
	return &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: handshakeTime}
}

// Why a connection ended.
var (
	errBroken    = errors.New("the connection to the gateway broke")
	errInvalid   = errors.New("the gateway does not know the session")
	errReconnect = errors.New("the gateway asked for a new connection")
	errNoBeat    = errors.New("the gateway does not answer heartbeats")
	errNoFrame   = errors.New("the gateway sent what is no frame of its own")
)

// connection is one connection to the gateway.
type connection struct {
	c       *Channel
	conn    *websocket.Conn
	session *gatewaySession
	steady  bool // A heartbeat was answered: it works.
	// replaying is true while the platform hands over what came in between.
	replaying bool
	beat      chan struct{} // Asks for a heartbeat at once.
	seq       atomic.Int64
	heard     atomic.Bool // The last heartbeat was answered.
	dead      atomic.Bool // A heartbeat was not.
}

// connect receives over one connection until it ends, which it always does with an
// error. A session that may be continued is left in gs.
func (c *Channel) connect(ctx context.Context, s *session, gs *gatewaySession) (steady bool, err error) {
	where, err := c.gatewayURL(ctx, gs)
	if err != nil {
		return false, err
	}
	dialing, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	conn, resp, err := c.dialer.DialContext(dialing, where, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		*gs = gatewaySession{}
		return false, fmt.Errorf("connect: %w", errBroken)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	conn.SetReadLimit(maxFrame)
	k := &connection{c: c, conn: conn, session: gs, beat: make(chan struct{}, 1)}
	k.seq.Store(gs.seq)
	err = k.run(ctx, s)
	gs.seq = k.seq.Load()
	if !resumable(err) {
		*gs = gatewaySession{}
	}
	return k.steady, err
}

// resumable reports whether the platform may continue the session.
func resumable(err error) bool {
	return errors.Is(err, errBroken) || errors.Is(err, errReconnect) || errors.Is(err, errNoBeat)
}

// gatewayURL is where to connect to: where the platform wants a session resumed, or
// what it names now.
func (c *Channel) gatewayURL(ctx context.Context, gs *gatewaySession) (string, error) {
	base := gs.resume
	if gs.id == "" || base == "" {
		var found struct {
			URL string `json:"url"`
		}
		if _, failed := c.call(ctx, opReceive, http.MethodGet, "gateway", nil, &found); failed != nil {
			return "", failed
		}
		base = found.URL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "wss" && (u.Scheme != "ws" || strings.HasPrefix(c.cfg.APIBase, "https://")) {
		*gs = gatewaySession{}
		return "", fmt.Errorf("connect: %w", errNoFrame) // The token goes only where it is encrypted.
	}
	return strings.TrimRight(base, "/") + gatewayQuery, nil
}

// run goes through the handshake and then reads until the connection ends.
func (k *connection) run(ctx context.Context, s *session) error {
	watchdog := time.AfterFunc(handshakeTime, func() { _ = k.conn.Close() })
	defer watchdog.Stop()
	hello, err := k.read()
	if err != nil {
		return err
	}
	var interval struct {
		Millis int64 `json:"heartbeat_interval"`
	}
	every := time.Duration(0)
	if *hello.Op == opHello && json.Unmarshal(hello.Data, &interval) == nil && interval.Millis < int64(longestBeat/time.Millisecond) {
		every = time.Duration(interval.Millis) * time.Millisecond
	}
	if every < shortestBeat {
		return fmt.Errorf("read hello: %w", errNoFrame)
	}
	if err := k.introduce(); err != nil {
		return err
	}
	watchdog.Reset(handshakeTime) // Until the platform says that the session stands.
	k.heard.Store(true)
	beating, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.keepAlive(beating, every)
	}()
	defer func() {
		stop()
		<-done
	}()
	for {
		f, err := k.read()
		if err == nil {
			err = k.take(s, f, watchdog)
		}
		if err != nil {
			if k.dead.Load() {
				return errNoBeat
			}
			return err
		}
	}
}

// introduce begins a session, or continues one.
func (k *connection) introduce() error {
	token := k.c.cfg.Token
	if k.session.id != "" {
		k.replaying = true
		return k.write(opResume, map[string]any{"token": token, "session_id": k.session.id, "seq": k.seq.Load()})
	}
	k.seq.Store(0)
	return k.write(opIdentify, map[string]any{
		"token":   token,
		"intents": discordgo.IntentDirectMessages, // Interactions need none.
		"properties": map[string]string{
			"os": "linux", "browser": "sayso", "device": "sayso",
		},
	})
}

// read waits for a frame. Errors: errBroken, errNoFrame, and *channels.Error where the
// gateway closed because of what we are.
func (k *connection) read() (frame, error) {
	kind, data, err := k.conn.ReadMessage()
	if err != nil {
		return frame{}, closed(err)
	}
	f, err := readFrame(kind, data)
	if err != nil {
		return f, err
	}
	if f.Seq != nil {
		k.seq.Store(*f.Seq)
	}
	return f, nil
}

func readFrame(kind int, data []byte) (frame, error) {
	var f frame
	if kind != websocket.TextMessage || json.Unmarshal(data, &f) != nil || f.Op == nil {
		return f, fmt.Errorf("read frame: %w", errNoFrame)
	}
	return f, nil
}

// closed reads why the gateway closed. Some codes mean that no new connection can
// help, some that the session is over.
func closed(err error) error {
	var e *websocket.CloseError
	if !errors.As(err, &e) {
		return fmt.Errorf("read: %w", errBroken)
	}
	switch e.Code {
	case 4004:
		return &channels.Error{Class: core.FailureAuth, Op: opReceive, Whole: true, Detail: "the token is refused"}
	case 4010, 4011, 4012, 4013, 4014:
		return &channels.Error{
			Class: core.FailureAuth, Op: opReceive, Whole: true,
			Detail: fmt.Sprintf("the gateway does not let this application in (code %d)", e.Code),
		}
	case 4003, 4007, 4009:
		return fmt.Errorf("closed with %d: %w", e.Code, errInvalid)
	}
	return fmt.Errorf("closed with %d: %w", e.Code, errBroken)
}

func (k *connection) write(op int, data any) error {
	stuck := time.AfterFunc(handshakeTime, func() { _ = k.conn.Close() })
	defer stuck.Stop()
	if err := k.conn.WriteJSON(outFrame{Op: op, Data: data}); err != nil {
		return fmt.Errorf("write: %w", errBroken) // Its own text may repeat the token.
	}
	return nil
}

// keepAlive sends heartbeats; after the handshake nobody else writes. One that is not
// answered before the next is due ends the connection.
func (k *connection) keepAlive(ctx context.Context, every time.Duration) {
	next := time.NewTimer(time.Duration(rand.Int64N(int64(every)) + 1)) //nolint:gosec // Jitter, no secret.
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.beat:
		case <-next.C:
			if !k.heard.Swap(false) {
				k.dead.Store(true)
				_ = k.conn.Close()
				return
			}
			next.Reset(every)
		}
		var last any
		if n := k.seq.Load(); n > 0 {
			last = n
		}
		if k.write(opHeartbeat, last) != nil {
			_ = k.conn.Close() // The reader says so.
			return
		}
	}
}

// take acts on a frame.
func (k *connection) take(s *session, f frame, watchdog *time.Timer) error {
	switch *f.Op {
	case opDispatch:
		return k.event(s, f, watchdog)
	case opHeartbeat:
		select {
		case k.beat <- struct{}{}:
		default:
		}
	case opBeatHeard:
		k.heard.Store(true)
		k.steady = true
	case opReconnect:
		return errReconnect
	case opInvalid:
		if string(f.Data) == "true" {
			return errReconnect
		}
		return errInvalid
	}
	return nil
}

// event starts the work on what people do.
func (k *connection) event(s *session, f frame, watchdog *time.Timer) error {
	switch f.Type {
	case "READY":
		watchdog.Stop()
		return k.ready(f.Data)
	case "RESUMED":
		watchdog.Stop()
		k.replaying = false
	case "INTERACTION_CREATE":
		i, err := readInteraction(f.Data)
		if err != nil {
			k.c.log.LogAttrs(s.ctx, slog.LevelError, "interaction cannot be read")
			return nil
		}
		k.c.take(s, i, k.replaying)
	case "MESSAGE_CREATE":
		m, ok, err := k.c.readMessage(f.Data)
		if err != nil {
			k.c.log.LogAttrs(s.ctx, slog.LevelError, "message cannot be read")
			return nil
		}
		if ok && !s.queue.Start(m.Author.ID, func() { k.c.handleMessage(s, &m) }) {
			k.c.log.LogAttrs(s.ctx, slog.LevelError, "too many messages wait, one is dropped")
		}
	}
	return nil
}

// ready notes the session that was begun.
func (k *connection) ready(raw json.RawMessage) error {
	var r struct {
		Session     string `json:"session_id"`
		Resume      string `json:"resume_gateway_url"`
		Application struct {
			ID string `json:"id"`
		} `json:"application"`
	}
	if json.Unmarshal(raw, &r) != nil || r.Session == "" {
		return fmt.Errorf("read ready: %w", errNoFrame)
	}
	if r.Application.ID != "" && r.Application.ID != k.c.appID {
		return &channels.Error{Class: core.FailureAuth, Op: opReceive, Whole: true, Detail: "the token belongs to another application"}
	}
	k.session.id, k.session.resume = r.Session, r.Resume
	return nil
}
