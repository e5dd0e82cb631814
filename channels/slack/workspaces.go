package slack

import "sync"

// Workspaces ties the channels of one app in several workspaces together: the
// platform hands a payload to any connection or URL of the app, whichever workspace it
// is from, and this finds the channel that it belongs to. Its zero value is ready.
type Workspaces struct {
	mu     sync.Mutex
	byTeam map[string]*session
}

func (w *Workspaces) enter(team string, s *session) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byTeam == nil {
		w.byTeam = map[string]*session{}
	}
	w.byTeam[team] = s
}

func (w *Workspaces) leave(team string, s *session) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byTeam[team] == s {
		delete(w.byTeam, team)
	}
}

// any is a session of whichever workspace; nil where none is served.
func (w *Workspaces) any() *session {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.byTeam {
		return s
	}
	return nil
}

// of is the session of a workspace; otherwise where nobody serves it.
func (w *Workspaces) of(team string, otherwise *session) *session {
	if w == nil {
		return otherwise
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.byTeam[team]; s != nil {
		return s
	}
	return otherwise
}
