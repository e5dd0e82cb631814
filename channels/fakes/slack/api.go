package slack

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// maxBody bounds a request of the app in bytes.
const maxBody = 1 << 20

// request is one call of the Web API.
type request struct {
	method string
	token  string
	args   map[string]string // Structures as JSON.
}

// method is one entry of the Web API.
type method struct {
	op   fakes.Op
	app  bool // Wants the token of the app instead of the bot's.
	call func(*Server, *request) (answer, string)
}

// answer is the body of a success; the second result of a method is the name of an
// error otherwise.
type answer map[string]any

func methods() map[string]method {
	return map[string]method{
		"auth.test":             {op: fakes.OpCheck, call: (*Server).authTest},
		"bots.info":             {op: fakes.OpCheck, call: (*Server).botsInfo},
		"users.info":            {op: fakes.OpLookup, call: (*Server).usersInfo},
		"chat.postMessage":      {op: fakes.OpSend, call: (*Server).postMessage},
		"chat.update":           {op: fakes.OpEdit, call: (*Server).update},
		"views.open":            {op: fakes.OpAnswer, call: (*Server).viewsOpen},
		"views.update":          {op: fakes.OpAnswer, call: (*Server).viewsUpdate},
		"apps.connections.open": {op: fakes.OpReceive, app: true, call: (*Server).connectionsOpen},
	}
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("method")
	m, known := methods()[name]
	if !known {
		s.Violations.Add("%s: no such method", name)
		write(w, http.StatusOK, answer{"ok": false, "error": "unknown_method"})
		return
	}
	q, err := parse(r, name)
	if err != nil {
		s.Violations.Add("%s: %v", name, err)
		s.reply(w, name, nil, "invalid_arguments")
		return
	}
	defer s.signal.Notify()
	w.Header().Set("X-OAuth-Scopes", s.grantedScopes(m))
	if refused := s.refuses(m, q.token); refused != "" {
		s.reply(w, name, nil, refused)
		return
	}
	s.record(name, q.args)
	if wrong := s.specs.arguments(q); len(wrong) > 0 {
		s.Violations.Add("%s: specification: %s", name, strings.Join(wrong, "; "))
		s.reply(w, name, nil, "invalid_arguments")
		return
	}
	fault := s.Script.Take(m.op, s.addressOf(q))
	if s.limited(w, m.op, q, fault) || fault != nil && s.misbehave(w, r, m.op, fault) {
		return
	}
	s.mu.Lock()
	a, refused := m.call(s, q)
	s.mu.Unlock()
	if fault != nil && fault.Kind == fakes.FaultResetAfter {
		reset(w)
		return
	}
	s.reply(w, name, a, refused)
}

// parse reads a call, a form with the token among its fields or JSON with the token
// in the header.
func parse(r *http.Request, name string) (*request, error) {
	if r.URL.RawQuery != "" {
		return nil, errors.New("nothing belongs into the query")
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	q := &request{method: name, args: map[string]string{}}
	q.token, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" {
		if len(raw) == 0 {
			return q, nil
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, errors.New("the body is not JSON")
		}
		for k, v := range fields {
			var text string
			if json.Unmarshal(v, &text) != nil {
				text = string(v)
			}
			q.args[k] = text
		}
		return q, nil
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, errors.New("the body is not a form")
	}
	for k, v := range form {
		if len(v) != 1 {
			return nil, errors.New(k + " is given more than once")
		}
		if k == "token" {
			q.token = v[0]
			continue
		}
		q.args[k] = v[0]
	}
	return q, nil
}

// refuses names the error that a token meets, "" for the right one.
func (s *Server) refuses(m method, token string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := BotToken
	if m.app {
		want = AppToken
	}
	switch {
	case token == "":
		return "not_authed"
	case token != want:
		return "invalid_auth"
	case s.revoked:
		return "token_revoked"
	}
	return ""
}

func (s *Server) record(name string, args map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{Method: name, Args: args, At: time.Now()})
	s.signal.Notify()
}

// addressOf is the place that a call is about, as the channel under test spells it.
func (s *Server) addressOf(q *request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address(q.args["channel"], q.args["thread_ts"])
}

// rejection is the error by which a kind of call is refused for good.
func rejection(op fakes.Op) string {
	switch op {
	case fakes.OpSend, fakes.OpEdit:
		return "invalid_blocks"
	case fakes.OpAnswer:
		return "view_too_large"
	case fakes.OpLookup:
		return "user_not_visible"
	default:
		return "access_denied"
	}
}

// misbehave plays a fault. It returns true when that was the answer.
func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, op fakes.Op, f *fakes.Fault) bool {
	switch f.Kind {
	case fakes.FaultRateLimit:
		tooMany(w, f.Delay)
	case fakes.FaultServerError:
		write(w, http.StatusServiceUnavailable, answer{"ok": false, "error": "service_unavailable"})
	case fakes.FaultUndecodable:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html><body><h1>502 Bad Gateway</h1></body></html>"))
	case fakes.FaultHollow:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	case fakes.FaultReject:
		write(w, http.StatusOK, answer{"ok": false, "error": rejection(op)})
	case fakes.FaultResetBefore:
		reset(w)
	case fakes.FaultHold:
		return !f.Hold(r.Context())
	case fakes.FaultResetAfter:
		return false
	}
	return true
}

func (s *Server) reply(w http.ResponseWriter, name string, a answer, refused string) {
	if refused != "" {
		if !s.specs.documents(name, refused) {
			s.Violations.Add("%s: the fake answers %s, which is not documented", name, refused)
		}
		write(w, http.StatusOK, answer{"ok": false, "error": refused})
		return
	}
	if a == nil {
		a = answer{}
	}
	a["ok"] = true
	write(w, http.StatusOK, a)
}

func write(w http.ResponseWriter, status int, a answer) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a) // The caller may have left.
}

// reset breaks the connection so that the caller sees no orderly end.
func reset(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	conn, _, err := h.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
