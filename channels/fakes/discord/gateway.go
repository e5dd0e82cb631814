package discord

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/saysohq/sayso/channels/fakes"
)

const gatewayPath = "/gateway/"

// gatewaySession is a session, with what it was sent so that it can be continued.
type gatewaySession struct {
	id      string
	intents int
	sent    []event
	conn    *gatewayConn // nil while nobody is connected.
}

type event struct {
	kind string
	data json.RawMessage
}

// gatewayConn serialises what is written to one connection.
type gatewayConn struct {
	mu   sync.Mutex
	conn *websocket.Conn
}

func (g *gatewayConn) write(op int, data any, seq int64, kind string) {
	raw, _ := json.Marshal(data) // Its own structs.
	f := wireFrame{Op: op, Data: raw}
	if kind != "" {
		f.Seq, f.Type = &seq, &kind
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.conn.WriteJSON(f) // Whoever left finds out when reading.
}

func (g *gatewayConn) raw(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.conn.WriteMessage(websocket.TextMessage, []byte(text))
}

func (g *gatewayConn) close(code int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if code != 0 {
		_ = g.conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""))
	}
	_ = g.conn.Close()
}

func (s *Server) getGateway(*request) (any, *apiError) {
	return map[string]string{"url": s.gatewayURL()}, nil
}

func (s *Server) gatewayURL() string {
	return strings.Replace(s.base, "http://", "ws://", 1) + strings.TrimRight(gatewayPath, "/")
}

// live lists the sessions that are connected.
func (s *Server) live() []*gatewaySession {
	var list []*gatewaySession
	for _, g := range s.sessions {
		if g.conn != nil {
			list = append(list, g)
		}
	}
	return list
}

// dispatch sends an event to every session that wants it; one that is not connected
// may ask for it later.
func (s *Server) dispatch(kind string, data any, wants func(*gatewaySession) bool) {
	raw, _ := json.Marshal(data) // Its own structs.
	for _, g := range s.sessions {
		if wants != nil && !wants(g) {
			continue
		}
		g.sent = append(g.sent, event{kind, raw})
		if g.conn != nil {
			g.conn.write(0, json.RawMessage(raw), int64(len(g.sent)), kind)
		}
	}
}

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	if f := s.Script.Take(fakes.OpReceive, ""); f != nil && s.misbehave(w, r, f) {
		return
	}
	var up websocket.Upgrader
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	g := &gatewayConn{conn: conn}
	s.mu.Lock()
	greetings := s.greetings
	s.greetings = nil
	s.mu.Unlock()
	if greetings != nil {
		for _, text := range greetings {
			g.raw(text)
		}
	} else {
		g.write(10, map[string]any{"heartbeat_interval": s.beat.Milliseconds()}, 0, "")
	}
	var session *gatewaySession
	defer func() {
		s.mu.Lock()
		if session != nil && session.conn == g {
			session.conn = nil
		}
		s.mu.Unlock()
		s.signal.Notify()
	}()
	for {
		var f wireFrame
		if conn.ReadJSON(&f) != nil {
			return
		}
		switch f.Op {
		case 1:
			s.mu.Lock()
			mute := s.mute
			s.mu.Unlock()
			if !mute {
				g.write(11, nil, 0, "")
			}
		case 2, 6:
			if session = s.introduced(g, f); session == nil && f.Op == 2 {
				return
			}
			s.signal.Notify()
		}
	}
}

// introduced begins or continues a session; nil when it may not.
func (s *Server) introduced(g *gatewayConn, f wireFrame) *gatewaySession {
	var in struct {
		Token      string            `json:"token"`
		Intents    int               `json:"intents"`
		Properties map[string]string `json:"properties"`
		Session    string            `json:"session_id"`
		Seq        int               `json:"seq"`
	}
	_ = json.Unmarshal(f.Data, &in) // What is missing is refused below.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revoked || in.Token != s.token {
		g.close(4004)
		return nil
	}
	if f.Op == 6 {
		old := s.sessions[in.Session]
		if old == nil || in.Seq > len(old.sent) {
			g.write(9, false, 0, "")
			return nil
		}
		old.conn = g
		s.resumed++
		for n, e := range old.sent[in.Seq:] {
			g.write(0, e.data, int64(in.Seq+n+1), e.kind)
		}
		g.write(0, map[string]any{}, int64(len(old.sent)), "RESUMED")
		return old
	}
	if in.Intents&^intentDirectMessages != 0 {
		s.Violations.Add("gateway: intents %d are more than direct messages", in.Intents)
	}
	s.identified++
	session := &gatewaySession{id: "session-" + strconv.Itoa(s.identified), intents: in.Intents, conn: g}
	s.sessions[session.id] = session
	ready := map[string]any{
		"v": 10, "user": s.bot, "session_id": session.id, "resume_gateway_url": s.gatewayURL(), "guilds": []any{},
		"application": map[string]any{"id": s.bot.ID, "flags": 0},
	}
	raw, _ := json.Marshal(ready) // Its own structs.
	session.sent = append(session.sent, event{"READY", raw})
	g.write(0, json.RawMessage(raw), 1, "READY")
	return session
}

// closeAll closes every connection; 0 breaks them off without a word.
func (s *Server) closeAll(code int) {
	s.mu.Lock()
	conns := s.live()
	for _, g := range conns {
		c := g.conn
		g.conn = nil
		c.close(code)
	}
	s.mu.Unlock()
	s.signal.Notify()
}

// Disconnect closes the gateway's connections with a code; 0 breaks them off.
func (s *Server) Disconnect(code int) { s.closeAll(code) }

// Forget makes all sessions unknown, so that none can be continued.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, g := range s.sessions {
		if g.conn == nil {
			delete(s.sessions, id)
		}
	}
}

// Say sends a frame as it is to everybody who is connected.
func (s *Server) Say(frame string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.live() {
		g.conn.raw(frame)
	}
}

// Greet makes the next connection begin with these frames instead of a hello.
func (s *Server) Greet(frames ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greetings = frames
}

// MuteHeartbeats leaves heartbeats unanswered, or answers them again.
func (s *Server) MuteHeartbeats(mute bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = mute
}

// Event sends an event with this content to every session.
func (s *Server) Event(kind string, data json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(kind, data, nil)
}
