package slack

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/saysohq/sayso/channels/fakes"
)

// The rules of Socket Mode.
const (
	maxConnections = 10
	maxAck         = 20 << 10 // Bytes of a frame; a longer one is dropped without a word.
	pingEvery      = 5 * time.Second
	maxFrame       = 1 << 20
)

// sockets are the app's connections. Its fields are guarded by the server's lock.
type sockets struct {
	list    []*socket
	tickets map[string]bool
	open    map[string]*envelope // Handed out and not acknowledged.
	waiting []*envelope          // Events for which there is no connection.
}

// socket is one connection.
type socket struct {
	ws      *websocket.Conn
	sending sync.Mutex
	told    bool // It was told to go away, so it is handed nothing more.
}

// envelope is one payload on its way.
type envelope struct {
	id          string
	kind        string
	person      string
	payload     any
	socket      *socket
	interaction *interaction // nil for events.
	sent        time.Time
	attempt     int
}

// ready lists the connections that are handed payloads. It runs under the lock.
func (k *sockets) ready() []*socket {
	return slices.DeleteFunc(slices.Clone(k.list), func(c *socket) bool { return c.told })
}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	good := s.sockets.tickets[ticket]
	delete(s.sockets.tickets, ticket)
	s.mu.Unlock()
	if !good {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	ws, err := (&websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}).Upgrade(w, r, nil)
	if err != nil {
		return // The library has answered.
	}
	defer func() { _ = ws.Close() }()
	ws.SetReadLimit(maxFrame)
	c := &socket{ws: ws}
	s.mu.Lock()
	if len(s.sockets.list) >= maxConnections {
		s.mu.Unlock()
		s.disconnect(c, "too_many_websockets")
		return
	}
	c.told = true // Until it was greeted.
	s.sockets.list = append(s.sockets.list, c)
	n := len(s.sockets.list)
	s.mu.Unlock()
	s.send(c, map[string]any{
		"type": "hello", "num_connections": n, "connection_info": map[string]any{"app_id": App},
		"debug_info": map[string]any{"host": "fake", "approximate_connection_time": 18_060},
	})
	s.mu.Lock()
	c.told = false
	waiting := s.sockets.waiting
	s.sockets.waiting = nil
	s.mu.Unlock()
	for _, e := range waiting {
		s.deliver(e)
	}
	s.signal.Notify()
	done := make(chan struct{})
	s.tasks.Go(func() { s.keepAlive(c, done) })
	s.listen(c)
	close(done)
	s.drop(c)
}

func (s *Server) keepAlive(c *socket, done <-chan struct{}) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		_ = c.ws.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(time.Second)) // It may be gone.
		select {
		case <-tick.C:
		case <-done:
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// listen reads acknowledgements until the connection ends.
func (s *Server) listen(c *socket) {
	for {
		_, raw, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		s.acknowledge(c, raw)
		s.signal.Notify()
	}
}

func (s *Server) acknowledge(c *socket, raw []byte) {
	var ack struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	if len(raw) > maxAck {
		s.Violations.Add("an acknowledgement of %d bytes is dropped", len(raw))
		return
	}
	if err := json.Unmarshal(raw, &ack); err != nil {
		s.Violations.Add("a frame that is no acknowledgement")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.sockets.open[ack.EnvelopeID]
	switch {
	case e == nil:
		s.Violations.Add("an envelope that is unknown or was acknowledged before")
		return
	case e.socket != c:
		s.Violations.Add("an acknowledgement on another connection")
		return
	}
	delete(s.sockets.open, e.id)
	if e.interaction != nil {
		s.acked(e.interaction, e.sent, ack.Payload)
	}
}

// drop forgets a connection: interactions that it had are lost, events are handed
// out again.
func (s *Server) drop(c *socket) {
	s.mu.Lock()
	s.sockets.list = slices.DeleteFunc(s.sockets.list, func(o *socket) bool { return o == c })
	var again []*envelope
	for id, e := range s.sockets.open {
		if e.socket != c {
			continue
		}
		delete(s.sockets.open, id)
		if e.interaction != nil {
			e.interaction.failed = true
			continue
		}
		e.attempt++
		again = append(again, e)
	}
	s.mu.Unlock()
	for _, e := range again {
		s.deliver(e)
	}
	s.signal.Notify()
}

// disconnect tells a connection to go away.
func (s *Server) disconnect(c *socket, reason string) {
	s.mu.Lock()
	c.told = true
	s.mu.Unlock()
	s.send(c, map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "fake"}})
	s.signal.Notify()
}

// Refresh tells every connection to be replaced, as happens every few hours.
func (s *Server) Refresh() {
	s.mu.Lock()
	list := s.sockets.ready()
	s.mu.Unlock()
	for _, c := range list {
		s.disconnect(c, "refresh_requested")
	}
}

// Cut breaks every connection without a word.
func (s *Server) Cut() {
	s.mu.Lock()
	list := slices.Clone(s.sockets.list)
	s.mu.Unlock()
	for _, c := range list {
		_ = c.ws.Close()
	}
}

// Raw sends a frame as it is to every connection, for what no real one would send.
func (s *Server) Raw(frame string) {
	s.mu.Lock()
	list := s.sockets.ready()
	s.mu.Unlock()
	for _, c := range list {
		c.sending.Lock()
		_ = c.ws.WriteMessage(websocket.TextMessage, []byte(frame)) // It may be gone.
		c.sending.Unlock()
	}
}

func (s *Server) send(c *socket, frame any) {
	c.sending.Lock()
	defer c.sending.Unlock()
	_ = c.ws.WriteJSON(frame) // It may be gone; drop notices.
}

// deliver hands a payload to one connection. An interaction without one is lost.
func (s *Server) deliver(e *envelope) {
	s.mu.Lock()
	ready := s.sockets.ready()
	if len(ready) == 0 {
		if e.interaction != nil {
			e.interaction.failed = true
		} else {
			s.sockets.waiting = append(s.sockets.waiting, e)
		}
		s.mu.Unlock()
		s.signal.Notify()
		return
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(e.person)) // Never fails.
	c := ready[int(h.Sum32()%uint32(len(ready)))]
	e.id, e.socket, e.sent = s.id("envelope-"), c, s.Clock.Now()
	s.sockets.open[e.id] = e
	frame := map[string]any{"type": e.kind, "envelope_id": e.id, "payload": e.payload, "accepts_response_payload": e.kind != "events_api"}
	if e.kind == "events_api" {
		frame["retry_attempt"], frame["retry_reason"] = e.attempt, ""
		if e.attempt > 0 {
			frame["retry_reason"] = "timeout"
		}
	}
	c.sending.Lock() // Taken under the lock, so that frames keep their order.
	s.mu.Unlock()
	_ = c.ws.WriteJSON(frame) // It may be gone; drop notices.
	c.sending.Unlock()
}

// Connections is the number of connections that are handed payloads.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets.ready())
}

// AwaitConnections waits until exactly n connections are handed payloads.
func (s *Server) AwaitConnections(ctx context.Context, n int) error {
	_, err := fakes.Await(ctx, &s.signal, func() (bool, bool) { return true, s.Connections() == n })
	return err
}

// AwaitConfirmed waits until every payload was acknowledged or lost.
func (s *Server) AwaitConfirmed(ctx context.Context) error {
	_, err := fakes.Await(ctx, &s.signal, func() (bool, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return true, len(s.sockets.open)+len(s.sockets.waiting) == 0
	})
	return err
}
