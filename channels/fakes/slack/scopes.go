package slack

// allScopes are what the app's manifest asks for.
const allScopes = "chat:write,commands,im:history,im:write,users:read"

// GrantScopes replaces the scopes that the platform says the bot token has; "" makes
// it say nothing. No method is refused for the lack of one.
func (s *Server) GrantScopes(list string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scopes = &list
}

// grantedScopes is the header that comes with every answer.
func (s *Server) grantedScopes(m method) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.app:
		return "connections:write"
	case s.scopes != nil:
		return *s.scopes
	}
	return allScopes
}
